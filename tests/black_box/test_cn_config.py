"""`cn=config`: settings that are looked at and changed while the server runs, and what becomes of a change."""

import os

import pytest

from conftest import ADMIN, FOLLOWER, PANDO, SECRET, run

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
