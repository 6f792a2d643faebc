"""Assertion, pre-read, post-read, proxied authorization and password modify with ldap-utils, python-ldap and UnboundID's tools, in memory and
through the log."""

import ldap
import pytest
from ldap.controls import RequestControl
from ldap.controls.deref import DereferenceControl
from ldap.controls.libldap import AssertionControl, MatchedValuesControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.simple import ProxyAuthzControl

from conftest import ADMIN, PEOPLE, SECRET, SUFFIX, connect, run
from test_unboundid import JAR, TOOLS, tool

ADA = f"uid=ada,{PEOPLE}"
BRUNO = f"uid=bruno,{PEOPLE}"
STAFF = f"cn=staff,ou=Groups,{SUFFIX}"
WORD = "ada's password"
SET = f"dn: {ADA}\nchangetype: modify\nreplace: title\ntitle: Pilot\n"

needs_unboundid = pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")


@pytest.fixture(params=["memory", "data"])
def here(request, server, tmp_path):
    """A server in which bruno may act as others."""
    storage = {"data": tmp_path / "data"} if request.param == "data" else {}
    return server("--index", "uid:eq", "--proxy-dn", BRUNO, **storage)


def titles(server):
    out = server.search("-b", ADA, "-s", "base", "title").out
    return [line[7:] for line in out.splitlines() if line.startswith("title: ")]


def binds(server, password, who=ADA):
    """Is it the password?"""
    done = run("ldapwhoami", "-x", "-H", server.url, "-D", who, "-w", password, code=None)
    assert done.code in (0, 49), done
    return done.code == 0


# ldap-utils


def test_ldapmodify_with_an_assertion(here):
    here.modify(SET, "-e", "!assert=(title=Chair)")
    assert titles(here) == ["Pilot"]
    refused = here.modify(SET.replace("Pilot", "Chair"), "-e", "!assert=(title=Chair)", code=122)
    assert "assertion" in refused.said.lower() and titles(here) == ["Pilot"]


def test_ldapmodify_without_effect(here):
    for option in ("noop", "!noop"):
        # The exit code is the lowest octet of the result code.
        said = here.modify(SET, "-e", option, code=16654 % 256).said
        assert "(16654)" in said and titles(here) == ["Chair"]
    here.modify(SET.replace("replace: title", "replace: nonsense").replace("title: Pilot", "nonsense: x"), "-e", "!noop", code=17)
    run("ldapdelete", *here.admin, "-e", "!noop", PEOPLE, code=66)
    with pytest.raises(ldap.LDAPError) as answered:
        connect(here).delete_ext_s(ADA, serverctrls=[RequestControl("1.3.6.1.4.1.4203.1.10.2", True)])
    assert answered.value.args[0]["result"] == 0x410E and titles(here) == ["Chair"]


def test_ldapmodify_with_relaxed_rules(here):
    entry = f"dn: uid=old,{PEOPLE}\nchangetype: add\nobjectClass: account\ncreateTimestamp: 20200229120000Z\n" \
            "entryUUID: 0d6f1cd6-1a4e-103f-9a3e-7f2b1c4d5e6f\ncreatorsName: cn=another server\n"
    here.modify(entry, code=19)
    here.modify(entry, "-e", "!relax")
    found = here.search("-b", f"uid=old,{PEOPLE}", "-s", "base", "+").out
    assert "createTimestamp: 20200229120000Z" in found and "entryUUID: 0d6f1cd6-1a4e-103f-9a3e-7f2b1c4d5e6f" in found
    change = f"dn: {ADA}\nchangetype: modify\nreplace: createTimestamp\ncreateTimestamp: 20200229120000Z\n"
    here.modify(change, code=19)
    here.modify(change, "-e", "relax")


PERMISSIVE = "1.2.840.113556.1.4.1413"
TREE_DELETE = "1.2.840.113556.1.4.805"


def test_ldapmodify_permissively(here):
    change = f"dn: {ADA}\nchangetype: modify\nadd: title\ntitle: chair\ntitle: Pilot\n-\ndelete: title\ntitle: Nobody\n"
    here.modify(change, code=20)
    for _ in range(2):
        here.modify(change, "-e", f"!{PERMISSIVE}")
        assert sorted(titles(here)) == ["Chair", "Pilot"]


def test_ldapdelete_of_a_tree(here):
    run("ldapdelete", *here.admin, PEOPLE, code=66)
    run("ldapdelete", *here.admin, "-e", f"!{TREE_DELETE}", PEOPLE)
    assert here.search("-b", PEOPLE, "-s", "base", code=32).dns == []
    assert here.search("-b", SUFFIX, "-s", "base", "1.1").dns == [SUFFIX]
    run("ldapdelete", *here.admin, "-e", f"!{TREE_DELETE}", PEOPLE, code=32)


def test_ldapmodify_reads_before_and_after(here):
    said = here.modify(SET, "-e", "!preread=title,sn", "-e", "!postread=title,modifiersName").said
    assert "title: Chair" in said and "sn: Okafor" in said
    assert "title: Pilot" in said and f"modifiersName: {ADMIN}" in said
    gone = run("ldapdelete", *here.admin, "-e", "!preread=uid", ADA).said
    assert "uid: ada" in gone
    added = here.modify(f"dn: {ADA}\nchangetype: add\nobjectClass: account\n", "-e", "!postread=entryUUID").said
    assert "entryUUID: " in added


def test_ldapsearch_and_ldapcompare_with_an_assertion(here):
    def search(condition, code=0):
        return here.search("-b", PEOPLE, "-e", f"!assert={condition}", "(uid=ada)", "1.1", code=code).dns
    assert search("(ou=People)") == [ADA] and search("(ou=Others)", code=122) == []
    run("ldapcompare", *here.admin, "-e", "!assert=(sn=Okafor)", ADA, "title:Chair", code=6)
    run("ldapcompare", *here.admin, "-e", "!assert=(sn=Nobody)", ADA, "title:Chair", code=122)


def test_authzid(here):
    who = ["ldapwhoami", "-x", "-H", here.url]
    bruno = ["-D", BRUNO, "-w", "bruno's password"]
    assert run(*who, "-D", ADMIN, "-w", SECRET, "-e", "!authzid=u:ada").out == f"dn:{ADA}\n"
    assert run(*who, "-D", ADMIN, "-w", SECRET, "-e", f"!authzid=dn:{BRUNO}").out == f"dn:{BRUNO}\n"
    here.modify(f"dn: {BRUNO}\nchangetype: modify\nreplace: userPassword\nuserPassword: bruno's password\n")
    assert run(*who, *bruno, "-e", "!authzid=u:ada").out == f"dn:{ADA}\n"
    assert "(123)" in run(*who, *bruno, "-e", f"!authzid=dn:{ADMIN}", code=1).said
    assert "(123)" in run(*who, "-D", ADA, "-w", WORD, "-e", f"!authzid=dn:{BRUNO}", code=1).said
    here.modify(SET, "-e", "!authzid=u:ada", code=50)
    here.modify(SET, "-e", f"!authzid=dn:{ADMIN}")
    assert titles(here) == ["Pilot"]
    shown = here.search("-b", ADA, "-s", "base", "-e", "!authzid=u:ada", "userPassword", "sn").out
    assert "sn: Okafor" in shown and "userPassword" not in shown


def test_ldappasswd(here):
    own = ["ldappasswd", "-x", "-H", here.url, "-D", ADA]
    assert "(49)" in run(*own, "-w", WORD, "-a", "wrong", "-s", "new word", code=1).said
    run(*own, "-w", WORD, "-a", WORD, "-s", "new word")
    assert binds(here, "new word") and not binds(here, WORD)
    made = run(*own, "-w", "new word").out.split("New password: ")[1].strip()
    assert binds(here, made) and not binds(here, "new word")
    run("ldappasswd", *here.admin, "-s", "third", ADA)
    assert binds(here, "third")
    assert "(50)" in run(*own, "-w", "third", "-s", "x", BRUNO, code=1).said
    assert "(8)" in run("ldappasswd", "-x", "-H", here.url, "-s", "x", ADA, code=1).said
    out = here.search("-b", ADA, "-s", "base", "-o", "ldif_wrap=no", "modifiersName", "userPassword").out
    assert out.count("userPassword:") == 1 and f"modifiersName: {ADMIN}" in out


def test_what_was_changed_outlives_a_kill(keep):
    here = keep("--index", "uid:eq", ldif="people.ldif")
    here.modify(SET, "-e", "!assert=(title=Chair)")
    here.modify(SET.replace("Pilot", "Chair"), "-e", "!assert=(title=Chair)", code=122)
    run("ldappasswd", "-x", "-H", here.url, "-D", ADA, "-w", WORD, "-s", "new word")
    here.kill()
    here = keep("--index", "uid:eq")
    assert titles(here) == ["Pilot"] and binds(here, "new word") and not binds(here, WORD)
    assert f"modifiersName: {ADA}" in here.search("-b", ADA, "-s", "base", "modifiersName").out


def test_password_scheme(server):
    here = server("--password-scheme", "clear")
    run("ldappasswd", *here.admin, "-s", "new", ADA)
    assert connect(here).search_s(ADA, ldap.SCOPE_BASE, attrlist=["userPassword"])[0][1] == {"userPassword": [b"new"]}


def test_ldapsearch_matches_values_and_dereferences(here):
    found = here.search("-b", STAFF, "-s", "base", "-E", f"!mv=((member=UID=Ada, {PEOPLE})(objectClass=top))", "member", "cn").out
    assert f"member: {ADA}\n" in found and BRUNO not in found and "cn: staff" not in found
    schema = here.search("-b", "cn=Subschema", "-s", "base", "-E", "!mv=((attributeTypes=2.5.4.3))", "attributeTypes").out
    assert schema.count("attributeTypes: ") == 1 and "'commonName'" in schema
    found = here.search("-b", STAFF, "-s", "base", "-E", "!deref=member:cn,mail", "cn").out
    assert found.count("# member: ") == 2
    for line in ("<cn=Ada Okafor>", "<mail=ada@example.com>", "<cn=Bruno Keller>"):
        assert line in found
    here.search("-b", STAFF, "-s", "base", "-E", "!deref=cn:mail", code=2)
    anonymous = run("ldapsearch", "-x", "-H", here.url, "-b", "", "-s", "base", "-E", "!mv=((supportedControl=1.3.6.1.1.22))", "supportedControl")
    assert anonymous.out.count("supportedControl: ") == 1


# python-ldap


def test_python_ldap_matches_values_and_dereferences(here):
    connection = connect(here)

    def search(control):
        message = connection.search_ext(STAFF, ldap.SCOPE_BASE, attrlist=["member"], serverctrls=[control])
        return connection.result4(message, add_ctrls=1)[1][0]

    _, entry, _ = search(MatchedValuesControl(True, f"((member={ADA}))"))
    assert entry == {"member": [ADA.encode()]}
    _, entry, controls = search(DereferenceControl(True, {"member": ["cn", "mail"]}))
    assert len(entry["member"]) == 2
    brought = {name: found for name, found in controls[0].derefRes["member"]}
    assert brought[BRUNO] == {"cn": ["Bruno Keller"], "mail": ["bruno@example.com"]}
    assert set(brought[ADA]["cn"]) == {"Ada Okafor", "Ada"}


def test_python_ldap_reads_and_asserts(here):
    connection = connect(here)
    change = [(ldap.MOD_REPLACE, "title", [b"Pilot"])]
    controls = [AssertionControl(True, "(title=Chair)"), PreReadControl(True, ["title"]), PostReadControl(True, ["title", "+"])]
    _, _, _, answered = connection.modify_ext_s(ADA, change, serverctrls=controls)
    before = next(control for control in answered if control.controlType == PreReadControl.controlType)
    after = next(control for control in answered if control.controlType == PostReadControl.controlType)
    assert before.dn == after.dn == ADA
    assert before.entry["title"] == [b"Chair"] and after.entry["title"] == [b"Pilot"]
    assert len(after.entry["entryUUID"]) == 1
    with pytest.raises(ldap.ASSERTION_FAILED):
        connection.modify_ext_s(ADA, change, serverctrls=controls)


def test_python_ldap_counts_by_test_and_set(here):
    """Two connections that only write what they have read lose no count."""
    connections = [connect(here), connect(here)]
    for _ in range(25):
        pending = []
        for connection in connections:
            now = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["employeeNumber"])[0][1]["employeeNumber"][0]
            control = AssertionControl(True, f"(employeeNumber={now.decode()})")
            change = [(ldap.MOD_REPLACE, "employeeNumber", [str(int(now) + 1).encode()])]
            pending.append((connection, connection.modify_ext(ADA, change, serverctrls=[control])))
        for connection, message in pending:
            try:
                connection.result3(message)
            except ldap.ASSERTION_FAILED:
                now = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["employeeNumber"])[0][1]["employeeNumber"][0]
                control = AssertionControl(True, f"(employeeNumber={now.decode()})")
                connection.modify_ext_s(ADA, [(ldap.MOD_REPLACE, "employeeNumber", [str(int(now) + 1).encode()])],
                                        serverctrls=[control])
    assert connections[0].search_s(ADA, ldap.SCOPE_BASE, attrlist=["employeeNumber"])[0][1] == {
        "employeeNumber": [b"1050"]
    }


def test_python_ldap_acts_as_another(here):
    connection = connect(here)
    found = connection.search_ext_s(ADA, ldap.SCOPE_BASE, attrlist=["userPassword", "sn"],
                                    serverctrls=[ProxyAuthzControl(True, b"u:ada")])
    assert list(found[0][1]) == ["sn"]
    with pytest.raises(ldap.LDAPError) as denied:
        connection.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[ProxyAuthzControl(True, b"u:nobody")])
    assert denied.value.args[0]["result"] == 123


def test_python_ldap_changes_passwords(here):
    connection = connect(here, ADA, WORD)
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connection.passwd_s(None, "wrong", "new word")
    connection.passwd_s(ADA, WORD, "new word")
    assert binds(here, "new word")
    _, made = connection.passwd_s(None, "new word", None, extract_newpw=True)
    assert binds(here, made.genPasswd.decode())


def names(said):
    """RDN values of the entries, in the order in which they came."""
    return [line.split(",")[0].split("=")[1] for line in said.splitlines() if line.startswith("dn: ")]


def test_ldapsearch_sorts_and_looks_at_a_part(here):
    """RFC 2891 and virtual list views by ldap-utils, which print what the responses say."""
    people = ["-b", PEOPLE, "-s", "one", "(sn=*)", "sn"]
    found = here.search(*people).out
    plain = names(found)
    by_sn = sorted(plain, key=lambda name: found.split(f"dn: uid={name},")[1].split("sn: ")[1].split("\n")[0].lower())
    assert len(plain) >= 2
    assert names(here.search("-E", "!sss=sn", *people).out) == by_sn
    assert names(here.search("-E", "sss=-sn", *people).out) == by_sn[::-1]
    paged = here.search("-E", "!sss=sn", "-E", "!pr=2/noprompt", *people).out
    assert names(paged) == by_sn
    assert names(here.search("-E", "!sss=nosuch", *people, code=12).out) == []
    assert names(here.search("-E", "sss=nosuch", *people).out) == plain
    # Without a prompt for the next part: its standard input is at its end.
    part = here.search("-E", "!sss=sn", "-E", "!vlv=0/0:okafor", *people, code=None)
    assert names(part.out)[:1] == ["ada"] and by_sn[1] == "ada", part
    here.search("-E", "!sss=sn", "-E", "!vlv=0/1/9999/0", *people, code=76)


# UnboundID


@needs_unboundid
def test_unboundid_sorts_and_looks_at_a_part(here):
    plain = names(here.search("-b", PEOPLE, "-s", "one", "(sn=*)", "1.1").out)
    people = ["--baseDN", PEOPLE, "--scope", "one", "--sortOrder", "+uid", "--virtualListView", "0:1:2:0", "(sn=*)", "uid"]
    said = tool(f"{TOOLS}.LDAPSearch", here, *people).said
    assert names(said) == sorted(plain)[1:3], said
    assert "VLV" in said or "Virtual List View" in said, said


@needs_unboundid
def test_unboundid_modify(here):
    arguments = ["--preReadAttribute", "title", "--postReadAttribute", "title", "--assertionFilter", "(title=Chair)"]
    said = tool(f"{TOOLS}.LDAPModify", here, *arguments, stdin=SET).said
    assert "Pre-Read Response Control" in said and "Post-Read Response Control" in said
    assert "title: Chair" in said and "title: Pilot" in said
    assert "assertion failed" in tool(f"{TOOLS}.LDAPModify", here, *arguments, stdin=SET, code=122).said.lower()
    tool(f"{TOOLS}.LDAPModify", here, "--proxyAs", "u:ada", stdin=SET, code=50)
    tool(f"{TOOLS}.LDAPModify", here, "--proxyAs", "u:nobody", stdin=SET, code=123)
    assert titles(here) == ["Pilot"]


@needs_unboundid
def test_unboundid_modify_permissively_and_delete_a_tree(server, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text("[limits]\ntree-delete = 2\n")
    here = server("--config", file, data=tmp_path / "data")
    change = f"dn: {ADA}\nchangetype: modify\nadd: title\ntitle: Chair\n"
    tool(f"{TOOLS}.LDAPModify", here, stdin=change, code=20)
    tool(f"{TOOLS}.LDAPModify", here, "--permissiveModify", stdin=change)
    tool(f"{TOOLS}.LDAPDelete", here, "--serverSideSubtreeDelete", "--dn", PEOPLE)
    assert here.search("-b", SUFFIX, "-s", "sub", "1.1").dns != [] and here.search("-b", PEOPLE, "-s", "base", code=32).dns == []


@needs_unboundid
def test_unboundid_password_modify(here):
    arguments = ["--userIdentity", f"dn:{ADA}", "--passwordChangeMethod", "password-modify-extended-operation"]
    tool(f"{TOOLS}.LDAPPasswordModify", here, *arguments, "--newPassword", "new")
    assert binds(here, "new")
    tool(f"{TOOLS}.LDAPPasswordModify", here, *arguments, "--currentPassword", "wrong", "--newPassword", "x", code=49)
    assert binds(here, "new")


@needs_unboundid
def test_unboundid_matches_values(here):
    arguments = ["--baseDN", STAFF, "--scope", "base", "--matchedValuesFilter", f"(member={ADA})"]
    said = tool(f"{TOOLS}.LDAPSearch", here, *arguments, "(objectClass=*)", "member").said
    assert f"member: {ADA}" in said and BRUNO not in said
