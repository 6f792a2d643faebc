"""Configuration as a whole: every fault at once and each at its place, flags over the file, schema from files."""

import os
import signal
import subprocess
import threading

import ldap
import pytest

from conftest import ADMIN, DATA, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, run

FAULTY = """suffix = ["dc=example,dc=com", "no dn", "ou=x,dc=example,dc=com", "=x"]
listen = ["ldaps://127.0.0.1:0", "ldap://127.0.0.1:99999", "127.0.0.1"]
root-dn = "cn=admin"
import = "missing.ldif"
schema = ["missing.schema", "bad.schema"]
index = ["noSuchType:eq", "jpegPhoto:eq", "member:ord", "uid:eq", "userid:pres", "cn:huh", ":eq"]
memory-max = "8 parsecs"
threads = 0
schema-check = "perhaps"
memory = "perhaps not"
[limits]
size = "many"
write-timeout = -5
[limit]
size = 1
"""


def faults(text):
    """`file:line:column: message` as (file's name, line, message)."""
    parts = (line.split(":", 3) for line in text.splitlines())
    return [(os.path.basename(file), int(line), message) for file, line, _, message in parts]


def test_every_fault_is_listed_with_its_line_in_order(tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text(FAULTY)
    (tmp_path / "bad.schema").write_text(
        "# two faults\nattributetype ( 1.2.3.4 NAME 'taste'\n    SUP noSuchType )\n\nobjectclass ( 1.2.3.5 NAME 'x' MUST nothing )\n"
    )
    found = faults(run(PANDO, "check-config", file, code=1).out)
    expected = [
        ("pando.toml", 1, "`no dn`"), ("pando.toml", 1, "overlap"), ("pando.toml", 1, "`=x`"),
        ("pando.toml", 2, "ldaps"), ("pando.toml", 2, "99999"), ("pando.toml", 2, "`127.0.0.1`"),
        ("pando.toml", 3, "cannot bind"), ("pando.toml", 4, "missing.ldif"), ("pando.toml", 5, "missing.schema"),
        ("pando.toml", 6, "huh"), ("pando.toml", 6, "``"), ("pando.toml", 7, "parsecs"), ("pando.toml", 8, "threads"),
        ("pando.toml", 9, "perhaps"), ("pando.toml", 10, "perhaps not"), ("pando.toml", 12, "many"),
        ("pando.toml", 13, "-5"), ("pando.toml", 14, "unknown key `limit`"),
        ("bad.schema", 2, "noSuchType"), ("bad.schema", 5, "nothing"),
    ]
    # What is there but bad is not missing as well.
    assert not any("no suffix is set" in message for _, _, message in found), found
    for file_name, line, word in expected:
        assert any((file_name, line) == each[:2] and word in each[2] for each in found), (file_name, line, word, found)
    lines = [line for name, line, _ in found if name == "pando.toml"]
    assert lines == sorted(lines), found
    # The server names each of the file's own faults too, and does not start.
    served = run(PANDO, "serve", "--config", file, code=2)
    for name, line, word in expected[:-2]:
        assert any(f"{name}:{line}:" in each and word in each for each in served.err.splitlines()), (line, word, served)
    assert served.out == ""


def test_what_the_schema_says_of_indexes_is_listed(tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text(FAULTY.splitlines()[5].replace('"cn:huh", ":eq"', '"sn:eq"') + '\nsuffix = "taste=sweet"\n')
    found = faults(run(PANDO, "check-config", file, code=1).out)
    for line, word in ((1, "`noSuchType`"), (1, "`jpegPhoto`"), (1, "`member`"), (1, "`userid`"), (2, "taste")):
        assert any(each[1] == line and word in each[2] for each in found), (word, found)
    assert len(found) == 5, found
    served = run(PANDO, "serve", "--config", file, "--listen", "ldap://127.0.0.1:0", code=2)
    assert "jpegPhoto" in served.err and "taste" in served.err and served.out == ""


@pytest.mark.parametrize("text, line, word", [
    ("", None, "no suffix is set"),
    ("suffix = []\n", 1, "no suffix is set"),
    ('suffix = "dc=x"\nlisten = []\n', 2, "no address"),
    ('suffix = "dc=x"\nsuffix = "dc=y"\n', 2, "duplicate"),
    ('suffix = "dc=x"\nroot-password-file = "password"\n', 2, "needs a `root-dn`"),
    ('suffix = "dc=x"\nroot-dn = "cn=a"\nroot-password-file = "empty"\n', 3, "empty"),
    ('suffix = "dc=x"\nroot-dn = "cn=a"\nroot-password-file = "none"\n', 3, "none`: cannot be read"),
    ('suffix = "dc=x"\n[limits\nsize = 1\n', 2, "not TOML"),
    ('suffix = "dc=x"\n[limits]\nSize = 1\n', 3, "did you mean `limits.size`"),
    ('suffix = "dc=x"\nmemory-max = "1MiB"\n', 2, "32 MiB"),
])
def test_one_fault(tmp_path, text, line, word):
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "empty").write_text("\n")
    file = tmp_path / "pando.toml"
    file.write_text(text)
    out = run(PANDO, "check-config", file, code=1).out
    fault, *more = out.splitlines()
    # A line that is no TOML may have more that is not understood behind it.
    assert not more or "not TOML" in word
    assert fault.startswith(f"{file}:{line}:" if line else f"{file}: ") and word in fault, out


def test_faults_of_flags_name_the_flag():
    tool = run(PANDO, "serve", "--suffix", "x", "--index", "uid:foo", "--listen", "foo", "--threads", "many",
               "--root-dn", "cn=a", "--root-password-file", "/nowhere/password", "--memory-max", "1", code=2)
    for flag, word in (("suffix", "`x`"), ("index", "foo"), ("listen", "foo"), ("threads", "many"),
                       ("root-password-file", "/nowhere/password"), ("memory-max", "32 MiB")):
        assert any(f"--{flag}: " in line and word in line for line in tool.err.splitlines()), (flag, tool)
    assert "no suffix is set" not in tool.err and tool.out == ""


def test_flags_override_the_file(tmp_path):
    (tmp_path / "file.password").write_text("word-of-the-file\n")
    (tmp_path / "flag.password").write_text("word-of-the-flag\n")
    file = tmp_path / "pando.toml"
    file.write_text('suffix = ["o=file", "o=other"]\nlisten = "ldap://127.0.0.1:1"\nroot-dn = "cn=file"\n'
                    'root-password-file = "file.password"\nanonymous = "read"\nindex = "no-such-type:eq"\n')
    command = [PANDO, "serve", "--memory", "--config", file, "--suffix", "o=flag", "--suffix", "o=more", "--listen",
               "ldap://127.0.0.1:0", "--listen", "ldap://127.0.0.1:0", "--root-dn", "cn=flag", "--root-password-file",
               tmp_path / "flag.password", "--index", "uid:eq"]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    try:
        urls = [process.stdout.readline().split()[1] for _ in range(2)]
        connection = ldap.initialize(urls[1])
        [(_, root)] = connection.search_s("", ldap.SCOPE_BASE, attrlist=["namingContexts"])
        assert root["namingContexts"] == [b"o=flag", b"o=more"]
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            connection.simple_bind_s("cn=file", "word-of-the-file")
        connection.simple_bind_s("cn=flag", "word-of-the-flag")
        connection.add_s("o=flag", [("objectClass", [b"organization"]), ("o", [b"flag"])])
        # What is said nowhere else stands as the file has it.
        assert len(ldap.initialize(urls[0]).search_s("o=flag", ldap.SCOPE_BASE)) == 1
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


def test_every_key_is_explained():
    template = run(PANDO, "check-config", "--template").out
    document = (DATA.parents[2] / "docs/configuration.md").read_text()
    keys = {line.split("=")[0].strip("# ") for line in template.splitlines() if line.startswith("# ") and " = " in line
            and " " not in line[2:].split(" = ")[0]}
    assert {"suffix", "listen", "index", "size", "idle-timeout"} <= keys, keys
    for key in keys:
        assert f"`{key}`" in document or f".{key}`" in document, key


# Schema


def test_schema_of_both_forms_in_any_order(server, tmp_path):
    # What refers comes before what is referred to, over three files: RFC 4512 text, OpenLDAP's LDIF, a built-in one.
    (tmp_path / "a.schema").write_text("""
objectclass ( 1.3.6.1.4.1.55555.2.1 NAME 'gadget' SUP top STRUCTURAL MUST serial MAY weight )
""")
    (tmp_path / "b.ldif").write_text("""dn: cn=gadgets,cn=schema,cn=config
objectClass: olcSchemaConfig
cn: gadgets
olcAttributeTypes: {0}( 1.3.6.1.4.1.55555.1.2 NAME 'weight' SUP measure SINGLE-
 VALUE )
olcAttributeTypes: {1}( 1.3.6.1.4.1.55555.1.3 NAME 'measure' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
olcAttributeTypes: {2}( 1.3.6.1.4.1.55555.1.1 NAME ( 'serial' 'serialNo' ) SUP name )
""")
    (tmp_path / "data.ldif").write_text(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n")
    here = server("--schema", tmp_path / "a.schema", tmp_path / "b.ldif", "--schema", "rfc2307bis", ldif=str(tmp_path / "data.ldif"))
    here.modify(f"dn: serialNo=A1,{SUFFIX}\nchangetype: add\nobjectClass: gadget\nserial: A1\nweight: 30\n")
    assert here.search("-b", SUFFIX, "(measure=030)", "name").out.splitlines()[:2] == [f"dn: serial=A1,{SUFFIX}", "serial: A1"]
    # RFC 2307bis makes posixGroup auxiliary.
    here.modify(f"dn: cn=both,{SUFFIX}\nchangetype: add\nobjectClass: groupOfNames\nobjectClass: posixGroup\ncn: both\n"
                f"gidNumber: 7\nmember: uid=ada,{PEOPLE}\n")
    out = here.search("-b", "cn=Subschema", "-s", "base", "(objectClass=subschema)", "objectClasses").out
    assert "NAME 'gadget'" in out


@pytest.mark.parametrize("definition, word", [
    ("attributetype ( 1.2.3 N\u01f2E 'n' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )", "keyword"),
    ("attributetype ( 1.2.3 NAME '\u00e9' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )", "\u00e9"),
    ("objectclass ( 1.2.3 NAME 'n' SUP top SUP top )", "SUP"),
    ("objectclass ( 1.2.3 NAME 'person' STRUCTURAL )", "person"),
    ("objectclass ( 1.2.3 NAME 'n' SUP n )", "n"),
])
def test_a_fault_of_a_schema_file(tmp_path, definition, word):
    (tmp_path / "own.schema").write_text(f"# a comment\n{definition}\n")
    file = tmp_path / "pando.toml"
    file.write_text('suffix = "dc=x"\nschema = "own.schema"\n')
    found = faults(run(PANDO, "check-config", file, code=1).out)
    assert found[0][:2] == ("own.schema", 2) and word in found[0][2], found


def test_what_the_server_does_not_know_of_a_schema_is_told(server, tmp_path):
    schema, file, empty = tmp_path / "own.schema", tmp_path / "pando.toml", tmp_path / "empty.ldif"
    schema.write_text("attributetype ( 1.2.3.1 NAME 'n' SYNTAX 1.2.3.4 )\n"
                      "attributetype ( 1.2.3.2 NAME 'm' EQUALITY noSuchMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n")
    file.write_text('suffix = "dc=x"\nschema = "own.schema"\n')
    empty.write_text("version: 1\n")
    tool = run(PANDO, "check-config", file)
    assert tool.out == "", tool
    for said in (tool.err, server("--schema", schema, ldif=str(empty)).log):
        lines = [line for line in said.splitlines() if str(schema) in line]
        assert len(lines) == 2 and f"{schema}:1:" in lines[0] and "1.2.3.4" in lines[0], said
        assert f"{schema}:2:" in lines[1] and "noSuchMatch" in lines[1], said


def test_built_in_classes(fresh):
    fresh.modify(f"""dn: cn=dynamic,{SUFFIX}
changetype: add
objectClass: groupOfURLs
cn: dynamic
memberURL: ldap:///{PEOPLE}??one?(objectClass=person)

dn: cn=host,{SUFFIX}
changetype: add
objectClass: device
objectClass: ipHost
objectClass: ieee802Device
cn: host
ipHostNumber: 192.0.2.1
macAddress: 00:00:5e:00:53:01

dn: documentIdentifier=d1,{SUFFIX}
changetype: add
objectClass: document
documentIdentifier: d1
""")
    assert fresh.search("-b", SUFFIX, "(macAddress=00:00:5E:00:53:01)", "1.1").dns == [f"cn=host,{SUFFIX}"]


# Import


def test_an_import_from_a_fifo(server, tmp_path):
    fifo = tmp_path / "data.ldif"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text((DATA / "people.ldif").read_text()))
    writer.start()
    here = server(ldif=str(fifo))
    writer.join()
    assert len(here.search("-b", SUFFIX, "1.1").out.split("dn:")) == 10


def test_without_operational_attributes(server):
    here = server("--operational-attributes", "off", "--index", "uid:eq")
    for dn in (PEOPLE, f"uid=ada,{PEOPLE}"):
        out = here.search("-b", dn, "-s", "base", "+").out
        kept = {line.split(":")[0] for line in out.splitlines() if line and not line.startswith("dn:")}
        assert not kept & {"entryUUID", "entryCSN", "createTimestamp", "modifyTimestamp", "creatorsName", "modifiersName"}, out
    for text in ("(entryUUID=*)", "(createTimestamp>=19700101000000Z)", "(modifiersName=*)", f"(creatorsName={ADMIN})"):
        assert here.search("-b", SUFFIX, text, "1.1").dns == [], text
    assert here.search("-b", SUFFIX, "(&(hasSubordinates=FALSE)(structuralObjectClass=organizationalUnit))", "1.1").dns == [f"ou=Empty,{SUFFIX}"]
    # A change does not bring them back, nor can a client give them.
    here.modify(f"dn: uid=ada,{PEOPLE}\nchangetype: modify\nreplace: title\ntitle: x\n")
    here.modify(f"dn: ou=new,{SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\nou: new\n")
    out = here.search("-b", SUFFIX, "(|(uid=ada)(ou=new))", "modifyTimestamp", "entryCSN", "entryUUID").out
    assert "Timestamp" not in out and "entry" not in out, out
    assert SECRET not in here.log
