"""`pando backup` and `pando restore`: what was answered before a backup began is in it, and nothing else is touched."""

import re
import shutil
import subprocess
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import ldap
import pytest

from conftest import FOLLOWER, KILLS, PANDO, PATIENCE, PEOPLE, SUFFIX, chances, connect, damage, run, snapshot_folder, start, wait_for, wait_until


class Place:
    """A data directory, a folder of backups, an archive, and the servers on them."""

    def __init__(self, folder):
        self.folder, self.running = folder, []
        self.data, self.backups, self.archive = folder / "data", folder / "backups", folder / "archive"

    def serve(self, *arguments, data=None, **settings):
        folder = self.folder / f"run{len(self.running)}"
        folder.mkdir()
        self.running.append(start(folder, *arguments, data=data or self.data, **settings))
        return self.running[-1]

    def backup(self, *arguments, code=0):
        """Takes one; returns its folder and what was said."""
        done = run(PANDO, "backup", "--data", self.data, "--to", self.backups, *arguments, code=code)
        return Path(done.out.strip()), done.err

    def restore(self, to, *arguments, code=0, schema=()):
        """Restores to a new folder, and looks through what came of it."""
        data = self.folder / to
        done = run(PANDO, "restore", "--from", self.backups, "--data", data, *arguments, code=code)
        if code == 0:
            check(data, *schema)
        else:
            assert not data.exists() or not any(data.iterdir())
        return data, done.err

    def entries(self, data, *arguments):
        """The numbers of the entries of a data directory, and the count in each."""
        server = self.serve(*arguments, data=data)
        found = self.counted(server)
        server.end()
        return found

    def counted(self, server):
        """The same of a server."""
        found = connect(server).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(cn=x)", ["uid", "description"])
        return {int(e["uid"][0][1:]): int(e["description"][0].split()[0]) for _, e in found}

    def end(self):
        for each in self.running:
            if each.process.poll() is None:
                each.end()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.end()


def check(data, *arguments):
    out = run(PANDO, "check", "--data", data, *arguments).out
    assert "all as it should be" in out, out


def add(connection, number, rest=b"", classes=(b"inetOrgPerson",)):
    dn = f"uid=n{number},{PEOPLE}"
    attributes = [("objectClass", list(classes)), ("cn", [b"x"]), ("sn", [b"y"])]
    connection.add_s(dn, [*attributes, ("description", [b"0" + rest])])


def count(connection, number, value, rest=b""):
    dn = f"uid=n{number},{PEOPLE}"
    connection.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"%d" % value + rest])])


def test_a_backup_of_a_served_directory_is_restored(place):
    server = place.serve(ldif="people.ldif")
    connection = connect(server)
    for number in range(5):
        add(connection, number)
    backup, said = place.backup()
    assert ("up to entry" if FOLLOWER else "up to record 7") in said, said
    check(backup)
    add(connection, 5)
    data, _ = place.restore("new")
    assert sorted(place.entries(data)) == [0, 1, 2, 3, 4]
    # And goes on from there, while the one that it was made of does too.
    new = place.serve(data=data)
    add(connect(new), 77)
    new.kill()
    assert sorted(place.entries(data)) == [0, 1, 2, 3, 4, 77]
    add(connection, 6)
    server.end()
    backup, _ = place.backup()
    data, _ = place.restore("newer")
    assert sorted(place.entries(data)) == list(range(7))
    assert len([each for each in place.backups.iterdir() if each.is_dir()]) == 2


def test_a_backup_is_not_served_and_not_written_over(place):
    place.serve(ldif="people.ldif").end()
    backup, _ = place.backup()
    command = [PANDO, "serve", "--data", backup, "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"]
    assert "this is a backup" in run(*command, code=1).err
    assert "this is a data directory" in run(PANDO, "backup", "--data", place.data, "--to", backup, code=1).err
    inside = place.data / "backups"
    assert "cannot lie in" in run(PANDO, "backup", "--data", place.data, "--to", inside, code=1).err
    assert "not a data directory" in run(PANDO, "backup", "--data", place.folder, "--to", place.backups, code=1).err
    before = sorted(place.data.rglob("*"))
    done = run(PANDO, "restore", "--from", place.backups, "--data", place.data, code=1)
    assert "not empty" in done.err
    assert sorted(place.data.rglob("*")) == before
    empty = place.folder / "empty"
    empty.mkdir()
    place.restore("empty")
    missing = run(PANDO, "restore", "--from", place.folder, "--data", place.folder / "x", code=1)
    assert "no whole backup" in missing.err


def written(said):
    """Bytes that a backup wrote."""
    return float(re.split("(?:record|entry) ", said)[1].split(": ")[1].split(" MB written")[0]) * 1e6


def test_the_second_backup_writes_what_is_new(place, tmp_path):
    ldif = tmp_path / "many.ldif"
    run(PANDO, "gen", "--template", "slamd", "--count", 5000, "--suffix", SUFFIX, "--format", "ldif", "-o", ldif)
    server = place.serve(ldif=ldif)
    first, said = place.backup()
    assert written(said) > 5_000_000, said
    dn = f"uid=user.1,{PEOPLE}"
    connect(server).modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"new"])])
    second, said = place.backup()
    assert written(said) < 100_000, said
    # A file that has suffered in the first one is copied anew.
    segment = next(path for path in snapshot_folder(first).iterdir() if path.name.startswith("01-"))
    damage(segment, 1000)
    third, said = place.backup("--keep", 2)
    assert written(said) > 1_000_000, said
    check(third)
    assert "damaged" in run(PANDO, "check", "--data", second, code=1).err
    assert sorted(each for each in place.backups.iterdir() if each.is_dir()) == [second, third]


def test_a_damaged_backup_is_refused_with_file_and_offset(place):
    server = place.serve(ldif="people.ldif")
    server.end()
    server = place.serve()
    connection = connect(server)
    for number in range(5):
        add(connection, number)
    backup, _ = place.backup()
    segment = next(path for path in snapshot_folder(backup).iterdir() if path.name.startswith("01-"))
    log = next((backup / "log").iterdir())
    for path, offset in [(segment, 100), (log, 4096 + 60), (log, 4096 + 4 * 512 + 60), (snapshot_folder(backup) / "manifest", 50)]:
        damage(path, offset)
        _, said = place.restore("new", code=1)
        assert f"{path}: damaged at offset" in said, said
        damage(path, offset)
    damage(backup / "backup", 120)
    assert str(backup / "backup") in place.restore("new", code=1)[1]
    damage(backup / "backup", 120)
    place.restore("new")


class Load:
    """A process's worth of writes in the background: counts up in ten entries, one after the other, until it is told to end or
    the server is gone, and remembers what it was told.
    """

    def __init__(self, server, size, told=None):
        self.connection, self.size = connect(server), size
        self.last, self.over, self.failure = dict(told or {}), threading.Event(), None
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        value, rest = min(self.last.values(), default=-1), b" " + b"x" * self.size
        try:
            while not self.over.is_set():
                value += 1
                for number in range(1000, 1010):
                    if self.last.get(number, -1) >= value:
                        continue
                    if value == 0:
                        add(self.connection, number, rest)
                    else:
                        count(self.connection, number, value, rest)
                    self.last[number] = value
        except (ldap.SERVER_DOWN, ldap.UNAVAILABLE, ldap.CONNECT_ERROR):
            pass
        except Exception as failure:
            self.failure = failure

    def all_are_there(self):
        wait_for(lambda: len(self.last) == 10, "nothing is written")
        return self

    def end(self):
        self.over.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive() and self.failure is None, self.failure


def is_a_prefix(entries):
    """Of counts that were raised in turn none is more than one behind the one before, and none ahead."""
    counts = [entries[number] for number in sorted(entries) if number >= 1000]
    return counts == sorted(counts, reverse=True) and counts[0] - counts[-1] <= 1


def test_backups_under_load_hold_what_was_answered_before(place):
    # So that log files are full, and used again, while they are copied.
    server = place.serve("--snapshot-after", "8MiB", ldif="people.ldif")
    load = Load(server, 50_000)
    try:
        load.all_are_there()
        backups = []
        for _ in range(4):
            before = dict(load.last)
            backup, _ = place.backup()
            backups.append((backup, before))
    finally:
        load.end()
    server.kill()
    for number, (backup, before) in enumerate(backups):
        check(backup)
        data = place.folder / f"new{number}"
        run(PANDO, "restore", "--from", backup, "--data", data)
        entries = place.entries(data)
        assert is_a_prefix(entries), entries
        for each, value in before.items():
            assert entries[each] >= value, f"{each}: {entries[each]} of {value}"


@pytest.mark.kills
def test_kills_at_random_moments_lose_nothing(place):
    """Of the tool, of the server, or of both, while clients write and snapshots are made."""
    chance, arguments = chances("backup and restore"), ["--snapshot-after", "1MiB"]
    server = place.serve(*arguments, ldif="people.ldif")
    load = Load(server, 20_000).all_are_there()
    # What the last backup has at least that was not killed, and how often what was cut off.
    safe, seen = dict(load.last), {"tool": 0, "server": 0}
    place.backup()
    try:
        for number in range(2 * KILLS):
            tool = ("backup", "restore")[number % 2]
            new = place.folder / "killed"
            what = ["--data", place.data, "--to", place.backups, "--keep", 3]
            if tool == "restore":
                what = ["--from", place.backups, "--data", new]
            before = dict(load.last)
            process = subprocess.Popen(
                [PANDO, tool, *map(str, what)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            victim = chance.choice(["tool", "server", "both"])
            wait_until(time.monotonic() + chance.uniform(0, 0.08))
            if victim != "server":
                seen["tool"] += process.poll() is None
                process.kill()
            if victim != "tool":
                seen["server"] += 1
                server.kill()
            code = process.wait(PATIENCE)
            assert victim != "server" or code == 0, f"{tool} without its server: {code}"
            if code == 0 and tool == "backup":
                safe = before
            if victim != "tool":
                load.end()
                check(place.data)
                server = place.serve(*arguments)
                told, found = load.last, place.counted(server)
                assert is_a_prefix(found) and all(found[n] - told[n] in (0, 1) for n in told), (found, told)
                load = Load(server, 20_000, found)
            if tool == "restore" and new.exists():
                check(new)
                shutil.rmtree(new)
            # What was there is there and whole, and the next one succeeds.
            for each in place.backups.glob("*Z"):
                check(each)
            data, _ = place.restore("after")
            entries = place.entries(data)
            assert is_a_prefix(entries) and all(entries[n] >= safe[n] for n in safe), (entries, safe)
            shutil.rmtree(data)
        place.backup("--keep", 3)
        assert not list(place.backups.glob("*.new"))
    finally:
        load.end()
    print(f"{2 * KILLS} kills: {seen['tool']} of a tool at work, {seen['server']} of the server")
    place.restore("killed")
    assert not list(place.folder.glob("*.restoring"))
    server.end()
    assert place.entries(place.data) == load.last


def now():
    """The time; returns when it is later than that to the millisecond."""
    begun = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= begun:
        pass
    return datetime.fromtimestamp(begun / 1000, timezone.utc).isoformat(timespec="milliseconds")


def test_a_point_in_time_is_restored_exactly(place):
    server = place.serve(ldif="people.ldif")
    connection = connect(server)
    for number in range(3):
        add(connection, number)
    place.backup()
    for number in range(3, 6):
        add(connection, number)
    point = now()
    for number in range(6, 9):
        add(connection, number)
    # The first backup does not reach that far by itself; the log of one of now does.
    data, said = place.restore("early", "--to-time", point)
    assert sorted(place.entries(data)) == [0, 1, 2] and "no later change" in said
    place.backup()
    data, said = place.restore("then", "--to-time", point)
    assert sorted(place.entries(data)) == list(range(6)) and "no later change" not in said
    data, _ = place.restore("fourth", "--to-sequence", 6)
    assert sorted(place.entries(data)) == list(range(4))
    _, said = place.restore("tenth", "--to-sequence", 12, code=1)
    assert "record 12 cannot be reached" in said and "is 11" in said, said
    _, said = place.restore("x", "--to-time", "1999-01-01T00:00:00Z", code=1)
    assert "no backup begins early enough" in said, said
    assert "is no time such as" in run(
        PANDO, "restore", "--from", place.backups, "--data", "x", "--to-time", "ten", code=2
    ).err
    # The log of a directory that is left is an archive too.
    add(connection, 9)
    data, _ = place.restore("last", "--archive", place.data / "log")
    assert sorted(place.entries(data)) == list(range(10))


def test_a_restore_does_not_go_through_the_import_of_a_start(place):
    place.serve().end()
    empty, _ = place.backup()
    server = place.serve(ldif="people.ldif")
    add(connect(server), 0)
    server.end()
    log = ["--archive", place.data / "log"]
    done = run(PANDO, "restore", "--from", empty, *log, "--data", place.folder / "x", code=1)
    assert "an import bypassed the log" in done.err, done.err


def test_a_restore_does_not_go_through_an_import(place):
    server = place.serve(ldif="people.ldif")
    connection = connect(server)
    add(connection, 0)
    first, _ = place.backup()
    add(connection, 1)
    before = now()
    server.kill()
    ldif = place.folder / "more.ldif"
    ldif.write_text(f"dn: uid=n2,{PEOPLE}\nobjectClass: inetOrgPerson\ncn: x\nsn: y\ndescription: 0\n")
    run(PANDO, "import", "--data", place.data, "--add", ldif)
    server = place.serve()
    add(connect(server), 3)
    after = now()
    log = ["--archive", place.data / "log"]
    data, _ = place.restore("before", *log, "--to-time", before)
    assert sorted(place.entries(data)) == [0, 1]
    done = run(PANDO, "restore", "--from", first, *log, "--data", place.folder / "x", code=1)
    assert "log record 5 " in done.err and "an import bypassed the log" in done.err, done.err
    assert "an import" in place.restore("x", *log, "--to-time", after, code=1)[1]
    place.backup()
    data, _ = place.restore("after", "--to-time", after)
    assert sorted(place.entries(data)) == [0, 1, 2, 3]
    server.kill()
    check(place.data)
    assert sorted(place.entries(place.data)) == [0, 1, 2, 3]


EXTRA = "objectclass ( 1.3.6.1.4.1.99999.1.1 NAME 'extraPerson' SUP inetOrgPerson STRUCTURAL )\n"


@pytest.fixture
def extra(tmp_path):
    """The flags of a schema that has one class more."""
    path = tmp_path / "extra.schema"
    path.write_text(EXTRA)
    return ["--schema", path]


def test_a_restore_goes_through_a_change_of_schema(place, extra):
    """Each change is decided by the schema that was in force when it was made."""
    archive = ["--archive", place.archive]
    server = place.serve(*archive, ldif="people.ldif")
    add(connect(server), 0)
    with pytest.raises(ldap.LDAPError):
        add(connect(server), 9, classes=[b"extraPerson"])
    first, _ = place.backup()
    add(connect(server), 1)
    before = now()
    server.end()
    server = place.serve(*archive, *extra)
    changed = now()
    connection = connect(server)
    add(connection, 2, classes=[b"extraPerson"])
    connection.add_s(f"cn=below,uid=n2,{PEOPLE}", [("objectClass", [b"device"]), ("cn", [b"below"])])
    after = now()
    log = [*archive, "--archive", place.data / "log"]
    data, _ = place.restore("before", *log, "--to-time", before)
    assert sorted(place.entries(data)) == [0, 1]
    # Nothing was decided by the new schema yet: what is restored goes on with either.
    for name, schema in ("changed", []), ("changed too", extra):
        data, _ = place.restore(name, *log, "--to-time", changed)
        assert sorted(place.entries(data)) == [0, 1]
        assert sorted(place.entries(data, *schema)) == [0, 1]

    def leads_there(*arguments, source=place.backups):
        data = place.folder / "after"
        run(PANDO, "restore", "--from", source, "--data", data, *arguments)
        check(data, *extra)
        assert sorted(place.entries(data, *extra)) == [0, 1, 2]
        shutil.rmtree(data)

    leads_there(*log)
    leads_there(*log, "--to-time", after)
    leads_there(*log, source=first)
    # The log of a directory that is lost is no other.
    server.kill()
    leads_there("--archive", place.data / "log")
    server = place.serve(*archive, *extra)
    place.backup()
    for arguments in [], [*log], [*log, "--to-time", after]:
        leads_there(*arguments)
    server.end()


def test_a_backup_between_two_schemas_leads_to_either(place, extra):
    place.serve(ldif="people.ldif").end()
    place.backup()
    server = place.serve(*extra)
    add(connect(server), 0, classes=[b"extraPerson"])
    server.kill()
    log = ["--archive", place.data / "log"]
    data, _ = place.restore("after", *log, schema=extra)
    assert list(place.entries(data)) == [0], "the restored directory has its schema"
    # By the earlier schema alone it cannot be had.
    standard = place.data.parent / "standard.toml"
    standard.write_text("schema = []\n")
    command = [PANDO, "serve", "--data", place.data, "--config", standard, "--listen", "ldap://127.0.0.1:0"]
    refused = run(*command, code=1).err
    assert "extraPerson" in refused and "load it" in refused, refused
    data, _ = place.restore("then")
    assert place.entries(data) == {}


def test_log_and_snapshot_tell_the_rules_and_not_a_file(place, extra):
    place.serve(ldif="people.ldif").end()
    rules = (place.data / "rules").read_bytes()
    server = place.serve(*extra)
    add(connect(server), 0, classes=[b"extraPerson"])
    server.kill()
    said = run(PANDO, "dump", "--data", place.data).out
    assert "the rules are from here on" in said and "NAME 'extraPerson'" in said, said[:2000]
    (place.data / "rules").write_bytes(rules)
    check(place.data, *extra)
    assert list(place.entries(place.data, *extra)) == [0]


@pytest.fixture
def small_disk(place):
    """A file system of 20 MB for backups."""
    place.backups.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", place.backups]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("it takes root to mount one")
    yield place.backups
    subprocess.run(["umount", "--lazy", place.backups], check=True)


def test_a_full_disk_is_told_and_leaves_earlier_backups(place, small_disk):
    server = place.serve(ldif="people.ldif")
    connection = connect(server)
    add(connection, 0)
    first, _ = place.backup()
    for value in range(1, 31):
        count(connection, 0, value, b" " + b"x" * 1_000_000)
    _, said = place.backup(code=1)
    assert "No space left on device" in said and str(small_disk) in said, said
    assert [each for each in small_disk.iterdir() if each.is_dir()] == [first]
    data, _ = place.restore("new")
    assert place.entries(data) == {0: 0}
    # Nor does a restore fit there.
    done = run(PANDO, "restore", "--from", place.backups, "--data", small_disk / "data", code=1)
    assert "No space left on device" in done.err, done.err
    assert [each for each in small_disk.iterdir() if each.is_dir()] == [first]


def write_much(connection, mb, value):
    """Changes that fill so much log."""
    for _ in range(mb):
        value += 1
        count(connection, 0, value, b" " + b"x" * 1_000_000)
    return value


def archived(place):
    return sorted(place.archive.glob("*.log")) if place.archive.exists() else []


def fill_archive(place, connection, value, files):
    """Writes until the archive has so many files."""
    until = time.monotonic() + 2 * PATIENCE
    while len(archived(place)) < files:
        value = write_much(connection, 5, value)
        assert time.monotonic() < until, "nothing is archived"
    return value


def test_an_archive_leads_from_an_old_backup_to_any_point(place):
    server = place.serve("--archive", place.archive, "--snapshot-after", "8MiB", ldif="people.ldif")
    connection = connect(server)
    add(connection, 0)
    place.backup()
    value = fill_archive(place, connection, 0, 1)
    add(connection, 1)
    point = now()
    add(connection, 2)
    value = fill_archive(place, connection, value, 3)
    # What was archived last began after the point.
    data, said = place.restore("then", "--archive", place.archive, "--to-time", point)
    entries = place.entries(data)
    assert sorted(entries) == [0, 1] and "no later change" not in said
    assert 0 < entries[0] < value
    # With the log that is left: all of it.
    server.kill()
    data, _ = place.restore("all", "--archive", place.archive, "--archive", place.data / "log")
    assert place.entries(data) == {0: value, 1: 0, 2: 0}
    # A file that is missing in the middle is named.
    gone = archived(place)[1]
    gone.rename(place.folder / "gone")
    _, said = place.restore("gap", "--archive", place.archive, "--archive", place.data / "log", code=1)
    first = int(gone.name.split("-")[0], 16)
    assert f"records {first} to " in said and "are missing" in said and gone.name.split("-")[0] in said, said
    (place.folder / "gone").rename(gone)
    # So is one that is damaged.
    damage(gone, 4096 + 60)
    _, said = place.restore("bad", "--archive", place.archive, "--archive", place.data / "log", code=1)
    assert f"{gone}: damaged at offset 4096" in said, said


def test_an_archive_that_cannot_be_written_holds_the_log_back(place):
    server = place.serve("--archive", place.archive, "--snapshot-after", "8MiB", ldif="people.ldif")
    connection = connect(server)
    add(connection, 0)
    place.archive.rmdir()
    place.archive.write_bytes(b"in the way")

    def told():
        return server.search("-b", "cn=Archive,cn=Log,cn=Monitor", "-s", "base", "monitoredInfo").out

    value, until = 0, time.monotonic() + 2 * PATIENCE
    while "log files cannot be released" not in told():
        value = write_much(connection, 5, value)
        assert time.monotonic() < until
    assert str(place.archive) in told()
    assert server.log.count("log files cannot be released") == 1
    assert (place.data / "log" / "00000001.log").exists()
    place.archive.unlink()
    wait_for(lambda: archived(place), "the archive is there again, and nothing is written to it")
    wait_for(lambda: "monitoredInfo: on" in told(), "and the monitor does not tell")
    assert not (place.data / "log" / "00000001.log").exists()


def test_a_snapshot_is_made_by_time_if_something_was_written(place):
    server = place.serve("--snapshot-interval", "1", ldif="people.ldif")
    manifest = snapshot_folder(place.data) / "manifest"
    before = manifest.read_bytes()
    add(connect(server), 0)
    wait_for(lambda: manifest.read_bytes() != before, "no snapshot was made")

    def snapshot(name):
        out = server.search("-b", f"cn={name},cn=Log,cn=Monitor", "-s", "base", "monitorCounter").out
        return int(out.split("monitorCounter: ")[1].split()[0])

    # Then none for nothing: it gets older than two would let it.
    wait_for(lambda: snapshot("SnapshotAge") >= 3, "snapshots are made of nothing")
    # The log of a node has entries of its own besides.
    assert FOLLOWER or snapshot("Snapshot") == 3
