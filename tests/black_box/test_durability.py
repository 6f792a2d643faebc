"""What `pando serve --data` promises: what was answered is there after the next start, whatever ended the last one."""

import os
import random
import re
import select
import shutil
import subprocess
import threading
import time

import ldap
import pytest

from conftest import (
    ADMIN,
    FOLLOWER,
    KILLS,
    PANDO,
    PATIENCE,
    PEOPLE,
    SUFFIX,
    chances,
    connect,
    damage,
    preloaded,
    run,
    snapshot_folder,
    start,
    wait_until,
)

EVERYTHING = ["-b", SUFFIX, "(objectClass=*)", "*", "+"]


def refused(tmp_path, *arguments, code):
    """Tries to serve the data directory; returns what it says while it refuses."""
    command = [PANDO, "serve", "--data", tmp_path / "data", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"]
    return run(*command, *arguments, code=code).err


def everything(server):
    """All entries with all their attributes, in no order."""
    entries = server.search(*EVERYTHING).out.split("\n\n")
    return sorted("\n".join(sorted(entry.splitlines())) for entry in entries if entry.strip())


def person(number):
    attributes = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"x"]), ("sn", [b"y"]), ("description", [b"0"])]
    return f"uid=n{number},{PEOPLE}", attributes


CHANGES = f"""
dn: uid=new,{PEOPLE}
changetype: add
objectClass: inetOrgPerson
cn: New
sn: One

dn: uid=new,{PEOPLE}
changetype: modify
replace: sn
sn: Two
-
add: mail
mail: a@b

dn: uid=new,{PEOPLE}
changetype: modrdn
newrdn: uid=newer
deleteoldrdn: 1

dn: uid=gone,{PEOPLE}
changetype: add
objectClass: inetOrgPerson
cn: Gone
sn: One

dn: uid=gone,{PEOPLE}
changetype: delete
"""


@pytest.mark.parametrize("end", ["clean", "kill"])
def test_a_restart_keeps_everything(keep, end):
    server = keep(ldif="people.ldif")
    server.modify(CHANGES)
    before = everything(server)
    assert any("uid=newer" in entry and "mail: a@b" in entry for entry in before)
    for _ in range(2):
        server.kill() if end == "kill" else server.end()
        server = keep()
        assert everything(server) == before
    # And goes on: names that are free can be used, those that are not cannot.
    server.modify(CHANGES.replace("uid=newer", "uid=newest"))
    assert len(everything(server)) == len(before) + 1


def test_the_data_directory_that_is_not_named(tmp_path):
    """It is in the working folder, and said so. Only --memory does without."""
    command = [PANDO, "serve", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"]
    for more, names in (["--memory"], ["log"]), ([], ["log", "pando-data"]), (["--memory"], ["log", "pando-data"]):
        with open(tmp_path / "log", "w") as log:
            process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=log, cwd=tmp_path)
        assert process.stdout.readline().startswith(b"ready ")
        assert sorted(os.listdir(tmp_path)) == names
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()
        said = f"the directory is kept in {tmp_path / 'pando-data'};" in (tmp_path / "log").read_text()
        assert said == (not more)
    assert "all as it should be" in run(PANDO, "check", "--data", tmp_path / "pando-data").out


def test_an_import_fills_only_an_empty_directory(keep, tmp_path):
    server = keep(ldif="people.ldif")
    before = everything(server)
    # No write went through the log yet.
    server.kill()
    server = keep()
    assert everything(server) == before
    server.end()
    ldif = tmp_path / "more.ldif"
    ldif.write_text("dn: dc=example,dc=com\nobjectClass: domain\n")
    # A node refuses any import.
    assert ("fill the directory first" if FOLLOWER else "not empty") in refused(tmp_path, "--import", ldif, code=1)


@pytest.mark.kills
def test_an_import_is_there_whole_or_not_at_all(keep, tmp_path):
    ldif, chance = tmp_path / "many.ldif", chances("an import at a start")
    run(PANDO, "gen", "--template", "slamd", "--count", 3000, "--suffix", SUFFIX, "--format", "ldif", "-o", ldif)
    command = [PANDO, "serve", "--data", keep.data, "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"]
    for moment in [chance.uniform(0, 0.6) for _ in range(KILLS)] + [PATIENCE]:
        process = subprocess.Popen(
            [*map(str, command), "--import", ldif], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        # Killed when it is ready at the latest.
        ready, _, _ = select.select([process.stdout], [], [], moment)
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
        if (keep.data / "founding").exists():
            assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out, moment
        server = keep()
        entries = len(server.search("-b", SUFFIX, "1.1", code=None).dns)
        server.end()
        assert entries == 0 or entries > 3000, f"{entries} entries"
        assert entries or not ready, "it was ready"
        shutil.rmtree(keep.data)


class Load(threading.Thread):
    """One client that adds entries, counts up in them and deletes some, as fast as it is answered, until the server is gone.

    What it sent and what it was told make for each entry the values that it may have: `None` is no entry.
    """

    def __init__(self, server, chance, numbers):
        super().__init__()
        self.connection, self.chance, self.numbers = connect(server), chance, numbers
        self.told, self.open, self.answers, self.failure = {}, {}, 0, None

    def run(self):
        try:
            while True:
                self.update()
                self.answers += 1
        except (ldap.SERVER_DOWN, ldap.UNAVAILABLE, ldap.CONNECT_ERROR):
            pass
        except Exception as failure:
            self.failure = failure

    def update(self):
        mine = [dn for dn, value in self.told.items() if value is not None]
        what = self.chance.random()
        if what < 0.1 or not mine:
            dn, attributes = person(next(self.numbers))
            self.told[dn], self.open[dn] = None, 0
            self.connection.add_s(dn, attributes)
        elif what < 0.13:
            dn = self.chance.choice(mine)
            self.open[dn] = None
            self.connection.delete_s(dn)
        else:
            dn = self.chance.choice(mine)
            self.open[dn] = self.told[dn] + 1
            value = b"%d " % self.open[dn] + b"x" * self.chance.randrange(300)
            self.connection.modify_s(dn, [(ldap.MOD_REPLACE, "description", [value])])
        self.told[dn] = self.open.pop(dn)

    def may_have(self, dn):
        """The values that an entry may have."""
        return {self.told[dn], self.open.get(dn, self.told[dn])}


class Numbers:
    """Numbers for several threads, each given once."""

    def __init__(self):
        self.lock, self.last = threading.Lock(), 0

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            self.last += 1
            return self.last


def counts(server):
    """The entries that loads have made, and what stands in each."""
    found = connect(server).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(cn=x)", ["description"])
    return {dn: int(entry["description"][0].split()[0]) for dn, entry in found}


def was_writing_a_snapshot(data):
    """Are there files that no snapshot has? So it is when one was being written, and nobody has started since."""
    told = run(PANDO, "dump", "--data", data, "--from", "99999999999").out
    there = {path.name for path in snapshot_folder(data).iterdir()} - {"manifest"}
    return not there <= {line.split()[1] for line in told.splitlines() if line.startswith("#   ")}


@pytest.mark.kills
@pytest.mark.parametrize("sync", ["always", "interval=50", "none"])
def test_what_was_answered_outlives_kill(keep, sync):
    """A kill leaves what the system has, so every mode must keep every answer; of all rounds, not of the last alone."""
    chance, given = chances(f"answers {sync}"), Numbers()
    # So small that snapshots are written all the time.
    arguments = ["--sync", sync, "--snapshot-after", "16KiB"]
    server = keep(*arguments, ldif="people.ldif")
    known, answers, in_snapshots = {}, 0, 0
    for round_number in range(KILLS):
        clients = [Load(server, random.Random(chance.random()), given) for _ in range(3)]
        moment = time.monotonic() + chance.uniform(0, 0.6)
        for client in clients:
            client.start()
        wait_until(moment)
        server.kill()
        for client in clients:
            client.join(PATIENCE)
            assert not client.is_alive()
        in_snapshots += was_writing_a_snapshot(keep.data)
        assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out, f"round {round_number}"
        server = keep(*arguments)
        found = counts(server)
        for client in clients:
            assert client.failure is None, client.failure
            answers += client.answers
            for dn in client.told:
                value = found.get(dn)
                assert value in client.may_have(dn), f"round {round_number}, {dn}: {value}, not {client.may_have(dn)}"
                known[dn] = value
        assert found == {dn: value for dn, value in known.items() if value is not None}, f"round {round_number}"
    print(f"{KILLS} kills, {answers} answers, {in_snapshots} kills while a snapshot was written")
    assert answers and (in_snapshots or KILLS < 20)


def test_snapshots_are_made_while_it_serves(keep):
    server = keep("--snapshot-after", "64KiB", ldif="people.ldif")
    connection = connect(server)
    dn, attributes = person(1)
    connection.add_s(dn, attributes)
    manifest = snapshot_folder(keep.data) / "manifest"
    first, count = manifest.read_bytes(), 0
    while manifest.read_bytes() == first:
        count += 1
        connection.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"%d " % count + b"x" * 2000])])
        assert count < 5000, "no snapshot was made"
    server.kill()
    server = keep()
    found = connect(server).search_s(dn, ldap.SCOPE_BASE, attrlist=["description"])
    assert found[0][1]["description"][0].startswith(b"%d " % count)


def test_the_memory_limit_is_kept_before_anything_is_logged(keep):
    arguments = ["--memory-max", "64MiB"]
    server = keep(*arguments, ldif="people.ldif")
    connection = connect(server)

    def fill(begin):
        """Adds until no more is taken; returns how many were."""
        for number in range(begin, begin + 2000):
            dn, attributes = person(number)
            try:
                connection.add_s(dn, [*attributes, ("street", [b"x" * 100_000])])
            except ldap.ADMINLIMIT_EXCEEDED:
                return number - begin
        raise AssertionError("nothing was refused")

    count = fill(0)
    assert count > 100
    # Small changes and deletes still go, and make room for as much again.
    connection.modify_s(person(0)[0], [(ldap.MOD_REPLACE, "description", [b"changed"])])
    for number in range(count):
        connection.delete_s(person(number)[0])
    again = fill(10_000)
    assert again > count / 2
    before = everything(server)
    server.kill()
    assert everything(keep(*arguments)) == before


def test_one_process_at_a_time(keep, tmp_path):
    server = keep(ldif="people.ldif")
    assert "another process uses" in refused(tmp_path, code=1)
    server.search("-b", SUFFIX, "-s", "base")


def test_what_the_directory_is_made_with_stays(keep, tmp_path):
    server = keep(ldif="people.ldif")
    server.modify(CHANGES)
    server.kill()
    assert "operational-attributes" in refused(tmp_path, "--operational-attributes", "off", code=2)
    # What is in the log was decided by the settings as they were, and is again.
    server = keep()
    before = everything(server)
    server.kill()
    for arguments in (["--suffix", "dc=org"], ["--schema-check", "off"], ["--schema", "dvtds"]):
        server = keep(*arguments)
        assert everything(server) == before, arguments
        assert any(word in server.log for word in ("`suffix` of", "`schema-check` of", "the definitions of the schema")), server.log
        server.kill()
    # Other settings decide nothing in a replay, whatever they are.
    server = keep("--write-dn", "cn=a", "--anonymous", "read", "--index", "cn:eq,sub", "--txn-updates-max", 1, "--sync", "none",
                  "--memory-max", "1GiB", "--password-scheme", "clear")
    assert everything(server) == before
    server.kill()
    server = keep()
    assert everything(server) == before
    server.end()
    # After a clean end it is all in the snapshot.
    server = keep("--suffix", "dc=org", "--schema-check", "off")
    assert everything(server) == before


def test_what_was_refused_stays_refused_and_can_be_added_by_a_new_schema(keep, tmp_path):
    schema = tmp_path / "robots.schema"
    schema.write_text("objectclass ( 1.3.6.1.4.1.55555.1 NAME 'robot' SUP top STRUCTURAL MUST cn )\n")
    server = keep(ldif="people.ldif")
    marvin = f"cn=marvin,{SUFFIX}", [("objectClass", [b"robot"]), ("cn", [b"marvin"])]
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
        connect(server).add_s(*marvin)
    server.modify(CHANGES)
    before = everything(server)
    server.kill()
    server = keep("--schema", schema)
    assert everything(server) == before
    connect(server).add_s(*marvin)
    before = everything(server)
    server.kill()
    assert everything(keep()) == before, "its definitions stay with the directory"


def test_damage_in_the_middle_is_refused_with_its_place(keep, tmp_path):
    server = keep(ldif="people.ldif")
    for number in range(5):
        connect(server).add_s(*person(number))
    server.kill()
    log = keep.data / "log" / "00000001.log"
    # Behind the header of the first block.
    damage(log, 4096 + 60)
    text = refused(tmp_path, code=1)
    assert f"{log}: damaged at offset 4096" in text and "restore a backup" in text, text
    damage(log, 4096 + 60)
    assert len(everything(keep())) > 5


def test_damage_of_a_snapshot_is_refused_with_its_place(keep, tmp_path):
    keep(ldif="people.ldif").end()
    segment = next(path for path in snapshot_folder(keep.data).iterdir() if path.name.startswith("01-"))
    damage(segment, 100)
    text = refused(tmp_path, code=1)
    assert f"{segment}: damaged at offset 0" in text and "restore a backup" in text, text


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
/* Syncs fail as long as the file named by FAIL_SYNC is there. */
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (access(getenv("FAIL_SYNC"), F_OK) == 0) { errno = EIO; return -1; }
    return real(fd);
}
"""


@pytest.fixture
def failing_disk(tmp_path):
    """The environment of a server whose syncs fail while a file is there, and that file."""
    switch = tmp_path / "fail"
    return {**preloaded(tmp_path, SHIM), "FAIL_SYNC": str(switch)}, switch


def test_a_failed_sync_ends_the_server(keep, failing_disk):
    env, switch = failing_disk
    server = keep(ldif="people.ldif", env=env)
    connection = connect(server)
    connection.add_s(*person(1))
    switch.touch()
    with pytest.raises(ldap.UNAVAILABLE, match="unknown"):
        connection.add_s(*person(2))
    assert server.process.wait(PATIENCE) == 1
    server.process.stdout.close()
    assert "the log failed" in server.log
    switch.unlink()
    found = keep().search("-b", PEOPLE, "(uid=n1)").dns
    assert len(found) == 1


def test_a_failed_sync_leaves_a_server_that_reads(keep, failing_disk):
    env, switch = failing_disk
    server = keep("--on-log-failure", "read-only", ldif="people.ldif", env=env)
    connection = connect(server)
    connection.add_s(*person(1))
    before, dns = everything(server), server.search("-b", SUFFIX, "1.1").dns
    switch.touch()
    for number in (2, 3):
        with pytest.raises(ldap.UNAVAILABLE):
            connection.add_s(*person(number))
    # The disk is well again, but what it has is not known.
    switch.unlink()
    with pytest.raises(ldap.UNAVAILABLE):
        connection.add_s(*person(4))
    assert everything(server) == before
    server.process.terminate()
    assert server.process.wait(PATIENCE) == 1
    server.process.stdout.close()
    # The one that was under way may be there or not.
    again = keep().search("-b", SUFFIX, "1.1").dns
    assert set(dns) <= set(again) <= {*dns, person(2)[0]}


def test_check_and_dump_look_into_a_directory(keep, tmp_path):
    for tool in ("check", "dump"):
        assert "not a data directory" in run(PANDO, tool, "--data", tmp_path, code=1).err
    server = keep(ldif="people.ldif")
    server.modify(CHANGES)
    assert "another process uses" in run(PANDO, "check", "--data", keep.data, code=1).err
    server.kill()
    out = run(PANDO, "check", "--data", keep.data).out
    assert "log        whole, records 1 to 7" in out and "all as it should be" in out, out
    out = run(PANDO, "dump", "--data", keep.data).out
    assert f'by "{ADMIN}"' in out
    # What it prints is LDIF, and does again what was done.
    again = start_in(tmp_path / "again", ldif="people.ldif")
    again.modify(out)
    fields = ["-b", SUFFIX, "(objectClass=*)", "*"]
    expected = again.search(*fields).out
    again.end()
    server = keep()
    assert sorted(server.search(*fields).out.split("\n\n")) == sorted(expected.split("\n\n"))
    server.end()
    out = run(PANDO, "check", "--data", keep.data).out
    assert "snapshot   whole" in out and "up to record 7" in out, out
    assert "command 0:5." not in run(PANDO, "dump", "--data", keep.data, "--from", "6").out
    segment = next(path for path in snapshot_folder(keep.data).iterdir() if path.name.startswith("01-"))
    damage(segment, 30)
    assert f"{segment}: damaged" in run(PANDO, "check", "--data", keep.data, code=1).err
    damage(segment, 30)


def test_the_schema_keeps_its_time(keep):
    """Clients read the schema anew when the subschema's modifyTimestamp has moved: with the schema, and not with a start."""
    def time_of(server):
        out = server.search("-b", "cn=Subschema", "-s", "base", "modifyTimestamp", "createTimestamp").out
        [modified, created] = sorted(re.findall(r"Timestamp: (\S+)", out))
        assert modified == created
        server.end()
        return modified

    first = time_of(keep(ldif="people.ldif"))
    assert first > "2025"
    # As if it had been long ago.
    file = keep.data / "schema-since"
    facts = [line for line in file.read_text().splitlines() if not line.startswith("checksum")]
    file.write_text("\n".join("since-ms = 1600000000000" if line.startswith("since-ms") else line for line in facts) + "\n")
    assert time_of(keep()) == "20200913122640Z" == time_of(keep())
    changed = time_of(keep("--schema", "dvtds"))
    assert changed >= first and time_of(keep("--schema", "dvtds")) == changed


def test_a_dump_has_the_controls(keep, tmp_path):
    """Those of single updates and of a transaction's; ldapmodify sends them along, so that what they ask for is asked for again."""
    ada = f"uid=ada,{PEOPLE}"
    change = f"dn: {ada}\nchangetype: modify\nreplace: title\ntitle: %s\n"
    server = keep(ldif="people.ldif")
    server.modify(change % "Pilot", "-e", "!assert=(title=Chair)")
    server.modify(change % "Captain", "-MM")
    server.modify(change % "Major", "-E", "txn=commit", "-e", "!assert=(title=Captain)")
    server.modify(change % "General")
    server.kill()
    records = run(PANDO, "dump", "--data", keep.data).out.split("\n\n")
    [pilot, captain, major, general] = [record for record in records if "title: " in record]
    for record in (pilot, major):
        assert re.search(r"\ncontrol: 1\.3\.6\.1\.1\.12 true:: \S+\nchangetype: modify\n", record), record
    assert "\ncontrol: 2.16.840.1.113730.3.4.2 true\nchangetype: modify\n" in captain, captain
    assert ", a transaction\n" in major and "1.3.6.1.1.21.2" not in major, major
    assert "control:" not in general
    again = start_in(tmp_path / "again", ldif="people.ldif")
    again.modify("\n\n".join(records))
    assert "title: General" in again.search("-b", ada, "-s", "base", "title").out
    # What was asserted is not true any more.
    assert "assertion" in again.modify(pilot + "\n", code=122).said.lower()
    again.end()


def start_in(folder, **settings):
    folder.mkdir()
    return start(folder, **settings)


@pytest.fixture
def small_disk(keep):
    """A file system of 300 MB below the data directory."""
    keep.data.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", keep.data], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("it takes root to mount one")
    yield keep.data
    subprocess.run(["umount", "--lazy", keep.data], check=True)


def test_a_full_disk_refuses_changes_until_there_is_room(keep, small_disk):
    server = keep(ldif="people.ldif")
    connection = connect(server)
    dn, attributes = person(1)
    connection.add_s(dn, attributes)
    filler = small_disk / "filler"
    with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * (1 << 20))

    def change(number):
        value = b"%d " % number + b"x" * 1_000_000
        connection.modify_s(dn, [(ldap.MOD_REPLACE, "description", [value])])

    done = 0
    with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="no room for the log"):
        for number in range(1, 1000):
            change(number)
            done = number
    # What was answered is seen, and what was refused is not.
    assert description(connection, dn).startswith(b"%d " % done)
    filler.unlink()
    until = time.monotonic() + PATIENCE
    while True:
        try:
            change(1000)
            break
        except ldap.UNWILLING_TO_PERFORM:
            assert time.monotonic() < until, "there is room, but no change is taken"
    server.kill()
    server = keep()
    assert description(connect(server), dn).startswith(b"1000 ")
    # Before its disk goes.
    server.end()


def description(connection, dn):
    found = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=["description"])
    return found[0][1]["description"][0]


def test_the_monitor_tells_of_the_log(keep):
    server = keep("--sync", "interval=20", ldif="people.ldif")
    server.modify(CHANGES)
    out = server.search("-b", "cn=Log,cn=Monitor", "monitorCounter", "monitoredInfo").out
    assert f"monitoredInfo: {'always' if FOLLOWER else 'interval=20'}" in out
    safe = out.split("dn: cn=Safe,cn=Log,cn=Monitor\n")[1].split("\n")[0]
    assert int(safe.removeprefix("monitorCounter: ")) >= 5, out
