"""`pando access`: what it says of rules in files, of a data directory and of a server."""

import json

import pytest

from conftest import ADMIN, PANDO, SECRET, SUFFIX, run

ANN, BOB = f"uid=ann,ou=People,{SUFFIX}", f"uid=bob,ou=People,{SUFFIX}"
STAFF = f"cn=staff,ou=Groups,{SUFFIX}"
LDIF = f"""dn: {SUFFIX}
objectClass: domain
dc: example

dn: ou=People,{SUFFIX}
objectClass: organizationalUnit
ou: People

dn: ou=Groups,{SUFFIX}
objectClass: organizationalUnit
ou: Groups

dn: {ANN}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: A
mail: ann@example.com
manager: {BOB}
userPassword: secret

dn: {BOB}
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: B
mail: bob@example.com

dn: {STAFF}
objectClass: groupOfNames
cn: staff
member: {ANN}
"""
RULES = [
    f'staff: subtree="ou=People,{SUFFIX}" attrs=mail; group="{STAFF}" tls=128; allow=write rank=5',
    f'manager: subtree="ou=People,{SUFFIX}" attrs=entry,*; dn-attr=manager; allow=write,rename',
    f'hide: one="ou=People,{SUFFIX}" attrs=mail values="(mail=bob*)"; users; deny=read rank=1',
]
TABLE = f"""# verdict right who what
allow see  "{ANN}"  "{BOB}"   # by what is built in
deny  see  anonymous "{BOB}"
deny  add  "{ANN}"  "{BOB}/mail"
allow add  "{ANN}"  "{BOB}/mail" tls=128
allow write "{BOB}" "{ANN}/cn"
allow rename "{BOB}" "{ANN}"
deny  read "{ANN}"  "{BOB}/mail=bob@example.com"
allow read "{ANN}"  "{BOB}/mail=b@example.com"
deny  read "{ANN}"  "{BOB}/userPassword"
allow auth anonymous "{BOB}/userPassword"
allow add  "{ANN}"  "{ANN}/userPassword"
allow all  root     "{BOB}/userPassword"
allow use  anonymous control:1.2.3
"""


def access(*arguments):
    """Runs `pando access`."""
    return run(PANDO, "access", *arguments, code=None)


@pytest.fixture(name="files")
def fixture_files(tmp_path):
    """Rules, entries and expectations as files."""
    (tmp_path / "rules").write_text("# rules\n" + "\n".join(RULES) + "\n")
    (tmp_path / "entries.ldif").write_text(LDIF)
    (tmp_path / "table").write_text(TABLE)
    return tmp_path


def test_a10_files_a_data_directory_and_a_server_give_the_same_verdicts(files, keep):
    """A10: `access test` agrees for rules and entries of files, of a data directory and of a server."""
    rules = [word for rule in RULES for word in ("--access-rule", rule)]
    of_files = access("test", files / "table", "--rules", files / "rules", "--ldif", files / "entries.ldif")
    assert of_files.code == 0 and "13 rows, 0 not as expected" in of_files.out, of_files
    server = keep(*rules, ldif=files / "entries.ldif")
    (files / "pw").write_text(f"{SECRET}\n")
    remote = ["--url", server.url, "--bind-dn", ADMIN, "--password-file", files / "pw"]
    of_server = access("test", files / "table", *remote)
    assert of_server.code == 0 and "13 rows, 0 not as expected" in of_server.out, of_server
    question = ["--who", ANN, "--what", f"{BOB}/mail", "--right", "add", "--json"]
    online = access("explain", *remote, *question)
    unreadable = access("explain", "--url", server.url, *question)
    assert unreadable.code == 1 and "bind as the root DN" in unreadable.err, unreadable
    server.end()
    of_data = access("test", files / "table", "--data", keep.data)
    assert of_data.code == 0 and "13 rows, 0 not as expected" in of_data.out, of_data
    offline = access("explain", "--data", keep.data, *question)
    assert online.code == offline.code == 1, (online, offline)

    def outcomes(tool):
        return [(rule["name"], rule["outcome"], rule["fails"]) for rule in json.loads(tool.out)[0]["rules"]]

    assert outcomes(online) == outcomes(offline)


def test_a_verdict_names_the_rule_and_why_others_lost(files):
    source = ["--rules", files / "rules", "--ldif", files / "entries.ldif"]
    said = access("explain", *source, "--who", ANN, "--what", f"{BOB}/mail", "--right", "add", "--tls", 128)
    assert said.code == 0 and said.out.startswith(f"add: allowed by rule staff ({files}/rules:2)\n"), said
    assert "  manager (" in said.out and "does not fit: dn-attr of subject 1" in said.out, said
    said = access("explain", *source, "--who", ANN, "--what", f"{BOB}/mail", "--right", "add", "--json")
    [decision] = json.loads(said.out)
    assert said.code == 1 and not decision["allowed"] and decision["by"] is None
    staff = next(rule for rule in decision["rules"] if rule["name"] == "staff")
    assert staff["outcome"] == "fails" and staff["fails"] == [{"key": "tls", "subject": 1, "undefined": False}]
    wrong = access("explain", *source, "--who", ANN, "--what", f"{BOB}/mael")
    assert wrong.code == 2 and "no attribute `mael`" in wrong.err, wrong


def test_expectations_that_are_not_met_are_named(files):
    (files / "table").write_text(f'allow read anonymous "{ANN}/cn"\nallow raed anonymous "{ANN}"\n')
    source = ["--rules", files / "rules", "--ldif", files / "entries.ldif"]
    wrong = access("test", files / "table", *source)
    assert wrong.code == 2 and f"{files}/table:2: `raed` is no right" in wrong.err, wrong
    (files / "table").write_text(f'allow read anonymous "{ANN}/cn"\n')
    unmet = access("test", files / "table", *source)
    assert unmet.code == 1 and f"{files}/table:1: read: denied: no rule allows it" in unmet.out, unmet


def test_a10_check_finds_planted_faults(files):
    """A10: `access check` finds rules never reached, unknown names, secrets given away, groups that do not exist."""
    source = ["--rules", files / "rules", "--ldif", files / "entries.ldif"]
    assert access("check", *source).code == 0, access("check", *source)
    planted = {
        "unknown": ("all attrs=mael; users; allow=read", "did you mean"),
        "never": (f'base="{ANN}" attrs=mail; self; allow=write', "it never decides: rule `wide` covers it"),
        "wide": (f'subtree="{SUFFIX}" attrs=mail; users; allow=write rank=9', None),
        "secret": ("all attrs=**; users; allow=read", "of secrets: userPassword"),
        "group": (f'all; group="cn=none,{SUFFIX}"; allow=read', f"there is no group cn=none,{SUFFIX}"),
        "place": (f'subtree="ou=None,{SUFFIX}"; users; allow=read', f"there is no entry ou=None,{SUFFIX}"),
    }
    text = "".join(f"{name}: {rule}\n" for name, (rule, _) in planted.items())
    (files / "rules").write_text(text)
    found = access("check", *source)
    assert found.code == 1, found
    for number, (name, (_, fault)) in enumerate(planted.items()):
        lines = [line for line in found.out.splitlines() if line.startswith(f"{files}/rules:{number + 1}:")]
        assert any(fault in line for line in lines) if fault else not lines, (name, found)
    assert {line["rule"] for line in json.loads(access("check", *source, "--json").out)} == set(planted) - {"wide"}


def test_a_table_of_the_configuration_is_explained_by_its_line(files):
    (files / "pando.toml").write_text(
        f'suffix = "{SUFFIX}"\n\n[[access.rule]]\nname = "all"\nto = {{ all = true }}\n'
        'by = [{ anyone = true }]\nallow = ["read"]\n'
    )
    source = ["--rules", files / "pando.toml", "--ldif", files / "entries.ldif"]
    said = access("explain", *source, "--who", "anonymous", "--what", f"{ANN}/cn", "--right", "read")
    assert said.code == 0 and f"allowed by rule all ({files}/pando.toml:3)" in said.out, said
