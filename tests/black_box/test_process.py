"""The server as a process: its command line, its configuration file, how it starts, ends and refuses to."""

import os
import signal
import socket
import subprocess

import ldap
import pytest

from ber import ldap_bind, tlv
from conftest import ADMIN, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, run

NOTICE_OF_DISCONNECTION = b"1.3.6.1.4.1.1466.20036"
COMMANDS = [
    [], ["serve"], ["check-config"], ["gen"], ["bench"], ["bench", "search-base"], ["bench", "search-eq"],
    ["bench", "modify"], ["bench", "mixed"], ["bench", "bind"], ["bench", "null"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(command):
    out = run(PANDO, *command, "--help").out
    assert "Usage: " in out and len(out.splitlines()) > 15
    assert run(PANDO, *command, "-h").out.startswith(out.splitlines()[0].rstrip(".")[:20])


def test_version_and_mistakes():
    assert run(PANDO, "--version").out.startswith("pando ")
    assert "Usage" in run(PANDO, "serve", "--no-such-flag", code=2).err
    assert "Usage" in run(PANDO, "no-such-command", code=2).err
    assert "suffix" in run(PANDO, "serve", code=2).err


# Configuration


def test_check_config_lists_every_fault_with_its_line(tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text("""sufix = "dc=example,dc=com"
listen = ["ldap://127.0.0.1:0", "http://127.0.0.1"]
anonymous = "write"
# a comment
index = ["uid:eq", "cn:huh", "noSuchType:eq"]

[limits]
size = -1
sice = 3
""")
    out = run(PANDO, "check-config", file, code=1).out
    lines = out.splitlines()
    for number, word in ((1, "sufix"), (2, "http"), (3, "anonymous"), (5, "huh"), (8, "size"), (9, "sice")):
        assert any(line.startswith(f"{file}:{number}:") and word in line for line in lines), (number, out)
    assert "did you mean `suffix`" in out
    # The server says the same and does not start.
    served = run(PANDO, "serve", "--config", file, code=2)
    assert served.out == "" and f"{file}:1:" in served.err


def test_check_config_of_what_is_not_toml(tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text('suffix = "dc=x"\nlisten = [\n')
    assert f"{file}:" in run(PANDO, "check-config", file, code=1).out
    file.write_bytes(b"suffix = \"\xff\"\n")
    run(PANDO, "check-config", file, code=1)
    run(PANDO, "check-config", tmp_path / "none", code=1)


def test_template_has_no_fault(tmp_path):
    template = run(PANDO, "check-config", "--template").out
    file = tmp_path / "pando.toml"
    file.write_text(template + f'\nsuffix = "{SUFFIX}"\n')
    # All keys are commented out; the last lines of the template may have opened a table.
    lines = [line for line in template.splitlines() if not line.startswith(("#", "["))]
    assert not any(lines), lines
    file.write_text(f'suffix = "{SUFFIX}"\n')
    assert run(PANDO, "check-config", file).code == 0


def test_configuration_file(tmp_path):
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "root.password").write_text(SECRET)
    (folder / "data.ldif").write_text(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n")
    (folder / "pando.toml").write_text(f"""suffix = ["{SUFFIX}", "o=second"]
listen = ["ldap://127.0.0.1:0", "ldap://127.0.0.1:0"]
root-dn = "{ADMIN}"
root-password-file = "root.password"
import = "data.ldif"
memory = true
memory-max = "1GiB"
[limits]
size = 5
""")
    # Names of files are relative to the file that they stand in.
    process = subprocess.Popen([PANDO, "serve", "--config", "etc/pando.toml"], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    urls = [process.stdout.readline().split()[1] for _ in range(2)]
    assert len(set(urls)) == 2
    for url in urls:
        connection = ldap.initialize(url)
        connection.simple_bind_s(ADMIN, SECRET)
        [(_, entry)] = connection.search_s("", ldap.SCOPE_BASE, attrlist=["namingContexts"])
        assert sorted(entry["namingContexts"]) == [SUFFIX.encode(), b"o=second"]
        connection.unbind_s()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


# Start


def serve(*arguments, code):
    """A server that will not start."""
    return run(PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", *arguments, code=code)


@pytest.mark.parametrize("text, line, says", [
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\ndn: cn=x,{SUFFIX}\nobjectClass: person\n", 5, "sn"),
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\nfoo: bar\n", None, "foo"),
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\nthis is no line\n", 4, ""),
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\ndn: ou=x,ou=none,{SUFFIX}\nobjectClass: organizationalUnit\nou: x\n", 5, "ou=none"),
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\ndn: {SUFFIX}\nobjectClass: domain\ndc: example\n", 5, ""),
    (f"dn: {SUFFIX}\nobjectClass: domain\ndc:: !!!\n", 3, ""),
    ("dn: dc=elsewhere\nobjectClass: domain\ndc: elsewhere\n", 1, "elsewhere"),
    ("# comment\n\ndn: no DN\nobjectClass: domain\ndc: example\n", 3, ""),
])
def test_import_names_file_and_line(tmp_path, text, line, says):
    file = tmp_path / "bad.ldif"
    file.write_text(text)
    tool = serve("--import", file, code=1)
    assert f"{file}:{line if line else ''}" in tool.err and says in tool.err and "ready" not in tool.out, tool


def test_import_of_a_missing_file(tmp_path):
    assert "none.ldif" in serve("--import", tmp_path / "none.ldif", code=None).err


def test_import_with_crlf_folds_and_operational_attributes(server, tmp_path):
    uuid = "597ae2f6-16a6-1027-98f4-d28b5365dc14"
    text = (f"version: 1\n\ndn: {SUFFIX}\nobjectClass: dom\n ain\ndc: example\nentryUUID: {uuid}\n"
            f"createTimestamp: 20200102030405Z\nstructuralObjectClass: domain\nentryCSN: 20200102030405.123456Z#000000#001#000000\n\n"
            f"# a comment\n  that goes on\ndn: ou=b,{SUFFIX}\nobjectClass: organizationalUnit\nou: b\n")
    file = tmp_path / "data.ldif"
    file.write_text(text.replace("\n", "\r\n"))
    here = server(ldif=str(file))
    out = here.search("-b", SUFFIX, "-s", "base", "+", "*").out
    assert "objectClass: domain" in out and uuid in out and "createTimestamp: 20200102030405Z" in out, out
    assert here.search("-b", f"ou=b,{SUFFIX}", "1.1").dns == [f"ou=b,{SUFFIX}"]


def test_address_in_use(fresh):
    tool = run(PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", f"ldap://127.0.0.1:{fresh.port}", code=1)
    assert str(fresh.port) in tool.err and "in use" in tool.err.lower() and tool.out == ""


def test_schema_file_with_faults(tmp_path):
    file = tmp_path / "bad.schema"
    file.write_text("attributetype ( 1.2.3.4 NAME 'x' SUP noSuchType )\n")
    tool = serve("--schema", file, code=2)
    assert str(file) in tool.err and "noSuchType" in tool.err


def test_schema_of_ones_own(server, tmp_path):
    file = tmp_path / "own.schema"
    # The class before what it needs.
    file.write_text("""
objectclass ( 1.3.6.1.4.1.55555.2.1 NAME 'gadget' SUP top STRUCTURAL MUST serial MAY ( weight $ description ) )
attributetype ( 1.3.6.1.4.1.55555.1.1 NAME 'serial' EQUALITY caseExactMatch
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.55555.1.2 NAME 'weight' EQUALITY integerMatch ORDERING integerOrderingMatch
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
""")
    here = server("--schema", file, "--index", "weight:eq,ord")
    here.modify(f"dn: serial=A1,{SUFFIX}\nchangetype: add\nobjectClass: gadget\nserial: A1\nweight: 30\n")
    assert here.search("-b", SUFFIX, "(weight>=7)", "1.1").dns == [f"serial=A1,{SUFFIX}"]
    here.modify(f"dn: serial=a1,{SUFFIX}\nchangetype: add\nobjectClass: gadget\nserial: a1\nweight: 4\n")
    assert here.search("-b", SUFFIX, "(weight<=7)", "1.1").dns == [f"serial=a1,{SUFFIX}"]
    here.modify(f"dn: serial=A2,{SUFFIX}\nchangetype: add\nobjectClass: gadget\nserial: A2\nweight: heavy\n", code=21)


def test_schema_check_off(server):
    here = server("--schema-check", "off")
    here.modify(f"dn: uid=x,{PEOPLE}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: x\n")
    assert here.search("-b", f"uid=x,{PEOPLE}", "1.1").dns == [f"uid=x,{PEOPLE}"]


def test_operational_attributes_off(server):
    here = server("--operational-attributes", "off")
    out = here.search("-b", PEOPLE, "-s", "base", "+").out
    for name in ("entryUUID", "createTimestamp", "modifyTimestamp", "creatorsName", "entryCSN"):
        assert name not in out, out
    out = here.search("-b", PEOPLE, "-s", "base", "structuralObjectClass", "subschemaSubentry", "hasSubordinates").out
    assert "hasSubordinates: TRUE" in out and "structuralObjectClass: organizationalUnit" in out
    assert "subschemaSubentry: cn=Subschema" in out
    here.modify(f"dn: {PEOPLE}\nchangetype: modify\nreplace: description\ndescription: x\n")


@pytest.mark.parametrize("indexes", [[], ["uid:eq", "cn:eq,sub", "member:eq", "uidNumber:eq,ord", "mail:pres,eq,sub"]])
def test_indexes_do_not_change_answers(server, indexes):
    here = server(*(part for index in indexes for part in ("--index", index)))
    texts = {"(uid=ada)": 1, "(cn=*okaf*)": 1, "(cn=ada*)": 1, "(cn=*é*)": 1, "(uidNumber>=1002)": 1, "(uidNumber<=1001)": 1,
             f"(member=uid=ada,{PEOPLE})": 1, "(mail=*)": 3, "(mail=*example*)": 3, "(&(mail=*)(!(uid=ada)))": 2,
             "(|(uid=ada)(uid=bruno))": 2}
    counts = {text: len(here.search("-b", SUFFIX, text, "1.1").out.split("dn:")) - 1 for text in texts}
    assert counts == texts
    here.modify(f"dn: uid=ada,{PEOPLE}\nchangetype: modify\nreplace: uidNumber\nuidNumber: 2000\n-\nreplace: mail\n-\n"
                "delete: cn\ncn: Ada Okafor\n")
    changed = {"(uidNumber<=1001)": 0, "(uidNumber>=1002)": 2, "(mail=*)": 2, "(cn=*okaf*)": 0, "(cn=ada*)": 1}
    assert {text: here.search("-b", SUFFIX, text, "1.1").out.count("dn:") for text in changed} == changed


@pytest.mark.parametrize("mode, count", [("none", 0), ("read", 3)])
def test_anonymous(server, mode, count):
    here = server("--anonymous", mode)
    tool = run("ldapsearch", "-x", "-LLL", "-H", here.url, "-b", SUFFIX, "(objectClass=person)", "1.1", code=None)
    assert tool.out.count("dn:") == count
    run("ldapsearch", "-x", "-H", here.url, "-b", "", "-s", "base")
    run("ldapsearch", "-x", "-H", here.url, "-b", "cn=Subschema", "-s", "base")
    tool = run("ldapcompare", "-x", "-H", here.url, f"uid=ada,{PEOPLE}", "sn:Okafor", code=None)
    assert tool.code == (6 if mode == "read" else 32), tool


def test_memory_limit(server):
    here = server("--memory-max", "64MiB")
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    photo, code = os.urandom(1 << 20), None
    for number in range(200):
        try:
            connection.add_s(f"uid=m{number},{PEOPLE}", [
                ("objectClass", [b"inetOrgPerson"]), ("uid", [f"m{number}".encode()]), ("cn", [b"x"]), ("sn", [b"x"]),
                ("jpegPhoto", [photo]),
            ])
        except ldap.ADMINLIMIT_EXCEEDED as error:
            code = error.args[0]
            break
    assert code and "memory" in code["info"], code
    assert number > 8 and here.resident < 512 << 20
    # What is there can be read, changed if it does not grow, and be deleted; then there is room again.
    for _ in range(2):
        for changed in range(number):
            connection.modify_s(f"uid=m{changed},{PEOPLE}", [(ldap.MOD_REPLACE, "jpegPhoto", [os.urandom(1 << 20)])])
    # At which of them it is full depends on what the cleaner has taken away.
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        for changed in range(number):
            connection.modify_s(f"uid=m{changed},{PEOPLE}", [(ldap.MOD_REPLACE, "jpegPhoto", [os.urandom(2 << 20)])])
    for gone in range(number):
        connection.delete_s(f"uid=m{gone},{PEOPLE}")
    assert len(connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, attrlist=["1.1"])) == 3
    connection.add_s(f"uid=m0,{PEOPLE}", [
        ("objectClass", [b"inetOrgPerson"]), ("uid", [b"m0"]), ("cn", [b"x"]), ("sn", [b"x"]), ("jpegPhoto", [photo]),
    ])


# The end


@pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGINT])
def test_signal_sends_notice_of_disconnection(fresh, what):
    idle = [socket.create_connection(("127.0.0.1", fresh.port), PATIENCE) for _ in range(20)]
    # One request on each: all are accepted and have a session.
    for each in idle:
        each.sendall(bytes.fromhex("300c020101600702010304008000"))
        assert each.recv(100)[5:6] == b"\x61"
    fresh.process.send_signal(what)
    for each in idle:
        received = b""
        while piece := each.recv(4096):
            received += piece
        assert NOTICE_OF_DISCONNECTION in received and received[2:5] == b"\x02\x01\x00"
        each.close()
    assert fresh.process.wait(PATIENCE) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", fresh.port), PATIENCE)


def test_what_is_in_flight_is_finished(fresh):
    connection = ldap.initialize(fresh.url)
    connection.simple_bind_s(ADMIN, SECRET)
    photo = os.urandom(8 << 20)
    connection.modify_s(f"uid=ada,{PEOPLE}", [(ldap.MOD_REPLACE, "jpegPhoto", [photo])])
    client = socket.create_connection(("127.0.0.1", fresh.port), PATIENCE)
    bind = ldap_bind(ADMIN.encode(), SECRET.encode())
    client.sendall(bind)
    assert b"\x0a\x01\x00" in client.recv(100)
    base = f"uid=ada,{PEOPLE}".encode()
    search = tlv(0x63, tlv(4, base) + bytes.fromhex("0a01000a0100020100020100010100") + tlv(0x87, b"objectClass") +
                 tlv(0x30, tlv(4, b"jpegPhoto")))
    client.sendall(tlv(0x30, b"\x02\x01\x02" + search))
    first = client.recv(1000)
    fresh.process.send_signal(signal.SIGTERM)
    received = bytearray(first)
    while piece := client.recv(1 << 16):
        received += piece
    assert photo in received and NOTICE_OF_DISCONNECTION in received
    assert fresh.process.wait(PATIENCE) == 0


def test_generated_data_is_served(server, tmp_path):
    file = tmp_path / "people.ldif"
    run(PANDO, "gen", "--template", "slamd", "--suffix", SUFFIX, "--count", "500", "--groups", "2", "--members", "100",
        "--format", "ldif", "-o", file)
    here = server("--index", "uid:eq", "--index", "member:eq", ldif=str(file))
    out = here.search("-b", SUFFIX, "(uid=user.47)", "*").out
    assert out.count("dn:") == 1 and "mail:" in out
    assert here.search("-b", SUFFIX, "(objectClass=groupOfNames)", "member").out.count("member:") == 200


@pytest.mark.parametrize("work", ["search-base", "search-eq", "modify", "mixed"])
def test_bench(server, tmp_path, work):
    file = tmp_path / "dvtds.ldif"
    run(PANDO, "gen", "--template", "dvtds", "--suffix", "dc=com", "--count", "1000", "--format", "ldif", "-o", file)
    here = server("--schema", "dvtds", "--index", "uid:eq", ldif=str(file), suffix="dc=com")
    tool = run(PANDO, "bench", work, "--url", here.url, "--bind-dn", ADMIN, "--password-file", here.folder / "password",
               "--base", "dc=com", "--entries", "1000", "--seconds", "1", "--connections", "2", "--queue", "10", "--json")
    import json

    report = json.loads(tool.out)
    assert report["errors"] in (0, {}, []), report
