"""`cn=config`: settings that are looked at and changed while the server runs, and what becomes of a change."""

import json
import os
import socket
import time
from pathlib import Path

import ldap
import pytest

from conftest import ADMIN, FOLLOWER, PANDO, SECRET, connect, run, wait_for

CONFIG = "cn=config"
FEATURE = "2.25.11962057871815689572094494889750039990"


def shown(here, attribute):
    """The values of a setting."""
    out = here.search("-s", "base", "-b", CONFIG, attribute).out
    return [line.split(": ", 1)[1] for line in out.splitlines() if line.startswith(attribute + ": ")]


def change(here, attribute, *values, kind="replace", code=0):
    lines = "".join(f"{attribute}: {value}\n" for value in values)
    return here.modify(f"dn: {CONFIG}\nchangetype: modify\n{kind}: {attribute}\n{lines}", code=code)


def test_settings_are_as_they_are_in_force(server):
    here = server("--threads", 1, "--txn-age-max", 7000, "--anonymous", "read")
    for attribute, values in {
        "pandoThreads": ["1"],
        "pandoTxnAgeMax": ["7000"],
        "pandoTxnOpenMax": ["1000"],
        "pandoMemory": ["off" if FOLLOWER else "on"],
        "pandoData": [str(here.folder / "data")] if FOLLOWER else [],
        "pandoSync": ["always"],
        "pandoRootDn": [ADMIN],
        "pandoListen": [here.url if FOLLOWER else "ldap://127.0.0.1:0"],
        "pandoLimitsShutdownTimeout": ["10"],
    }.items():
        assert shown(here, attribute) == values, attribute
    assert SECRET not in here.search("-s", "base", "-b", CONFIG, "*", "+").out.replace("userPassword", "")
    out = run("ldapsearch", "-x", "-H", here.url, "-LLL", "-s", "base", "-b", CONFIG, code=None).out
    assert "pando" not in out, "for the root DN alone"


def test_what_was_changed_outlives_the_process_and_goes_before_the_file(keep, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text("txn-implicit-begin = false\ntxn-open-max = 11\ntxn-updates-max = 12\n")
    here = keep("--config", file)
    assert shown(here, "pandoTxnOpenMax") == ["11"]
    change(here, "pandoTxnImplicitBegin", "TRUE")
    change(here, "pandoTxnOpenMax", 22)
    change(here, "pandoTxnUpdatesMax", 23)
    change(here, "pandoTxnUpdatesMax", kind="delete")
    change(here, "pandoTxnPrecedence", "3:dc=a", "4:dc=b", kind="add")
    here.kill()
    for _ in range(2):
        here = keep("--config", file)
        assert shown(here, "pandoTxnImplicitBegin") == ["on"]
        assert f"supportedFeatures: {FEATURE}\n" in here.search("-b", "", "-s", "base", "supportedFeatures").out
        assert shown(here, "pandoTxnOpenMax") == ["22"] and shown(here, "pandoTxnUpdatesMax") == ["12"]
        assert shown(here, "pandoTxnPrecedence") == ["3:dc=a", "4:dc=b"]
        here.end()
    # A flag is a way out, and is recorded too.
    here = keep("--config", file, "--txn-open-max", 33)
    assert shown(here, "pandoTxnOpenMax") == ["33"]
    assert "`txn-open-max` of the directory was 22 and is 33" in here.log
    here.end()
    # The file was overridden: what it says counts anew.
    here = keep("--config", file)
    assert shown(here, "pandoTxnOpenMax") == ["11"]
    assert "`txn-open-max` of the directory was 33 and is 11" in here.log


def test_settings_of_the_directory_stay_with_it(keep, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text('anonymous = "read"\nthreads = 1\n[limits]\nsize = 5\n')
    flags = ("--write-dn", "cn=a", "--index", "uid:eq", "--memory-max", "1GiB")
    here = keep("--config", file, *flags)
    assert "of the directory was" not in here.log
    here.kill()
    here = keep("--config", file, *flags)
    assert "of the directory was" not in here.log, "what is equal is no change"
    here.kill()
    # Without file and flags they are there, and what is the server's is not.
    here = keep()
    for attribute, values in {
        "pandoAnonymous": ["read"], "pandoLimitsSize": ["5"], "pandoWriteDn": ["cn=a"], "pandoMemoryMax": [str(1 << 30)],
        "olcDbIndex": ["uid:eq"],
    }.items():
        assert shown(here, attribute) == values, attribute
    assert shown(here, "pandoThreads") != ["1"] or os.cpu_count() == 1
    here.kill()
    # Another value is a change: warned of once, and there after a kill.
    file.write_text('anonymous = "none"\n')
    here = keep("--config", file, "--write-dn", "cn=b")
    assert "`write-dn` of the directory was cn=a and is cn=b from now on" in here.log
    assert "`anonymous` of the directory was read and is none from now on" in here.log
    here.kill()
    here = keep()
    assert "of the directory was" not in here.log
    assert shown(here, "pandoAnonymous") == ["none"] and shown(here, "pandoWriteDn") == ["cn=b"]


def test_the_root_password_is_recorded_as_a_hash(keep, tmp_path):
    here = keep()
    here.end()
    record = (keep.data / "settings").read_text()
    assert SECRET not in record and "{SSHA" in record
    # Neither root DN nor password is given: the recorded ones hold.
    here = keep(root=False)
    assert shown(here, "pandoRootDn") == [ADMIN]
    here.end()
    other = tmp_path / "other"
    other.write_text("another secret\n")
    other.chmod(0o600)
    here = keep("--root-dn", ADMIN, "--root-password-file", other, root=False)
    here.admin[-1] = "another secret"
    assert "`root-password-file` of the directory is another from now on" in here.log
    assert "another secret" not in here.log and "{SSHA" not in here.log
    assert shown(here, "pandoRootDn") == [ADMIN]


def test_a_change_of_what_a_flag_gives_outlives_the_flag(keep):
    here = keep("--txn-open-max", 33)
    change(here, "pandoTxnOpenMax", 44)
    here.kill()
    here = keep("--txn-open-max", 33)
    assert shown(here, "pandoTxnOpenMax") == ["44"] and "of the directory was" not in here.log
    here.kill()
    here = keep("--txn-open-max", 34)
    assert shown(here, "pandoTxnOpenMax") == ["34"]
    assert "`txn-open-max` of the directory was 44 and is 34" in here.log


def test_the_log_is_the_truth_and_the_file_a_copy(keep):
    here = keep()
    old = (keep.data / "settings").read_text()
    change(here, "pandoTxnOpenMax", 22)
    here.kill()
    dumped = run(PANDO, "dump", "--data", keep.data).out
    assert 'txn-open-max = ["22"]' in dumped and "{SSHA" not in dumped
    for lost in (lambda file: file.write_text(old), lambda file: file.unlink()):
        lost(keep.data / "settings")
        here = keep()
        assert shown(here, "pandoTxnOpenMax") == ["22"]
        here.kill()


def test_a_start_that_names_no_suffix_has_that_of_the_directory(keep, tmp_path):
    keep("--schema-check", "off").end()
    here = keep(suffix=False)
    assert shown(here, "pandoSuffix") == ["dc=example,dc=com"] and shown(here, "pandoSchemaCheck") == ["off"]
    here.end()
    none = run(PANDO, "serve", "--data", tmp_path / "new", "--listen", "ldap://127.0.0.1:0", code=2)
    assert "no suffix is set" in none.err


GADGET = "attributetype ( 1.2.3.9 NAME 'gadget' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n"


def test_a_start_that_names_no_schema_has_that_of_the_directory(keep, tmp_path):
    own = tmp_path / "own.schema"
    own.write_text(GADGET + "objectclass ( 1.2.3.8 NAME 'box' SUP top STRUCTURAL MUST ( cn $ gadget ) )\n")
    box = "dn: cn=b,dc=example,dc=com\nchangetype: add\nobjectClass: box\ncn: b\ngadget: lever\n"
    here = keep("--schema", own, "dvtds", "--index", "gadget:eq", ldif="people.ldif")
    here.modify(box)
    named = shown(here, "pandoSchema")
    here.kill()
    # The directory has the text of the file: nobody else needs it.
    own.unlink()
    for _ in range(2):
        here = keep()
        assert "the definitions of the schema are others" not in here.log and "is left out" not in here.log
        assert shown(here, "pandoSchema") == named == [str(own), "dvtds"]
        assert "gadget: lever" in here.search("-b", "cn=b,dc=example,dc=com", "-s", "base").out
        here.end()
    assert "gadget: lever" in run(PANDO, "export", "--data", keep.data, "--filter", "(gadget=lever)").out
    assert "1 findings" not in run(PANDO, "check", "--data", keep.data, "--index", "gadget:eq").out
    assert "1 indexes" in run(PANDO, "index", "verify", "--data", keep.data, "--index", "gadget:eq").out
    more = tmp_path / "more.ldif"
    more.write_text(box.replace("changetype: add\n", "").replace("cn=b,", "cn=c,").replace("cn: b", "cn: c"))
    run(PANDO, "import", "--data", keep.data, "--add", more)
    # What is named is another from then on; what entries use cannot go.
    own.write_text(GADGET)
    here = run(PANDO, "serve", "--data", keep.data, "--listen", "ldap://127.0.0.1:0", "--schema", own, code=None)
    assert here.code != 0 and "box" in here.err, here.err
    assert "gadget: lever" in keep().search("-b", "cn=c,dc=example,dc=com", "-s", "base").out


def test_a_recorded_index_of_a_schema_that_is_not_there_any_more_is_left_out(keep, tmp_path):
    own, none = tmp_path / "own.schema", tmp_path / "none.toml"
    own.write_text(GADGET)
    none.write_text("schema = []\n")
    keep("--schema", own, "--index", "gadget:eq", "--index", "uid:eq").end()
    here = keep("--config", none)
    assert "gadget" in here.log and "left out at this start" in here.log
    assert "the definitions of the schema are others" in here.log
    assert shown(here, "olcDbIndex") == ["uid:eq"] and shown(here, "pandoSchema") == []
    here.end()
    here = keep("--schema", own)
    assert sorted(shown(here, "olcDbIndex")) == ["gadget:eq", "uid:eq"] and "left out" not in here.log
    here.end()
    refused = run(PANDO, "serve", "--data", keep.data, "--listen", "ldap://127.0.0.1:0", "--config", none, "--index", "gadget:eq", code=2)
    assert "gadget" in refused.err


def test_a_backup_has_them_too(keep, tmp_path):
    here = keep()
    change(here, "pandoTxnOpenMax", 22)
    here.end()
    run(PANDO, "backup", "--data", keep.data, "--to", tmp_path / "backups")
    kept = list((tmp_path / "backups").glob("*/settings"))
    assert len(kept) == 1 and 'txn-open-max = ["22"]' in kept[0].read_text()


def test_a_damaged_file_is_not_guessed_at(keep, tmp_path):
    here = keep()
    change(here, "pandoTxnOpenMax", 22)
    here.end()
    file = keep.data / "settings"
    file.write_text(file.read_text().replace("22", "23"))
    password = tmp_path / "password"
    password.write_text(SECRET)
    tool = run(PANDO, "serve", "--data", keep.data, "--suffix", "dc=example,dc=com", "--listen", "ldap://127.0.0.1:0", "--root-dn", ADMIN,
               "--root-password-file", password, code=1)
    assert "checksum" in tool.err and "settings" in tool.err


@pytest.mark.parametrize("attribute, values, code, text", [
    ("pandoTxnAgeMax", ["0"], 19, "from 1 to"),
    ("pandoTxnAgeMax", ["1", "2"], 19, "one value"),
    ("pandoTxnImplicitBegin", ["perhaps"], 19, "neither"),
    ("pandoTxnPrecedence", ["12:dc=a"], 19, "from 0 to 9"),
    ("pandoThreads", ["2"], 53, "restart"),
    ("description", ["mine"], 53, "is not a setting"),
])
def test_refusals_say_why(fresh, attribute, values, code, text):
    assert text in change(fresh, attribute, *values, code=code).said


def test_in_memory_a_change_holds_as_long_as_the_process(server):
    here = server()
    change(here, "pandoTxnOpenMax", 22)
    assert shown(here, "pandoTxnOpenMax") == ["22"]


def config(here, action, *arguments, code=0, who=ADMIN, password=SECRET):
    """`pando config` against a server."""
    secret = here.folder / "root.password"
    secret.write_text(password + "\n")
    place = ["--url", here.url, "--bind-dn", who, "--password-file", secret]
    return run(PANDO, "config", action, *place, *arguments, code=code)


# For each key that is documented as changeable other values than it has by default.
CHANGED = {
    "index": ["cn:eq", "uid:eq"],
    "write-dn": ["cn=a,dc=example,dc=com", "cn=b,dc=example,dc=com"],
    "proxy-dn": ["cn=c,dc=example,dc=com"],
    "password-scheme": ["ssha512"],
    "anonymous": ["read"],
    "memory-max": [str(96 << 20)],
    "txn-implicit-begin": ["on"],
    "txn-implicit-membership": ["on"],
    "txn-search": ["on"],
    "txn-updates-max": ["7"],
    "txn-bytes-max": ["2048"],
    "txn-age-max": ["5000"],
    "txn-open-max": ["5"],
    "txn-precedence": ["3:dc=a", "4:dc=b"],
    "reads": ["lease"],
    "without-quorum": ["read"],
    "default-referral": ["ldap://one.example.org", "ldaps://two.example.org:1636"],
    "changelog-keep": ["1048576"],
    "changelog-age": ["3600"],
    "passwords.default-policy": ["cn=policy,dc=example,dc=com"],
    "passwords.policy": ['policy="cn=p,dc=example,dc=com" subtree="dc=example,dc=com"'],
    "passwords.min-length": ["9"],
    "passwords.tell-locked": ["on"],
    "passwords.netscape": ["off"],
    "passwords.last-success": ["3600"],
    "passwords.renew": ["off"],
    "passwords.cache-seconds": ["5"],
    "groups.nested": ["on"],
    "constraints.rule": ["name=mails unique=mail"],
    "dynamic.default-ttl": ["3600"],
    "dynamic.min-ttl": ["5"],
    "dynamic.max-ttl": ["100000"],
    "access.rule": ["a: all; users; allow=read", "b: all; anonymous; deny=read rank=1"],
    "access.defaults": ["off"],
    "access.refresh": ["bind"],
    "identity.certificate": ["by=subject-dn"],
    "identity.user": ["filter=(mail={})"],
    "security.password": ["0"],
    "security.read": ["1"],
    "security.write": ["1"],
    "security.any": ["1"],
    "security.ldapi-ssf": ["128"],
    "limits.size": ["5000"],
    "limits.time": ["50"],
    "limits.update-bytes": ["1048576"],
    "limits.tree-delete": ["10"],
    "limits.sort-bytes": ["1048576"],
    "limits.idle-timeout": ["1800"],
    "limits.idle-anonymous": ["600"],
    "limits.first-request": ["20"],
    "limits.handshake-timeout": ["9"],
    "limits.message-timeout": ["60"],
    "limits.message-anonymous": ["32768"],
    "limits.client-memory": ["99999999"],
    "limits.connections": ["500"],
    "limits.connections-per-address": ["900"],
    "limits.failed-binds": ["9"],
    "limits.handshakes": ["40"],
    "limits.trusted": ["10.0.0.0/8", "192.0.2.7/32"],
    "limits.old-versions": ["99999999"],
    "limits.old-versions-age": ["50"],
    "limits.write-timeout": ["50"],
    "limits.shutdown-timeout": ["9"],
    "limits.followers": ["5"],
    "limits.followers-per-connection": ["3"],
    "limits.change-memory": ["1048576"],
    "limits.rule": ["a: users; size=5"],
}


def test_each_key_that_is_changeable_is_changed_by_the_command(server):
    lines = (Path(__file__).parents[2] / "docs/configuration.md").read_text().splitlines()
    keys = {line.split("`")[1]: line.split("`")[-2] for line in lines if line.endswith(", changeable |")}
    assert list(keys) == list(CHANGED)
    here = server()
    client = connect(here)
    before = config(here, "get").out

    def held(key):
        [(_, entry)] = client.search_s(CONFIG, ldap.SCOPE_BASE, attrlist=[keys[key]])
        return [value.decode() for value in entry.get(keys[key], [])]

    def drop_indexes():
        # One that is being built is dropped after its next step.
        here.modify("dn: cn=config\nchangetype: modify\ndelete: olcDbIndex\n")
        wait_for(lambda: held("index") == [])

    for key, values in CHANGED.items():
        old = held(key)
        assert sorted(old) != values
        if key == "constraints.rule":
            config(here, "set", "index", "mail:eq")
            wait_for(lambda: config(here, "set", key, *values, "--dry-run", code=None).code == 0, "the index that it needs is built")
        dry = config(here, "set", key, *values, "--dry-run")
        assert "nothing was changed" in dry.err and held(key) == old, key
        done = config(here, "set", key, *values)
        assert (done.out, done.err) == (dry.out, ""), key
        assert sorted(held(key)) == values, key
        if key == "index":
            assert "name those that there are to be" in config(here, "set", key, "--configured", code=2).err
            drop_indexes()
        elif key in ("security.read", "security.write", "security.any"):
            # A connection in the clear that begins now may not do it.
            client.modify_s(CONFIG, [(ldap.MOD_DELETE, keys[key], None)])
            assert held(key) == old, key
        else:
            config(here, "set", key, "--configured")
            assert held(key) == old, key
        if key == "constraints.rule":
            drop_indexes()
    assert config(here, "get").out == before


def test_what_differs_from_the_defaults_and_from_the_file(server, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text('anonymous = "read"\nindex = ["cn:sub,eq"]\n[limits]\nsize = 5\n')
    here = server("--config", file)
    config(here, "set", "txn-age-max", "5000")
    found = config(here, "diff", code=1).out.splitlines()
    for line in ['- txn-age-max = "60000"', '+ txn-age-max = "5000"', '+ index = ["cn:eq,sub"]', '+ limits.size = "5"']:
        assert line in found, found
    # What is printed is a configuration file: the server has what it says.
    printed = tmp_path / "printed.toml"
    printed.write_text(config(here, "get").out)
    assert config(here, "diff", "--file", printed).out == ""
    of_file = config(here, "diff", "--file", file, code=1).out
    assert '+ txn-age-max = "5000"' in of_file and "limits.size" not in of_file and "index" not in of_file
    file.write_text("limitz = 5\n")
    refused = config(here, "diff", "--file", file, code=2)
    assert f"{file}:1:1: unknown key `limitz`" in refused.err


@pytest.mark.parametrize("arguments, code, text", [
    (("set", "txn-age-maxx", "5"), 2, "unknown key `txn-age-maxx`; did you mean `txn-age-max`?"),
    (("set", "txn-age-max", "0"), 2, "`txn-age-max`: `0` is not a number from 1 to"),
    (("set", "txn-age-max", "1", "2"), 2, "takes one value"),
    (("set", "threads", "2"), 1, "set `threads` in the configuration file or as a flag, and restart"),
    (("set", "threads", "2", "--dry-run"), 1, "set `threads` in the configuration file or as a flag, and restart"),
    (("set", "txn-precedence", "3:flavour=sweet"), 1, "flavour"),
    (("set", "txn-precedence", "3:flavour=sweet", "--dry-run"), 1, "flavour"),
    (("set", "index", "flavour:eq", "--dry-run"), 1, "flavour"),
    (("set", "limits.size", "many"), 2, "`limits.size`: `many` is not a number from 0 to"),
    (("set", "limits.trusted", "10.0.0.0/33"), 2, "neither an address nor a network"),
    (("get", "limits.siez"), 2, "did you mean `limits.size`?"),
])
def test_the_command_says_why_it_does_not(fresh, arguments, code, text):
    assert text in config(fresh, *arguments, code=code).err


def test_settings_are_for_the_root_dn(fresh):
    fresh.modify(
        "dn: uid=u,dc=example,dc=com\nchangetype: add\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: u\n"
        "userPassword: a long password\n"
    )
    refused = config(fresh, "get", code=1, who="uid=u,dc=example,dc=com", password="a long password")
    assert "only the root DN can read cn=config" in refused.err
    run("ldapmodify", "-x", "-H", fresh.url, "-D", "uid=u,dc=example,dc=com", "-w", "a long password", "-e", "!noop",
        stdin="dn: cn=config\nchangetype: modify\nreplace: pandoTxnAgeMax\npandoTxnAgeMax: 5\n", code=50)


def changes(here):
    """The last changes: number, key, values before and after."""
    listed = sorted((json.loads(text) for text in shown(here, "pandoConfigChange")), key=lambda change: change["number"])
    assert all(abs(time.mktime(time.strptime(change["time"], "%Y%m%d%H%M%SZ")) - time.timezone - time.time()) < 600 for change in listed)
    return [(change["number"], change["by"], change["key"], change["from"], change["to"]) for change in listed]


def test_who_changed_what_is_listed_and_undone(server):
    here = server()
    assert config(here, "history").out == ""
    assert "no change is kept" in config(here, "undo", code=1).err
    config(here, "set", "txn-age-max", "5000")
    here.modify(
        "dn: cn=config\nchangetype: modify\nreplace: pandoTxnOpenMax\npandoTxnOpenMax: 5\n-\n"
        "add: pandoAccessRule\npandoAccessRule: a: all; users; allow=read\n-\nreplace: pandoTxnAgeMax\npandoTxnAgeMax: 6000\n"
    )
    config(here, "set", "txn-age-max", "0", code=2)
    config(here, "set", "txn-age-max", "7000", "--dry-run")
    rule = ["a: all; users; allow=read"]
    assert sorted(changes(here)) == [
        (1, ADMIN, "txn-age-max", ["60000"], ["5000"]),
        (2, ADMIN, "access.rule", [], rule),
        (2, ADMIN, "txn-age-max", ["5000"], ["6000"]),
        (2, ADMIN, "txn-open-max", ["1000"], ["5"]),
    ]
    out = config(here, "history").out.splitlines()
    assert out[0].startswith("1 20") and out[0].endswith(f"Z {ADMIN}") and out[1:3] == ['- txn-age-max = "60000"', '+ txn-age-max = "5000"']
    # What was changed since is not undone, and nothing else of that change would be.
    assert "`txn-age-max` was changed since" in config(here, "undo", "1", code=1).err
    undone = ['- txn-age-max = "6000"', '+ txn-age-max = "5000"', '- txn-open-max = "5"', '+ txn-open-max = "1000"', f'- access.rule = ["{rule[0]}"]']
    dry = config(here, "undo", "--dry-run")
    assert sorted(dry.out.splitlines()) == sorted(undone) and config(here, "get", "txn-open-max").out == "5\n"
    assert config(here, "undo", "2").out == dry.out
    assert [config(here, "get", key).out for key in ("txn-age-max", "txn-open-max", "access.rule")] == ["5000\n", "1000\n", ""]
    assert {change[:2] for change in changes(here)} == {(1, ADMIN), (2, ADMIN), (3, ADMIN)}
    # An undo is undone as any change.
    config(here, "undo")
    assert config(here, "get", "txn-open-max").out == "5\n"
    for between, lines in [
        (("--from", 0), ['- txn-age-max = "60000"', '+ txn-age-max = "6000"', '- txn-open-max = "1000"', '+ txn-open-max = "5"', f'+ access.rule = ["{rule[0]}"]']),
        (("--from", 0, "--to", 1), ['- txn-age-max = "60000"', '+ txn-age-max = "5000"']),
    ]:
        assert config(here, "diff", *between, code=1).out.splitlines() == lines
    assert config(here, "diff", "--from", 1, "--to", 3).out == ""
    assert "changes 1 to 4 are kept" in config(here, "diff", "--from", 5, code=2).err
    assert "there is no such change" in config(here, "undo", "9", code=2).err
    change(here, "pandoConfigChange", "x", code=53)


def test_the_history_stays_with_the_directory(keep, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text('txn-open-max = 11\nsync = "always"\n')
    here = keep("--config", file)
    assert changes(here) == []
    config(here, "set", "txn-open-max", "22")
    here.kill()
    file.write_text('txn-open-max = 33\nsync = "none"\n')
    here = keep("--config", file)
    start = "a start with another file or other flags"
    expected = [
        (1, ADMIN, "txn-open-max", ["11"], ["22"]),
        (2, start, "sync", ["always"], ["none"]),
        (2, start, "txn-open-max", ["22"], ["33"]),
    ]
    assert changes(here) == expected
    here.end()
    here = keep("--config", file)
    assert changes(here) == expected, "a start that changes nothing is no change"
    # One of its keys is not changeable, so nothing is undone.
    assert "set `sync` in the configuration file" in config(here, "undo", code=1).err
    config(here, "set", "txn-open-max", "44")
    config(here, "undo")
    assert shown(here, "pandoTxnOpenMax") == ["33"]
    here.end()


ADA = "uid=ada,ou=people,dc=example,dc=com"
HOST = "127.0.0.1/32"


def found_by(client):
    """Entries that a search returns, and whether it says that there are more."""
    message = client.search("dc=example,dc=com", ldap.SCOPE_SUBTREE, "(objectClass=*)", ["1.1"])
    found = []
    try:
        while piece := client.result(message, all=0)[1]:
            found += piece
    except ldap.SIZELIMIT_EXCEEDED:
        return len(found), True
    return len(found), False


def is_ended(client):
    """Has the server closed this connection? A client that has not been closed waits for no more than a moment."""
    client.settimeout(0.2)
    try:
        return client.recv(100) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def silent(here):
    return socket.create_connection(("127.0.0.1", here.port), 20)


def test_limits_that_are_changed_hold_for_connections_that_are_there(server):
    here = server("--threads", 2)
    user, waits = connect(here, ADA, "ada's password"), silent(here)
    whole = found_by(user)
    assert whole[0] > 3 and not whole[1]
    config(here, "set", "limits.size", "3", "--dry-run")
    assert found_by(user) == whole, "a dry run changes nothing"
    config(here, "set", "limits.size", "3")
    assert found_by(user) == (3, True)
    config(here, "undo")
    assert found_by(user) == whole
    # One that waits with its first request is sent away within a second or two, and nobody else.
    assert not is_ended(waits)
    config(here, "set", "limits.first-request", "1")
    wait_for(lambda: is_ended(waits), "its time is over")
    assert found_by(user) == whole


def test_limits_of_addresses_that_are_changed_hold_from_the_next_connection_on(server):
    here = server("--threads", 1)
    there = [silent(here) for _ in range(3)]
    config(here, "set", "limits.trusted", HOST)
    # The connections of this command are of a trusted address.
    config(here, "set", "limits.connections-per-address", "2")
    assert not any(is_ended(client) for client in [*there, silent(here)])
    client = connect(here, ADMIN, SECRET)
    client.modify_s(CONFIG, [(ldap.MOD_DELETE, "pandoLimitsTrusted", None)])
    wait_for(lambda: is_ended(silent(here)), "its address has too many")
    assert not any(is_ended(client) for client in there), "those that are there stay"
    client.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLimitsConnectionsPerAddress", b"0")])
    assert not is_ended(silent(here))


def test_limits_that_were_changed_outlive_the_process(keep):
    here = keep("--memory-max", "1GiB", ldif="people.ldif")
    assert shown(here, "pandoLimitsClientMemory") == [str(128 << 20)], "an eighth of memory-max"
    for key, value in {"limits.size": "2", "limits.message-anonymous": "2KiB", "limits.trusted": HOST, "limits.client-memory": "64MiB"}.items():
        config(here, "set", key, value)
    here.kill()
    for _ in range(2):
        here = keep()
        assert found_by(connect(here, ADA, "ada's password")) == (2, True)
        assert shown(here, "pandoLimitsTrusted") == [HOST] and shown(here, "pandoLimitsClientMemory") == [str(64 << 20)]
        assert shown(here, "pandoLimitsMessageAnonymous") == ["2048"]
        here.end()
    here = keep()
    [config(here, "undo", number) for number in (4, 3, 2, 1)]
    here.kill()
    here = keep()
    assert shown(here, "pandoLimitsTrusted") == [] and shown(here, "pandoLimitsClientMemory") == [str(128 << 20)]
    assert not found_by(connect(here, ADA, "ada's password"))[1]


def test_who_has_rights_besides_rules_is_changed_for_sessions_that_are_there(server):
    here = server("--index", "uid:eq")
    user, nobody = connect(here, ADA, "ada's password"), connect(here, "", "")
    refused = lambda: pytest.raises(ldap.INSUFFICIENT_ACCESS)
    with refused():
        user.modify_s("dc=example,dc=com", [(ldap.MOD_REPLACE, "description", b"x")])
    config(here, "set", "write-dn", ADA, "--dry-run")
    with refused():
        user.modify_s("dc=example,dc=com", [(ldap.MOD_REPLACE, "description", b"x")])
    config(here, "set", "write-dn", ADA)
    user.modify_s("dc=example,dc=com", [(ldap.MOD_REPLACE, "description", b"x")])
    config(here, "undo")
    with refused():
        user.modify_s("dc=example,dc=com", [(ldap.MOD_REPLACE, "description", b"y")])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        nobody.search_s("dc=example,dc=com", ldap.SCOPE_BASE)
    config(here, "set", "anonymous", "read")
    assert nobody.search_s("dc=example,dc=com", ldap.SCOPE_BASE)
    as_admin = lambda code: run("ldapwhoami", "-x", "-H", here.url, "-D", ADA, "-w", "ada's password", "-e", "!authzid=u:bruno", code=code)
    assert "dn:uid=bruno" not in as_admin(None).out
    config(here, "set", "proxy-dn", ADA)
    assert "dn:uid=bruno," in as_admin(0).out
    refusal = config(here, "set", "write-dn", "flavour=sweet", code=1).err
    assert "`write-dn`: `flavour=sweet`" in refusal


def test_passwords_are_stored_by_the_scheme_that_was_chosen_last(keep):
    here = keep("--password-scheme", "ssha", ldif="people.ldif")
    client = connect(here, ADMIN, SECRET)
    stored = lambda: client.search_s(ADA, ldap.SCOPE_BASE, attrlist=["userPassword"])[0][1]["userPassword"]
    mechanisms = lambda: client.search_s("", ldap.SCOPE_BASE, attrlist=["supportedSASLMechanisms"])[0][1]["supportedSASLMechanisms"]
    client.passwd_s(ADA, None, "a first password")
    assert stored()[0].startswith(b"{SSHA}") and b"SCRAM-SHA-256" not in mechanisms()
    config(here, "set", "password-scheme", "scram-sha-256", "ssha512")
    client.passwd_s(ADA, None, "a second password")
    assert sorted(value.split(b"}")[0] for value in stored()) == [b"{SCRAM-SHA-256", b"{SSHA512"]
    assert b"SCRAM-SHA-256" in mechanisms()
    here.kill()
    here = keep("--password-scheme", "ssha")
    client = connect(here, ADMIN, SECRET)
    assert b"SCRAM-SHA-256" in mechanisms() and shown(here, "pandoPasswordScheme") == ["scram-sha-256", "ssha512"]
    config(here, "set", "password-scheme", "clear", "ssha", code=2)
    config(here, "undo")
    client.passwd_s(ADA, None, "a third password")
    assert [value.split(b"}")[0] for value in stored()] == [b"{SSHA"] and b"SCRAM-SHA-256" not in mechanisms()


def test_what_protects_a_connection_is_judged_when_it_begins(server):
    here = server()
    there = connect(here, ADMIN, SECRET)
    there.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoSecurityRead", b"1")])
    assert there.search_s("dc=example,dc=com", ldap.SCOPE_BASE), "it began before"
    with pytest.raises(ldap.CONFIDENTIALITY_REQUIRED):
        connect(here, ADMIN, SECRET).search_s("dc=example,dc=com", ldap.SCOPE_BASE)
    there.modify_s(CONFIG, [(ldap.MOD_DELETE, "pandoSecurityRead", None)])
    assert connect(here, ADMIN, SECRET).search_s("dc=example,dc=com", ldap.SCOPE_BASE)


def test_whom_a_name_means_is_changed(server):
    here = server("--index", "uid:eq", "--index", "mail:eq")
    whose = lambda name: run("ldapwhoami", "-x", "-H", here.url, "-D", ADMIN, "-w", SECRET, "-e", f"!authzid=u:{name}", code=None).out.strip()
    assert whose("ada").startswith("dn:uid=ada,")
    config(here, "set", "identity.user", "filter=(mail={})")
    assert not whose("ada").startswith("dn:") and whose("ada@example.com").startswith("dn:uid=ada,")
    config(here, "undo")
    assert whose("ada").startswith("dn:uid=ada,")
    assert "the schema has no attribute `thumb`" in config(here, "set", "identity.certificate", "by=fingerprint attribute=thumb", code=1).err


def test_memory_that_is_changed_is_there_at_once_and_after_a_kill(keep):
    here = keep("--memory-max", "40MiB", ldif="people.ldif")
    client = connect(here, ADMIN, SECRET)
    before = shown(here, "pandoMemoryMax"), shown(here, "pandoLimitsOldVersions")
    assert before == ([str(40 << 20)], [str(10 << 20)])
    long = [("description", [b"x" * 500_000])]
    person = lambda number: (f"cn=m{number},dc=example,dc=com", [("objectClass", [b"person"]), ("cn", [b"m%d" % number]), ("sn", [b"m"]), *long])
    number = 0
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        for number in range(100):
            client.add_s(*person(number))
    config(here, "set", "memory-max", "96MiB")
    client.add_s(*person(number))
    assert shown(here, "pandoLimitsOldVersions") == [str(24 << 20)], "a quarter of memory-max"
    here.kill()
    here = keep("--memory-max", "40MiB")
    assert shown(here, "pandoMemoryMax") == [str(96 << 20)]
    client = connect(here, ADMIN, SECRET)
    client.add_s(*person(number + 1))
    assert "at least 32 MiB are needed" in config(here, "set", "memory-max", "1MiB", code=2).err
    assert "address space was reserved" in config(here, "set", "memory-max", "800GiB", code=1).err
    config(here, "undo")
    assert shown(here, "pandoMemoryMax") == [str(40 << 20)]
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        client.add_s(*person(number + 2))
