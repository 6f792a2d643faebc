"""`pando import` and `pando export`: what goes out comes in again, all of it or nothing, whatever ends them."""

import base64
import json
import os
import shutil
import subprocess

import pytest

from conftest import ADMIN, DATA, KILLS, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, chances, run, start

TOP = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"


def unit(name, above=SUFFIX):
    return f"dn: ou={name},{above}\nobjectClass: organizationalUnit\nou: {name}\n\n"


def person(name, above=SUFFIX, rest="sn: x\n"):
    return f"dn: uid={name},{above}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: x\n{rest}\n"


class Folder:
    """A data directory and files beside it."""

    def __init__(self, path):
        self.path, self.data = path, path / "data"

    def file(self, text, name="in.ldif"):
        path = self.path / name
        path.write_text(text)
        return path

    def fill(self, *arguments, code=0, data=None, **settings):
        target = ["--data", data or self.data, "--suffix", SUFFIX]
        return run(PANDO, "import", *target, *arguments, code=code, **settings)

    def export(self, *arguments, code=0, data=None):
        return run(PANDO, "export", "--data", data or self.data, *arguments, code=code)

    def check(self, data=None):
        return run(PANDO, "check", "--data", data or self.data).out

    def dns(self, *arguments):
        return self.export(*arguments).dns


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def entries(text):
    """Entries of LDIF without folds and base64, order of values aside: big groups come in the order of a hash."""
    def plain(line):
        name, _, value = line.partition(":: ")
        return f"{name}: {base64.b64decode(value).decode('latin1')}" if value else line.rstrip()

    unfolded = text.replace("\n ", "")
    return [sorted(plain(line) for line in entry.splitlines()) for entry in unfolded.split("\n\n") if entry.strip()]


def generated(folder, count=2500, members=2300):
    """People, and a group so big that its members lie in a tree of three levels."""
    path = folder.path / "generated.ldif"
    run(PANDO, "gen", "--template", "slamd", "--suffix", SUFFIX, "--count", count, "--groups", 1, "--members", members,
        "-o", path)
    return path


def test_what_is_exported_comes_in_again(folder):
    more = folder.file(
        f"dn: uid=odd,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: odd\ncn;lang-de: y\ncn: x\nsn:: IGxlYWRpbmc=\n"
        f"jpegPhoto:: {'AAH/' * 5000}\nuserPassword: {{SSHA}}x\ncreateTimestamp: 20200102030405Z\n"
    )
    folder.fill(generated(folder), more)
    assert "directory  2505 entries, all as it should be" in folder.check()
    first = folder.export().out
    out = folder.path / "out.ldif"
    told = folder.export("-o", out)
    assert "exported 2,505 entries" in told.err and told.out == "", told
    assert out.read_text() == first and out.stat().st_mode & 0o777 == 0o600
    other = folder.path / "other"
    folder.fill(out, data=other)
    assert "2505 entries, all" in folder.check(other)
    assert entries(folder.export(data=other).out) == entries(first)
    assert [name for name in os.listdir(folder.path) if name.endswith(".part")] == []


def test_it_is_what_a_server_shows(folder, tmp_path):
    folder.fill(DATA / "people.ldif")
    server = start(tmp_path, data=folder.data)
    server.modify(f"dn: ou=New,{SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n\n"
                  f"dn: {PEOPLE}\nchangetype: modrdn\nnewrdn: ou=People\ndeleteoldrdn: 0\nnewsuperior: ou=New,{SUFFIX}\n")
    # In use.
    assert "another process uses" in folder.export(code=1).err
    assert "another process uses" in folder.fill(DATA / "people.ldif", "--add", code=1).err
    shown = server.search("-b", SUFFIX, "*", "entryUUID", "creatorsName", "createTimestamp", "entryCSN", "modifiersName",
                          "modifyTimestamp").out
    server.kill()
    text = folder.export().out
    for ours, theirs in zip(sorted(entries(text)), sorted(entries(shown)), strict=True):
        assert ours == theirs
    # Superiors come first, also those that are younger.
    dns = [line[4:] for line in text.splitlines() if line.startswith("dn: ")]
    assert dns.index(f"ou=New,{SUFFIX}") < dns.index(f"ou=People,ou=New,{SUFFIX}")
    for at, dn in enumerate(dns[1:], 1):
        assert dn.split(",", 1)[1] in dns[:at]


def test_a_part_of_it(folder):
    folder.fill(folder.file(TOP + unit("a") + person("p", f"ou=a,{SUFFIX}") + person("q")))
    assert folder.dns("--base", f"OU=A,{SUFFIX}") == [f"ou=a,{SUFFIX}", f"uid=p,ou=a,{SUFFIX}"]
    assert folder.dns("--filter", "(uid=*)") == [f"uid=p,ou=a,{SUFFIX}", f"uid=q,{SUFFIX}"]
    text = folder.export("--operational", "strip").out
    assert "entryUUID" not in text and "Timestamp" not in text and "Name:" not in text
    assert "no entry" in folder.export("--base", f"ou=b,{SUFFIX}", "-o", folder.path / "x", code=1).err
    assert not (folder.path / "x").exists()
    assert "--filter" in folder.export("--filter", "(uid=", code=2).err


def test_a_directory_with_entries_is_filled_only_when_asked(folder):
    folder.fill(folder.file(TOP))
    more = folder.file(unit("a"), "more.ldif")
    assert "1 entries already; add to them with --add" in folder.fill(more, code=1).err
    assert folder.dns() == [SUFFIX]
    folder.fill(more, "--add")
    # The naming contexts are known by now.
    run(PANDO, "import", "--data", folder.data, "--add", "-", stdin=unit("b", f"ou=a,{SUFFIX}"))
    assert folder.dns() == [SUFFIX, f"ou=a,{SUFFIX}", f"ou=b,ou=a,{SUFFIX}"]
    assert "3 entries, all as it should be" in folder.check()


def test_adding_goes_on_where_the_log_ends(folder, tmp_path):
    """Entries that are only in the log, entries of an import, and changes of both afterwards."""
    folder.fill(folder.file(TOP))
    for number in range(3):
        run_folder = tmp_path / f"run{number}"
        run_folder.mkdir()
        server = start(run_folder, data=folder.data)
        server.modify(unit(f"logged{number}").replace("objectClass", "changetype: add\nobjectClass", 1))
        for name in [f"imported{number - 1}"] if number else []:
            server.modify(f"dn: ou={name},{SUFFIX}\nchangetype: delete\n\n")
        server.kill()
        folder.fill(folder.file(unit(f"imported{number}")), "--add")
    assert sorted(folder.dns()) == sorted(
        [SUFFIX, f"ou=imported2,{SUFFIX}"] + [f"ou=logged{number},{SUFFIX}" for number in range(3)]
    )
    assert "5 entries, all as it should be" in folder.check()


def test_superiors_in_any_order_in_any_file(folder):
    files = [
        folder.file(person("p", f"ou=b,ou=a,{SUFFIX}") + unit("b", f"ou=a,{SUFFIX}"), "1"),
        folder.file(unit("a"), "2"),
        folder.file(TOP, "3"),
    ]
    folder.fill(*files)
    assert len(folder.dns()) == 4


def test_a_fault_stops_it_with_its_line_and_nothing_is_kept(folder):
    good, bad = folder.file(TOP, "good"), folder.file(unit("a") + person("p", rest=""), "bad")
    assert f"{bad}:5:1: uid=p,{SUFFIX}: " in folder.fill(good, bad, code=1).err
    assert not (folder.data / "founding").exists()
    folder.fill(good)
    assert folder.dns() == [SUFFIX]
    # And a directory that has entries keeps those.
    folder.fill(bad, "--add", code=1)
    assert folder.dns() == [SUFFIX]
    assert "1 entries, all as it should be" in folder.check()


def test_rejects_can_be_put_right_and_imported(folder):
    first = folder.file("version: 1\n\n# a comment\n" + person("early", f"ou=nowhere,{SUFFIX}") + TOP, "first")
    second = folder.file(person("bad", rest="") + "dn: uid=garbage\nno line\n\n" + unit("a") + unit("a"), "second")
    rejects = folder.path / "rejects"
    told = folder.fill(first, second, "--rejects", rejects, code=1)
    assert "4 records were not imported" in told.err and str(rejects) in told.err, told
    assert folder.dns() == [SUFFIX, f"ou=a,{SUFFIX}"]
    text = rejects.read_text()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    for comment, place in zip(comments, [f"{second}:1: ", f"{second}:7: ", f"{second}:13: ", f"{first}:4: "], strict=True):
        assert comment.startswith(f"# {place}"), text
    assert "version" not in text and "neither in the directory nor in the input" in text
    assert str(rejects) in folder.fill(rejects, "--add", "--rejects", rejects, code=1).err
    assert rejects.read_text() == text
    # Without the duplicate and the garbage.
    blocks = [block for block in text.split("\n\n") if "exists" not in block and "garbage" not in block]
    right = folder.file(unit("nowhere") + "\n\n".join(blocks).replace("uid: bad", "uid: bad\nsn: x"), "right")
    folder.fill(right, "--add", "--rejects", rejects)
    assert rejects.read_text() == "" and len(folder.dns()) == 5


@pytest.mark.parametrize("name, uuids", [
    ("slapcat.ldif", ["3c1f5d1e-5b7a-103c-8f9a-6d2f4f6a000" + digit for digit in "123"]),
    ("db2ldif.ldif", ["0f3c2a0" + digit + "-acd5-11eb-9d3a-c8f75b1d2e4f" for digit in "123"]
     + ["11111111-2222-4333-8444-555555555555"]),
])
def test_exports_of_other_servers(folder, tmp_path, name, uuids):
    folder.fill(DATA / name, "--operational", "map")
    text = folder.export().out
    assert [line[11:] for line in text.splitlines() if line.startswith("entryUUID: ")] == uuids
    for gone in ("nsUniqueId", "contextCSN", "parentid", "entryid", "csn-", "aci", "password"):
        assert gone not in text
    server = start(tmp_path, data=folder.data)
    found = server.search("-b", SUFFIX, f"(entryUUID={uuids[2]})", "*", "+").out
    if name == "db2ldif.ldif":
        assert "pwdHistory: 20210504030203Z#1.3.6.1.4.1.1466.115.121.1.40#10#{SSHA}AAAA\n" in text and text.count("pwdHistory:") == 1
        # Its nsAccountLock locks an account here, too.
        alan = f"uid=alan,ou=Staff,{SUFFIX}"
        bind = ["ldapwhoami", "-x", "-H", server.url, "-D", alan, "-w", "turing"]
        assert "Invalid credentials" in run(*bind, code=49).err
        server.modify(f"dn: {alan}\nchangetype: modify\ndelete: pwdAccountLockedTime\n")
        run(*bind)
    server.end()
    assert f"dn: uid=grace,ou=Staff,{SUFFIX}" in found
    created = {"slapcat.ldif": "20220315101114Z", "db2ldif.ldif": "20210504030203Z"}[name]
    assert f"createTimestamp: {created}" in found
    if name == "slapcat.ldif":
        assert "entryCSN: 20220316070809.987654Z#000000#001#000000" in found
        # Nothing of it needs to be mapped.
        other = folder.path / "other"
        folder.fill(DATA / name, data=other)
        assert entries(folder.export(data=other).out) == entries(text)
    else:
        told = folder.fill(DATA / name, data=folder.path / "other", code=1).err
        assert f"{DATA / name}:12:1: " in told and "nsUniqueId" in told, told


def test_an_export_of_opendj(folder, server):
    report = folder.path / "report.json"
    done = folder.fill("--quiet", "--from", "opendj", "--report", report, DATA / "opendj.ldif")
    values = {(value["name"], value["fate"]): (value["count"], value["why"]) for value in json.loads(report.read_text())["values"]}
    assert values["userPassword {PBKDF2}", "kept"] == values["userPassword {PBKDF2-HMAC-SHA256}", "kept"] == (1, None)
    assert values["ds-pwp-account-disabled", "translated"] == (1, "pwdAccountLockedTime: nobody binds as them")
    assert values["ds-privilege-name", "left out"] == (2, "privileges: access rules allow what they allow")
    for name in ("aci", "ds-pwp-password-policy-dn", "ds-rlim-size-limit", "ds-sync-hist", "ds-sync-state", "ds-pwp-last-login-time"):
        assert values[name, "left out"][1] and f"left out: {name}: " in done.out, name
    exported = folder.export().out
    assert "ds-" not in exported and "aci:" not in exported and exported.count("entryUUID: 5a1fd0a3-5b5e-4e0f-9ac3-1d6a6f2a000") == 6
    for expected in ("pwdChangedTime: 20230105060708.412Z", "createTimestamp: 20230102030403Z", "pwdEndTime: 20240101000000Z",
                     "creatorsName: cn=Directory Manager,cn=Root DNs,cn=config"):
        assert f"{expected}\n" in exported, expected
    # Into a data directory and over LDAP: passwords of each scheme are good, but not of an account that is disabled, nor of one at its end.
    served = server(ldif=None, data=folder.data)
    other = Served(folder.path, server(ldif=None))
    other.fill("--quiet", "--from", "opendj", DATA / "opendj.ldif")
    for target in (served, other.server):
        for name, word, code in (("ada", "lovelace", 0), ("alan", "turing", 0), ("grace", "hopper", 49), ("konrad", "turing", 49)):
            run("ldapwhoami", "-x", "-H", target.url, "-D", f"uid={name},ou=People,{SUFFIX}", "-w", word, code=code)
        # A former password is refused where a policy says so, but no other one.
        policy, ada = f"cn=history,{SUFFIX}", f"uid=ada,ou=People,{SUFFIX}"
        target.modify(f"dn: {policy}\nchangetype: add\nobjectClass: device\nobjectClass: pwdPolicy\ncn: history\npwdAttribute: userPassword\npwdInHistory: 3\n")
        target.modify(f"dn: {ada}\nchangetype: modify\nadd: pwdPolicySubentry\npwdPolicySubentry: {policy}\n")
        for word, code in (("countess", 1), ("analytical", 0)):
            run("ldappasswd", "-x", "-H", target.url, "-D", ada, "-w", "lovelace", "-s", word, code=code)
    served.modify(f"dn: uid=grace,ou=People,{SUFFIX}\nchangetype: modify\ndelete: pwdAccountLockedTime\n")
    run("ldapwhoami", "-x", "-H", served.url, "-D", f"uid=grace,ou=People,{SUFFIX}", "-w", "hopper")


SLAPD_CONFIG = """\
dn: cn={4}mail,cn=schema,cn=config
objectClass: olcSchemaConfig
cn: {4}mail
olcAttributeTypes: {0}( 1.3.6.1.4.1.99999.1.1 NAME 'mailAlias' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
olcObjectClasses: {0}( 1.3.6.1.4.1.99999.2.1 NAME 'mailUser' SUP top AUXILIARY MAY mailAlias )

"""


def test_what_the_schema_lacks_is_reported(folder):
    rest = "objectClass: mailUser\nmailAlias: b\nmailAlias: c\nsn: x\n"
    text = folder.file(TOP + person("a", rest=rest) + person("b", rest=rest) + person("c", rest=rest + "flavour: sweet\n"))
    database = f"dn: olcDatabase={{1}}mdb,cn=config\nobjectClass: olcMdbConfig\nolcSuffix: {SUFFIX}\nolcDbIndex: uid eq\n" \
        "olcAccess: {0}to attrs=userPassword by self write by * auth\nolcAccess: {1}to * by * read\n"
    config, report = folder.file(SLAPD_CONFIG + database, "config.ldif"), folder.path / "report.json"
    from_openldap = ["--quiet", "--from", "openldap", "--source-config", config, "--report", report]
    done = folder.fill(*from_openldap, text, code=1)
    lines = done.out.splitlines()
    assert lines[0] == "4 records" and lines[-1] == 'index = ["uid:eq"]'
    assert lines[1:4] == ["not in the schema: attribute type flavour: 1 entry", "not in the schema: attribute type mailAlias: 3 entries",
                          "not in the schema: object class mailUser: 3 entries"]
    assert lines[4].startswith("give these definitions with --schema FILE, ") and f"{config} defines 2 of 3" in lines[4]
    assert lines[5] == f"left out: access rules in {config}: 2: pando access translate --from openldap {config} makes rules of them"
    written = json.loads(report.read_text())
    assert written["access-rules"] == 2
    assert written["not-in-schema"][1] == {"kind": "attribute type", "name": "mailAlias", "entries": 3, "in-source-config": True}
    # The command is as it is printed, and the definitions are taken in the form that slapcat writes.
    assert "userPassword" in run(PANDO, "access", "translate", "--from", "openldap", config).out
    schema = folder.file(SLAPD_CONFIG, "mail.ldif")
    done = folder.fill("--schema", schema, *from_openldap, "--rejects", folder.path / "rejects", text, code=1)
    assert "not in the schema: attribute type flavour: 1 entry" in done.out and "mailAlias" not in done.out
    assert len(folder.dns()) == 3


def test_stripped_entries_get_new_ones(folder):
    folder.fill(DATA / "slapcat.ldif", "--operational", "strip", "--root-dn", ADMIN)
    text = folder.export().out
    assert "3c1f5d1e" not in text and text.count("entryUUID: ") == 3 and text.count(f"creatorsName: {ADMIN}") == 3


def test_settings_from_a_file(folder):
    config = folder.file(f'suffix = "{SUFFIX}"\nschema-check = "off"\n', "pando.toml")
    run(PANDO, "import", "--config", config, "--data", folder.data, "-", stdin=TOP + person("p", rest=""))
    assert len(folder.dns()) == 2
    # It stays so.
    folder.fill(folder.file(person("q", rest="")), "--add")
    told = run(PANDO, "import", "--data", folder.path / "new", "-", stdin=TOP, code=2).err
    assert "no suffix" in told and not (folder.path / "new").exists()
    told = run(PANDO, "import", "--config", config, "-", stdin=TOP, code=2).err
    assert "--data" in told


@pytest.mark.kills
def test_kills_during_an_import(folder):
    """Nothing or all is there, and it can be done again."""
    ldif, seen = generated(folder, count=1500, members=100), set()
    base = folder.file(TOP, "base.ldif")
    chance = chances("import")
    # One of them comes soon.
    for number, moment in enumerate([0.02, *(chance.uniform(0, 0.6) for _ in range(2 * KILLS - 1))]):
        data = folder.path / f"data{number}"
        had = number % 2
        if had:
            folder.fill(base, data=data)
            command = ["--data", data, "--add", "--rejects", folder.path / "rejects", ldif]
        else:
            command = ["--data", data, "--suffix", SUFFIX, ldif]
        process = subprocess.Popen([PANDO, "import", *map(str, command)], stderr=subprocess.DEVNULL)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            pass
        process.kill()
        process.wait(PATIENCE)
        if not (data / "founding").exists():
            seen.add("nothing")
            shutil.rmtree(data, ignore_errors=True)
            continue
        found = len(folder.export(data=data).dns)
        assert found in (had, 1504), f"round {number}: {found} entries"
        seen.add("all" if found == 1504 else "nothing")
        assert "all as it should be" in folder.check(data) or found == 0
        if found != 1504:
            code = 1 if had else 0
            folder.fill(*(["--add", "--rejects", folder.path / "rejects"] if had else []), ldif, data=data, code=code)
            assert len(folder.export(data=data).dns) == 1504
        shutil.rmtree(data)
    assert "nothing" in seen, "none was killed in time"


@pytest.mark.kills
def test_kills_during_an_export(folder):
    """The old file or all of the new one is there, and the directory is as it was."""
    folder.fill(generated(folder, count=1500, members=100))
    whole, chance = folder.export().out, chances("export")
    for number in range(2 * KILLS):
        out = folder.path / f"out{number}"
        if number % 2:
            out.write_text("old")
        process = subprocess.Popen([PANDO, "export", "--data", folder.data, "-o", out], stderr=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.02, 0.4))
        except subprocess.TimeoutExpired:
            pass
        process.kill()
        process.wait(PATIENCE)
        if out.exists():
            assert out.read_text() in ("old", whole) if number % 2 else out.read_text() == whole
            out.unlink()
    assert folder.export().out == whole
    assert "1504 entries, all as it should be" in folder.check()


class Served(Folder):
    """The same for a server that runs."""

    def __init__(self, path, server):
        super().__init__(path)
        self.server = server
        (path / "password").write_text("secret\n")
        self.target = ["--url", server.url, "--bind-dn", ADMIN, "--password-file", path / "password"]

    def fill(self, *arguments, code=0, **settings):
        return run(PANDO, "import", *self.target, *arguments, code=code, **settings)

    def export(self, *arguments, code=0):
        return run(PANDO, "export", *self.target, *arguments, code=code)


@pytest.fixture
def served(tmp_path, server):
    # Thousands of passwords in the clear are hashed.
    return Served(tmp_path, server("--password-scheme", "ssha512", ldif=None))


def test_into_and_out_of_a_server_that_runs(served, folder):
    ldif = generated(folder)
    told = served.fill(ldif, served.file(unit("odd") + person("p", f"ou=odd,{SUFFIX}", f"sn: x\njpegPhoto:: {'AAH/' * 5000}\n")))
    assert "imported 2,506 entries" in told.err
    out = served.path / "out.ldif"
    assert "exported 2,506 entries" in served.export("-o", out).err and out.stat().st_mode & 0o777 == 0o600
    text = out.read_text()
    assert text.count("entryUUID: ") == 2506 and f"creatorsName: {ADMIN}" in text and "structuralObjectClass" not in text
    # The same as in a data directory, and as there it goes on.
    folder.fill(out)
    assert sorted(entries(folder.export().out)) == sorted(entries(text)) and "2506 entries, all" in folder.check()
    again = folder.export("--operational", "strip").out
    assert sorted(entries(served.export("--operational", "strip").out)) == sorted(entries(again))
    assert served.dns("--base", f"ou=odd,{SUFFIX}") == [f"ou=odd,{SUFFIX}", f"uid=p,ou=odd,{SUFFIX}"]
    assert served.dns("--filter", "(uid=p)") == [f"uid=p,ou=odd,{SUFFIX}"]
    assert "noSuchObject (32)" in served.export("--base", f"ou=none,{SUFFIX}", "-o", served.path / "none", code=1).err
    assert not (served.path / "none").exists()


def test_into_a_server_superiors_in_any_order(served):
    deep, above = [], SUFFIX
    for number in range(60):
        deep.append(unit(f"u{number}", above))
        above = f"ou=u{number},{above}"
    wide = [unit(f"w{number}") for number in range(300)] + [person("x", f"ou=W{number}, {SUFFIX}") for number in range(300)]
    served.fill(served.file(TOP + "".join(deep) + "".join(wide), "1"))
    assert len(served.dns()) == 661
    files = [served.file(person("late", f"ou=b,ou=a,{SUFFIX}") + unit("b", f"ou=a,{SUFFIX}"), "2"), served.file(unit("a"), "3")]
    told = served.fill(*files, "--connections", 1)
    assert "imported 3 entries" in told.err
    # Of a pipe too.
    served.fill("-", stdin=person("late", f"ou=d,ou=c,{SUFFIX}") + unit("d", f"ou=c,{SUFFIX}") + unit("c"))
    assert len(served.dns()) == 667


def test_into_a_server_with_rejects(served):
    served.fill(served.file(TOP + unit("a")))
    bad = served.file(unit("b") + unit("a") + person("p", rest="") + "dn: x\nno line\n\n" + person("q", f"ou=none,{SUFFIX}")
                      + person("r"), "bad")
    rejects = served.path / "rejects"
    assert "4 records were not imported" in served.fill(bad, "--rejects", rejects, code=1).err
    text = rejects.read_text()
    for place, why in ((5, "entryAlreadyExists (68)"), (9, "objectClassViolation (65)"), (15, "expected"), (17, "noSuchObject (32)")):
        assert any(line.startswith(f"# {bad}:{place}: ") and why in line for line in text.splitlines()), text
    assert sorted(served.dns()) == sorted([SUFFIX, f"ou=a,{SUFFIX}", f"ou=b,{SUFFIX}", f"uid=r,{SUFFIX}"])
    # Without, it ends at a fault; what was added stays.
    told = served.fill(served.file(unit("c") + unit("a") + "".join(unit(f"d{number}") for number in range(1000)), "more"), code=1)
    assert "more:5:1: ou=a," in told.err and "added, and kept, were" in told.err
    assert f"ou=c,{SUFFIX}" in served.dns() and len(served.dns()) < 1000


def test_what_other_servers_keep_is_not_sent(served):
    served.fill(DATA / "db2ldif.ldif")
    text = served.export().out
    assert len(served.dns()) == 4 and "nsUniqueId" not in text and "11111111-2222" not in text and "csn-" not in text
    assert text.count("entryUUID: ") == 4
    assert "nsAccountLock" not in text and text.count("pwdAccountLockedTime: 000001010000Z\n") == 1


def test_a_server_that_refuses_or_goes(served, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong\n")
    target = ["--url", served.server.url, "--bind-dn", ADMIN, "--password-file", wrong]
    assert "invalidCredentials (49)" in run(PANDO, "import", *target, DATA / "people.ldif", code=1).err
    assert "invalidCredentials (49)" in run(PANDO, "export", *target, code=1).err
    nowhere = run(PANDO, "import", "--url", "ldap://127.0.0.1:1", DATA / "people.ldif", code=1).err
    assert "127.0.0.1, port 1" in nowhere
    assert "http://x: a URL is ldap://" in run(PANDO, "export", "--url", "http://x", code=2).err
    process = subprocess.Popen([PANDO, "import", *map(str, served.target), "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    # More than pipe, pieces and connections hold: it is at work.
    process.stdin.write((TOP + "".join(unit(f"u{number}") for number in range(40000))).encode())
    served.server.kill()
    try:
        process.stdin.close()
    except BrokenPipeError:
        pass
    said = process.stderr.read().decode()
    assert process.wait(PATIENCE) == 1 and "closed the connection" in said and "not known" in said, said
    process.stderr.close()
    # So that the fixture has a server to end.
    served.server.end = lambda: None


def test_a_reader_that_has_enough(folder):
    folder.fill(generated(folder))
    command = f"set -o pipefail; {PANDO} export --data {folder.data} | head -n 1"
    assert run("bash", "-c", command).out == f"dn: {SUFFIX}\n"


def test_a_full_disk(folder):
    folder.fill(folder.file(TOP))
    assert "space" in folder.export("-o", "/dev/full", code=1).err
    told = folder.fill(folder.file(TOP), "--add", "--rejects", "/dev/full", code=1).err
    assert "space" in told
    assert "1 entries, all" in folder.check()


ACTIVE_DIRECTORY = f"""\
dn: DC=example,DC=com
changetype: add
objectClass: top
objectClass: domain
objectClass: domainDNS
dc: example
instanceType: 5
objectGUID:: ABEiM0RVZneImaq7zN3u/w==
wellKnownObjects: B:32:AA312825768811D1ADED00C04FD8D5CD:CN=Computers,DC=example,DC=com

dn: CN=Policies,CN=System,DC=example,DC=com
changetype: add
objectClass: container
cn: Policies

dn: CN=Users,DC=example,DC=com
changetype: add
objectClass: top
objectClass: container
cn: Users

dn: CN=ada,CN=Users,DC=example,DC=com
changetype: add
objectClass: top
objectClass: person
objectClass: organizationalPerson
objectClass: user
cn: ada
distinguishedName: CN=ada,CN=Users,DC=example,DC=com
name: ada
whenCreated: 20200102030405.0Z
objectGUID:: {base64.b64encode(bytes(range(16))).decode()}
objectSid:: AQUAAAAAAAUVAAAA
sAMAccountName: ada
userAccountControl: 514
userPassword: secret
memberOf: CN=staff,CN=Users,DC=example,DC=com
objectCategory: CN=Person,CN=Schema,CN=Configuration,DC=example,DC=com

dn: CN=staff,CN=Users,DC=example,DC=com
changetype: add
objectClass: top
objectClass: group
cn: staff
groupType: -2147483646
sAMAccountName: staff
member: CN=ada,CN=Users,DC=example,DC=com

dn: CN=odd,CN=Users,DC=example,DC=com
changetype: add
objectClass: top
objectClass: oddity
cn: odd
"""


def test_an_export_of_active_directory(folder, server, tmp_path):
    text = folder.file(ACTIVE_DIRECTORY)
    rejects, report = folder.path / "rejects.ldif", folder.path / "report.json"
    done = folder.fill("--quiet", "--from", "ad", "--rejects", rejects, "--report", report, text, code=1)
    written = json.loads(report.read_text())
    assert written["records"] == 6
    assert {"memberOf", "name", "objectGUID", "wellKnownObjects"} <= {value["name"] for value in written["values"]}
    assert "left out: passwords of accounts: 1: " in done.out and "left out: entries at and below CN=System: 1: " in done.out
    line = ACTIVE_DIRECTORY.splitlines().index("dn: CN=odd,CN=Users,DC=example,DC=com") + 1
    assert rejects.read_text().startswith(f"# {text}:{line}: CN=odd,CN=Users,DC=example,DC=com: ")
    exported = folder.export().out
    for expected in ("sAMAccountName: ada", "entryUUID: 03020100-0504-0706-0809-0a0b0c0d0e0f", "createTimestamp: 20200102030405Z",
                     "pwdAccountLockedTime: 000001010000Z", "member: CN=ada,CN=Users,DC=example,DC=com"):
        assert f"{expected}\n" in exported, expected
    assert "distinguishedName" not in exported and "Policies" not in exported
    # The directory has its schema, and a disabled account does not bind with the right password.
    served = server(ldif=None, data=folder.data)
    ada = f"CN=ada,CN=Users,{SUFFIX}"
    bind = ["ldapwhoami", "-x", "-H", served.url, "-D", ada, "-w", "secret"]
    assert "Invalid credentials" in run(*bind, code=49).err
    served.modify(f"dn: {ada}\nchangetype: modify\ndelete: pwdAccountLockedTime\n")
    run(*bind)
    # The same, over LDAP.
    other = server("--schema", "ad", ldif=None)
    (tmp_path / "root.password").write_text(SECRET + "\n")
    who = ["--url", other.url, "--bind-dn", ADMIN, "--password-file", tmp_path / "root.password"]
    run(PANDO, "import", *who, "--quiet", "--from", "ad", "--rejects", rejects, text, code=1)
    assert "Invalid credentials" in run("ldapwhoami", "-x", "-H", other.url, "-D", ada, "-w", "secret", code=49).err
