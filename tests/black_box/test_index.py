"""`pando index`: indexes that are built, dropped and verified while the directory is served, and not."""

import base64
import itertools
import random
import threading
import time

import ldap
import pytest

from conftest import ADMIN, KILLS, PANDO, PEOPLE, SUFFIX, chances, connect, run, start, wait_for, wait_until

CONFIG = "cn=config"
MONITOR = "cn=Indexes,cn=Monitor"
COUNT = 3000


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """An LDIF file of some thousand people."""
    ldif = tmp_path_factory.mktemp("people") / "many.ldif"
    run(PANDO, "gen", "--template", "slamd", "--count", COUNT, "--suffix", SUFFIX, "--format", "ldif", "-o", ldif)
    return ldif


def index(server, action, *arguments, code=0):
    """`pando index` on line, as the administrator."""
    password = server.folder / "password"
    where = ["--url", server.url, "--bind-dn", ADMIN, "--password-file", password]
    return run(PANDO, "index", action, *where, *arguments, code=code)


def raw_lines(connection):
    """What the monitor tells, a line for each index."""
    [(_, entry)] = connection.search_s(MONITOR, ldap.SCOPE_BASE, attrlist=["monitoredInfo"])
    return [text.decode() for text in entry.get("monitoredInfo", [])]


def lines(connection):
    """The states of indexes, by name."""
    told = {}
    for line in raw_lines(connection):
        facts = dict(fact.split("=", 1) for fact in line.split(" reason=")[0].split(" "))
        told[facts["index"]] = facts["state"]
    return told


def configured(connection):
    [(_, entry)] = connection.search_s(CONFIG, ldap.SCOPE_BASE, attrlist=["olcDbIndex"])
    return sorted(value.decode() for value in entry.get("olcDbIndex", []))


def ask(connection, kind, *values, attribute="olcDbIndex"):
    connection.modify_s(CONFIG, [(kind, attribute, [value.encode() for value in values])])


def names(connection, text):
    return sorted(dn for dn, _ in connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"]))


def test_an_index_is_built_under_load_and_answers_right_before_during_and_after(keep, people):
    server = keep(ldif=people)
    connection = connect(server)
    over, failures = threading.Event(), []
    filters = ["(employeeNumber=7)", "(sn=aa*)", "(description=*)", "(employeeNumber>=99)"]

    def change(number):
        """Entries come, change their values, and go."""
        mine, turn = connect(server), itertools.count()
        dn = f"uid=load{number},{PEOPLE}"
        while not over.is_set():
            value = str(next(turn)).encode()
            entry = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"x"]), ("sn", [b"load"]), ("employeeNumber", [b"L" + value])]
            mine.add_s(dn, entry)
            mine.modify_s(dn, [(ldap.MOD_REPLACE, "employeeNumber", [b"M" + value])])
            if (found := names(mine, f"(&(employeeNumber=M{value.decode()})(uid=load{number}))")) != [dn]:
                failures.append(found)
            mine.delete_s(dn)

    def look():
        """Searches have the same answers whatever plan there is."""
        mine = connect(server)
        before = [names(mine, f"(&{text}(!(sn=load)))") for text in filters]
        while not over.is_set():
            for text, expected in zip(filters, before):
                if (found := names(mine, f"(&{text}(!(sn=load)))")) != expected:
                    failures.append((text, len(found), len(expected)))

    threads = [threading.Thread(target=change, args=[number]) for number in range(2)]
    threads.append(threading.Thread(target=look))
    for each in threads:
        each.start()
    try:
        for _ in range(3):
            index(server, "build", "employeeNumber:eq,sub", "sn:sub,eq", "description:pres")
            listed = index(server, "list").out.splitlines()
            assert [line.split()[:2] for line in listed] == [
                [name, "ready,"] for name in ("description:pres", "employeeNumber:eq", "employeeNumber:sub", "sn:eq", "sn:sub")
            ]
            verified = index(server, "verify").out
            assert verified.startswith("5 indexes over ") and verified.endswith(" entries, all as they should be\n")
            index(server, "drop", "employeeNumber:eq,sub", "sn:sub,eq", "description:pres")
            wait_for(lambda: lines(connection) == {})
    finally:
        over.set()
        for each in threads:
            each.join()
    assert failures == []
    server.end()
    assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out


@pytest.mark.parametrize("end", ["clean", "kill"])
def test_a_restart_keeps_what_was_built_and_not_what_was_dropped(keep, end):
    server = keep("--index", "uid:eq", ldif="people.ldif")
    index(server, "build", "cn:eq,sub", "sn:eq")
    index(server, "drop", "cn:sub")
    connection = connect(server)
    wait_for(lambda: sorted(lines(connection)) == ["cn:eq", "sn:eq", "uid:eq"])
    assert configured(connection) == ["cn:eq", "sn:eq", "uid:eq"]
    index(server, "drop", "uid")
    wait_for(lambda: sorted(lines(connection)) == ["cn:eq", "sn:eq"])
    server.kill() if end == "kill" else server.end()
    # One that is configured is dropped for good, until another list is configured.
    server = keep("--index", "uid:eq")
    assert lines(connect(server)) == {"cn:eq": "ready", "sn:eq": "ready"}
    server.kill() if end == "kill" else server.end()
    server = keep("--index", "uid:eq", "--index", "cn:eq")
    assert lines(connect(server)) == {"cn:eq": "ready", "sn:eq": "ready", "uid:eq": "ready"}
    server.end()
    assert run(PANDO, "index", "list", "--data", keep.data).out == "cn:eq\nsn:eq\n"


def test_any_client_can_ask_and_is_told_what_is_wrong(keep):
    server = keep(ldif="people.ldif")
    connection = connect(server)
    server.modify(f"dn: {CONFIG}\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: uid eq,pres\nolcDbIndex: sn\n")
    wait_for(lambda: lines(connection) == {"uid:eq": "ready", "uid:pres": "ready", "sn:eq": "ready"})
    for kind, value, error in [
        (ldap.MOD_ADD, "taste:eq", ldap.UNDEFINED_TYPE),
        (ldap.MOD_ADD, "member:ord", ldap.INAPPROPRIATE_MATCHING),
        (ldap.MOD_ADD, "cn:fuzzy", ldap.INVALID_SYNTAX),
        (ldap.MOD_ADD, "userid eq", ldap.TYPE_OR_VALUE_EXISTS),
        (ldap.MOD_DELETE, "cn:eq", ldap.NO_SUCH_ATTRIBUTE),
    ]:
        with pytest.raises(error):
            ask(connection, kind, "mail:eq" if kind == ldap.MOD_ADD else "uid:eq", value)
        assert configured(connection) == ["sn:eq", "uid:eq", "uid:pres"], "all or nothing"
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        connection.modify_s(CONFIG, [(ldap.MOD_REPLACE, "description", [b"x"])])
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        connection.add_s(f"cn=x,{CONFIG}", [("objectClass", [b"device"]), ("cn", [b"x"])])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connection.modify_s(f"cn=x,{CONFIG}", [(ldap.MOD_ADD, "olcDbIndex", [b"cn"])])
    ask(connection, ldap.MOD_REPLACE, "cn:sub", "sn:eq")
    wait_for(lambda: lines(connection) == {"cn:sub": "ready", "sn:eq": "ready"})
    connection.modify_s(CONFIG, [(ldap.MOD_DELETE, "olcDbIndex", None)])
    wait_for(lambda: lines(connection) == {})
    assert configured(connection) == []
    assert connection.read_rootdse_s(attrlist=["configContext"])["configContext"] == [CONFIG.encode()]


def test_any_client_can_have_indexes_verified(keep, people):
    server = keep("--index", "uid:eq,sub", ldif=people)
    connection, attribute = connect(server), "pandoIndexVerify"
    for kind, value, error in [
        (ldap.MOD_ADD, "taste:eq", ldap.UNDEFINED_TYPE),
        (ldap.MOD_ADD, "cn:eq", ldap.NO_SUCH_ATTRIBUTE),
        (ldap.MOD_DELETE, "uid:eq", ldap.NO_SUCH_ATTRIBUTE),
    ]:
        with pytest.raises(error):
            ask(connection, kind, value, attribute=attribute)
    ask(connection, ldap.MOD_ADD, "uid eq,sub", attribute=attribute)
    wait_for(lambda: all(" verify=clean found=0 " in line for line in raw_lines(connection)))
    assert all(f" entries={COUNT + 2} " in line for line in raw_lines(connection)), raw_lines(connection)
    # Those that wait, or are under way, are values until they are done or taken away.
    ask(connection, ldap.MOD_REPLACE, "uid:sub", "uid:eq", attribute=attribute)
    connection.modify_s(CONFIG, [(ldap.MOD_DELETE, attribute, None)])
    [(_, entry)] = connection.search_s(CONFIG, ldap.SCOPE_BASE, attrlist=[attribute])
    assert entry == {}
    assert lines(connection) == {"uid:eq": "ready", "uid:sub": "ready"}
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        ask(connect(server, who=None), ldap.MOD_ADD, "uid:eq", attribute=attribute)
    # The command names them as it likes, and one that is to be built is waited for.
    index(server, "build", "cn:sub", "--no-wait")
    told = index(server, "verify", "userid", "CN:sub")
    assert told.out == f"2 indexes over {COUNT + 2} entries, all as they should be\n"
    assert "uid:eq" in index(server, "list").out and ", verify: clean" in index(server, "list").out
    assert "noSuchAttribute" in index(server, "verify", "cn:eq", code=1).err
    server.end()
    assert "3 indexes over" in run(PANDO, "index", "verify", "--data", keep.data, "--index", "uid:eq,sub", "--quiet").out


def test_only_the_administrator_may_look_and_change(fresh):
    nobody = connect(fresh, who=None)
    for each in [nobody]:
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            ask(each, ldap.MOD_ADD, "cn:eq")
        with pytest.raises(ldap.NO_SUCH_OBJECT):
            each.search_s(CONFIG, ldap.SCOPE_BASE)
    refused = run(PANDO, "index", "build", "--url", fresh.url, "cn", code=1)
    assert "noSuchObject" in refused.err or "insufficientAccessRights" in refused.err, refused


def test_a_directory_in_memory_has_it_too(fresh):
    index(fresh, "build", "cn:eq,sub", "sn:eq", "--quiet")
    assert "cn:sub" in index(fresh, "list").out
    assert "attributeOrValueExists" in index(fresh, "build", "cn:eq", code=1).err
    assert index(fresh, "verify").out.startswith("3 indexes over ")
    index(fresh, "drop", "cn:eq")
    # With a data directory it goes a moment later.
    wait_for(lambda: "noSuchAttribute" in index(fresh, "drop", "cn:eq", code=None).err)


def test_one_that_does_not_fit_is_given_up(keep, tmp_path):
    """Long random texts have more runs of three bytes than there is memory for."""
    choices, letters = random.Random(3), [chr(code) for code in range(0x4E00, 0x9FA0)]
    ldif = tmp_path / "long.ldif"
    with open(ldif, "w") as out:
        out.write(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n")
        for number in range(40):
            text = base64.b64encode("".join(choices.choices(letters, k=7000)).encode()).decode()
            out.write(f"dn: uid=n{number},{SUFFIX}\nobjectClass: account\nuid: n{number}\ndescription:: {text}\n")
            out.write(f"l: {'x' * 550_000}\n\n")
    server = keep("--memory-max", "32MiB", ldif=ldif)
    connection = connect(server)
    failed = index(server, "build", "uid:eq", "description:sub", code=1)
    assert "description:sub: " in failed.err and "exceed memory-max" in failed.err and "uid:eq" not in failed.err
    assert lines(connection) == {"description:sub": "failed", "uid:eq": "ready"}
    assert configured(connection) == ["uid:eq"]
    # What it took is free again, and the directory takes updates.
    used = "cn=Total,cn=Memory,cn=Monitor"
    total = lambda: int(connection.search_s(used, ldap.SCOPE_BASE, attrlist=["monitorCounter"])[0][1]["monitorCounter"][0])
    wait_for(lambda: total() < 30 << 20)
    connection.add_s(f"uid=more,{SUFFIX}", [("objectClass", [b"account"]), ("uid", [b"more"])])
    assert names(connection, "(uid=more)") == [f"uid=more,{SUFFIX}"]
    server.end()
    where = ["--data", keep.data]
    assert "exceed memory-max" in run(PANDO, "index", "build", *where, "--memory-max", "32MiB", "description:sub", code=1).err
    assert "description" not in run(PANDO, "index", "list", *where).out


def test_offline(keep, tmp_path):
    server = keep("--index", "uid:eq", ldif="people.ldif")
    where = ["--data", keep.data]
    assert "another process" in run(PANDO, "index", "list", *where, code=1).err
    server.end()
    assert run(PANDO, "index", "list", *where).out == ""
    run(PANDO, "index", "build", *where, "cn:eq,sub", "surname")
    assert run(PANDO, "index", "list", *where).out == "cn:eq\ncn:sub\nsn:eq\n"
    assert "there is one already" in run(PANDO, "index", "build", *where, "cn:eq", code=1).err
    assert "no attribute" in run(PANDO, "index", "build", *where, "taste", code=2).err
    assert "at least 32 MiB are needed" in run(PANDO, "index", "build", *where, "--memory-max", "1MiB", "l:eq", code=2).err
    run(PANDO, "index", "drop", *where, "cn:sub")
    assert "not among those" in run(PANDO, "index", "drop", *where, "cn:sub", code=1).err
    assert run(PANDO, "index", "verify", *where, "--index", "uid:eq,pres").out.startswith("4 indexes over ")
    assert run(PANDO, "index", "verify", *where, "cn:eq").out.startswith("1 indexes over ")
    assert "no such index" in run(PANDO, "index", "verify", *where, "cn:eq", "uid:eq", code=1).err
    assert "all as it should be" in run(PANDO, "check", *where).out
    # What a flag asked for is recorded with the directory.
    server = keep()
    assert lines(connect(server)) == {"cn:eq": "ready", "sn:eq": "ready", "uid:eq": "ready"}
    # A backup has them too.
    run(PANDO, "backup", *where, "--to", tmp_path / "backups")
    run(PANDO, "restore", "--from", tmp_path / "backups", "--data", tmp_path / "restored")
    assert run(PANDO, "index", "list", "--data", tmp_path / "restored").out == "cn:eq\nsn:eq\n"


def test_check_makes_configured_indexes_and_compares_them(keep):
    server = keep("--index", "cn:eq,sub", ldif="people.ldif")
    connection = connect(server)
    connection.modify_s(names(connection, "(uid=*)")[0], [(ldap.MOD_REPLACE, "cn", [b"Other"])])
    server.kill()
    where = ["--data", keep.data]
    for flags in ["--index", "cn:eq,sub"], ["--index", "cn:eq", "--index", "sn:eq,sub", "--index", "uid"]:
        assert "all as it should be" in run(PANDO, "check", *where, *flags).out
    for bad, why in (("taste:eq", "`taste`"), ("jpegPhoto:eq", "no equality"), ("cn:fast", "not a kind of index")):
        assert why in run(PANDO, "check", *where, "--index", bad, code=2).err


def test_a_changed_byte_of_what_is_written_down_stops_the_start(keep):
    server = keep(ldif="people.ldif")
    server.end()
    run(PANDO, "index", "build", "--data", keep.data, "cn:eq")
    path = keep.data / "indexes"
    path.write_text(path.read_text().replace("cn:eq", "sn:eq"))
    refused = run(PANDO, "check", "--data", keep.data, code=1)
    assert "indexes" in refused.err and "checksum" in refused.err


@pytest.mark.kills
def test_kill_while_indexes_come_and_go_loses_nothing(keep, people):
    """What was told to be ready is there, what was told to be gone is not; of the rest either."""
    choices = chances("indexes")
    all_names = ["cn:eq", "cn:sub", "sn:eq", "mail:eq", "mail:pres", "uid:eq"]
    # Snapshots are made meanwhile.
    arguments = ["--snapshot-after", "64KiB"]
    server = keep(*arguments, ldif=people)
    for _ in range(KILLS):
        connection = connect(server)
        over, safe, changed = threading.Event(), set(lines(connection)), []

        def load():
            turn = itertools.count()
            try:
                mine = connect(server)
                dn = names(mine, "(uid=user.1)")[0]
                while not over.is_set():
                    number = str(next(turn))
                    mine.modify_s(dn, [(ldap.MOD_REPLACE, "mail", [f"m{number}@b".encode()])])
                    changed.append(number)
            except ldap.LDAPError:
                pass

        def come_and_go():
            try:
                mine = connect(server)
                while not over.is_set():
                    name = choices.choice(all_names)
                    if name in safe:
                        safe.discard(name)
                        unsure.add(name)
                        ask(mine, ldap.MOD_DELETE, name)
                        wait_for(lambda: name not in lines(mine))
                        unsure.discard(name)
                    else:
                        unsure.add(name)
                        ask(mine, ldap.MOD_ADD, name)
                        wait_for(lambda: lines(mine).get(name) == "ready")
                        unsure.discard(name)
                        safe.add(name)
                        ask(mine, ldap.MOD_ADD, name, attribute="pandoIndexVerify")
            except (ldap.LDAPError, AssertionError):
                pass  # killed, or nothing comes any more

        unsure = set()
        threads = [threading.Thread(target=load), threading.Thread(target=come_and_go)]
        for each in threads:
            each.start()
        wait_until(time.monotonic() + choices.random())
        server.kill()
        over.set()
        for each in threads:
            each.join()
        assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out
        server = keep(*arguments)
        connection = connect(server)
        there = set(lines(connection))
        assert safe <= there <= safe | unsure, (safe, unsure, there)
        if changed:
            [(_, entry)] = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=user.1)", ["mail"])
            value = int(entry["mail"][0].decode()[1:].split("@")[0])
            assert value in (int(changed[-1]), int(changed[-1]) + 1)
            assert len(names(connection, f"(mail=m{value}@b)")) == 1
