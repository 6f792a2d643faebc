"""Definitions are removed and changed, and rules added, while the server runs: what is used stays, and all hold after a kill, a restart, on every node."""

import ldap
import pytest

from conftest import DATA, PANDO, SECRET, SUFFIX, connect, run
from test_cluster import ROOT
from test_cluster import SUFFIX as CLUSTER_SUFFIX
from test_cluster import bound, cluster, three
from test_published_schema import OPENLDAP, needs_openldap
from test_schema_online import ARC, SUBSCHEMA, addition, found, thing
from test_unboundid import JAR, TOOLS, tool

__all__ = ["cluster"]

TASTE = f"( {ARC}.1.1 NAME 'taste' DESC 'added' SUP name )"
THING = f"( {ARC}.1.2 NAME 'tasteThing' SUP top STRUCTURAL MUST ( cn $ taste ) )"
GONE = [(ldap.MOD_DELETE, "objectClasses", [THING.encode()]), (ldap.MOD_DELETE, "attributeTypes", [TASTE.encode()])]


def changed(attribute, before, after):
    return [(ldap.MOD_DELETE, attribute, [before.encode()]), (ldap.MOD_ADD, attribute, [after.encode()])]


def names(connection, attribute="attributeTypes", arc=ARC):
    entry = connection.search_s(SUBSCHEMA, ldap.SCOPE_BASE, attrlist=[attribute])[0][1]
    return sorted(value.decode().split("'")[1] for value in entry.get(attribute, []) if arc.encode() in value)


def test_what_is_used_stays_and_what_is_not_goes_for_good(keep):
    here = keep(ldif="people.ldif")
    admin = connect(here)
    here.modify(addition("taste", 1))
    here.modify(addition("smell", 2))
    admin.add_s(*thing("taste", "wine", "sweet"))
    admin.add_s(*thing("smell", "rose", "good"))
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refused:
        admin.modify_s(SUBSCHEMA, GONE)
    assert refused.value.args[0]["info"] == f"entries use it: the entry cn=wine,{SUFFIX} is of the object class 'tasteThing'"
    # A group whose members are found by numbers of types: they stay what they are.
    members = [f"uid=u{at},{SUFFIX}".encode() for at in range(2000)] + [f"smell=good,{SUFFIX}".encode()]
    admin.add_s(f"cn=all,{SUFFIX}", [("objectClass", [b"groupOfNames"]), ("cn", [b"all"]), ("member", members)])
    admin.delete_s(f"cn=wine,{SUFFIX}")
    admin.modify_s(SUBSCHEMA, GONE)

    def is_whole(connection):
        assert names(connection) == ["smell"] and names(connection, "objectClasses") == ["smellThing"]
        with pytest.raises(ldap.UNDEFINED_TYPE):
            connection.add_s(*thing("taste", "wine", "sweet"))
        assert len(found(connection, "(smell=good)")) == 1
        assert found(connection, f"(member=smell=GOOD,{SUFFIX})") == [f"cn=all,{SUFFIX}"]

    is_whole(admin)
    for ends in (False, True, False, False):
        here.end() if ends else here.kill()
        here = keep()
        is_whole(connect(here))
    admin = connect(here)
    # The same and others come again, to what was removed no value belongs.
    here.modify(addition("taste", 1))
    admin.add_s(*thing("taste", "wine", "sweet"))
    here.kill()
    here = keep()
    admin = connect(here)
    assert len(found(admin, "(taste=sweet)")) == 1 and found(admin, f"(member=smell=good,{SUFFIX})")
    here.end()
    assert "all as it should be" in run(PANDO, "check", "--data", keep.data).out


def test_a_change_is_there_after_a_kill(keep):
    here = keep(ldif="people.ldif")
    admin = connect(here)
    here.modify(addition("taste", 1))
    admin.add_s(*thing("taste", "wine", "sweet"))
    other = f"( {ARC}.1.1 NAME ( 'taste' 'flavour' ) DESC 'changed' SUP name SINGLE-VALUE )"
    admin.modify_s(SUBSCHEMA, changed("attributeTypes", TASTE, other))
    wider = f"( {ARC}.1.2 NAME 'tasteThing' SUP top STRUCTURAL MUST cn MAY ( flavour $ description ) )"
    admin.modify_s(SUBSCHEMA, changed("objectClasses", THING, wider))
    with pytest.raises(ldap.CONSTRAINT_VIOLATION) as refused:
        admin.modify_s(SUBSCHEMA, changed("objectClasses", wider, wider.replace("MUST cn", "MUST ( cn $ l )")))
    assert f"the entry cn=wine,{SUFFIX} of the object class 'tasteThing' lacks 'l'" in refused.value.args[0]["info"]
    rule = f"( {ARC}.1.2 NAME 'tasteRule' NOT description )"
    form = f"( {ARC}.1.3 NAME 'tasteForm' OC tasteThing MUST cn MAY taste )"
    admin.modify_s(SUBSCHEMA, [(ldap.MOD_ADD, "dITContentRules", [rule.encode()]), (ldap.MOD_ADD, "nameForms", [form.encode()])])
    for ends in (False, True, False):
        here.end() if ends else here.kill()
        here = keep()
        admin = connect(here)
        assert len(found(admin, "(flavour=sweet)")) == 1
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            admin.modify_s(f"cn=wine,{SUFFIX}", [(ldap.MOD_ADD, "taste", [b"sour"])])
        with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
            admin.modify_s(f"cn=wine,{SUFFIX}", [(ldap.MOD_ADD, "description", [b"x"])])
        with pytest.raises(ldap.NAMING_VIOLATION):
            admin.rename_s(f"cn=wine,{SUFFIX}", "taste=sweet", delold=0)
    gone = [(ldap.MOD_DELETE, "nameForms", [form.encode()]), (ldap.MOD_DELETE, "dITContentRules", [rule.encode()])]
    admin.modify_s(SUBSCHEMA, gone)
    admin.modify_s(f"cn=wine,{SUFFIX}", [(ldap.MOD_ADD, "description", [b"x"])])
    admin.rename_s(f"cn=wine,{SUFFIX}", "taste=sweet", delold=0)


def test_any_node_removes_and_all_have_it(cluster):
    three(cluster)
    cluster.nodes[1].modify(addition("taste", 1))
    cluster.nodes[2].modify(addition("smell", 2))
    bound(cluster.nodes[3]).add_s(*thing("taste", "wine", "sweet", CLUSTER_SUFFIX))
    for number in (2, 3):
        with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refused:
            bound(cluster.nodes[number]).modify_s(SUBSCHEMA, GONE)
        assert f"cn=wine,{CLUSTER_SUFFIX}" in refused.value.args[0]["info"]
    bound(cluster.nodes[2]).delete_s(f"cn=wine,{CLUSTER_SUFFIX}")
    bound(cluster.nodes[3]).modify_s(SUBSCHEMA, GONE)
    for number in (3, 1, 2):
        bound(cluster.nodes[number]).add_s(*thing("smell", f"rose{number}", "good", CLUSTER_SUFFIX))
        assert names(bound(cluster.nodes[number])) == ["smell"]
    cluster.kill(2)
    other = f"( {ARC}.2.1 NAME ( 'smell' 'odour' ) DESC 'changed' SUP name )"
    bound(cluster.nodes[3]).modify_s(SUBSCHEMA, changed("attributeTypes", f"( {ARC}.2.1 NAME 'smell' SUP name )", other))
    cluster.start(2)
    cluster.wait_for_safety(1)
    cluster.nodes[2].modify(addition("taste", 1))
    cluster.join(4, at=2)
    for number, node in cluster.nodes.items():
        bound(node).add_s(*thing("taste", f"t{number}", "dry", CLUSTER_SUFFIX))
        assert len(found(bound(node), "(odour=good)", CLUSTER_SUFFIX)) == 3
        assert names(bound(node)) == ["smell", "taste"]


def ldapadd(server, path, code=0):
    return run("ldapadd", *server.admin, "-f", path, code=code)


WINES = "cn={5}wines,cn=schema,cn=config"
PORT = f"dn: cn=port,{SUFFIX}\nobjectClass: wine\ncn: port\nyear: 1970\n"


def test_ldapadd_of_a_file_in_openldaps_form(keep):
    here = keep(ldif="people.ldif")
    ldapadd(here, DATA / "wines.ldif")
    run("ldapadd", *here.admin, stdin=PORT)
    # ldapadd tells the same of the file again as of the first time: nothing is left to be done.
    ldapadd(here, DATA / "wines.ldif")
    for ends in (False, True, False):
        here.end() if ends else here.kill()
        here = keep()
        assert found(connect(here), "(year=01970)") == [f"cn=port,{SUFFIX}"]
        here.modify(f"dn: cn=port,{SUFFIX}\nchangetype: modify\nadd: description\ndescription: x\n", code=65)
        ldapadd(here, DATA / "wines.ldif")
    # A modify of the entry, as OpenLDAP's guides show it.
    change = (f"dn: {WINES}\nchangetype: modify\ndelete: olcDitContentRules\n"
              f"olcDitContentRules: {{0}}( {ARC}.7.2.1 NAME 'wineRule' )\n-\n"
              f"add: olcObjectIdentifier\nolcObjectIdentifier: W {ARC}.7\n-\n"
              "add: olcAttributeTypes\nolcAttributeTypes: {1}( W:1.2 NAME 'grape' SUP name )\n")
    here.modify(change)
    here.modify(f"dn: cn=port,{SUFFIX}\nchangetype: modify\nadd: description\ndescription: x\n")
    assert names(connect(here), arc=f"{ARC}.7.1") == ["grape", "year"]
    here.kill()
    here = keep()
    assert names(connect(here), arc=f"{ARC}.7.1") == ["grape", "year"]
    assert "cn=Subschema" in here.modify(f"dn: {WINES}\nchangetype: delete\n", code=53).err


def test_what_tools_find_of_it(server):
    here = server("--access-rule", 'config: subtree="cn=config"; dn="uid=ada,ou=People,dc=example,dc=com"; allow=see', ldif="people.ldif")
    base = "cn=schema,cn=config"
    ldapadd(here, DATA / "wines.ldif")
    for scope, count in (("base", 1), ("sub", 1), ("one", 0)):
        out = here.search("-b", base, "-s", scope, "cn")
        assert out.dns == [base] * count
    here.search("-b", WINES, "-s", "base", code=32)
    # Others neither see it nor change it.
    plain = ["-x", "-H", here.url]
    run("ldapsearch", *plain, "-b", base, "-s", "base", code=32)
    assert "Insufficient access" in run("ldapadd", *plain, "-f", DATA / "wines.ldif", code=50).err


@needs_openldap
@pytest.mark.parametrize("name", ["cosine", "inetorgperson", "nis", "dyngroup", "collective", "openldap", "namedobject",
                                  "java", "corba", "duaconf", "misc", "dsee", "msuser"])
def test_ldapadd_of_openldaps_files(server, name):
    """Those of which all is built in, and those that bring something new."""
    here = server(ldif=None)
    if name == "java":
        ldapadd(here, OPENLDAP / "corba.ldif")
    ldapadd(here, OPENLDAP / f"{name}.ldif")
    ldapadd(here, OPENLDAP / f"{name}.ldif")


@needs_openldap
def test_files_with_syntaxes_that_the_program_lacks_are_refused(server):
    here = server(ldif=None)
    assert "syntaxes come with the program" in ldapadd(here, OPENLDAP / "pmi.ldif", code=53).err
    # It has that of presentationAddress, which nothing here uses.
    assert "syntax 1.3.6.1.4.1.1466.115.121.1.43 is not known" in ldapadd(here, OPENLDAP / "core.ldif", code=19).err


def test_openldaps_form_at_any_node(cluster):
    three(cluster)
    run("ldapadd", "-x", "-H", cluster.nodes[3].url, "-D", ROOT, "-w", SECRET, "-f", DATA / "wines.ldif")
    for number in (1, 2, 3):
        node = cluster.nodes[number]
        bound(node).add_s(f"cn=w{number},{CLUSTER_SUFFIX}", [("objectClass", [b"wine"]), ("cn", [f"w{number}".encode()]), ("year", [b"1970"])])
        run("ldapadd", "-x", "-H", node.url, "-D", ROOT, "-w", SECRET, "-f", DATA / "wines.ldif")
    cluster.kill(2)
    cluster.start(2)
    cluster.wait_for_safety(1)
    assert len(found(bound(cluster.nodes[2]), "(year=1970)", CLUSTER_SUFFIX)) == 3


@pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")
def test_unboundids_ldapmodify(server):
    here = server()
    head = f"dn: {SUBSCHEMA}\nchangetype: modify\n"
    tool(f"{TOOLS}.LDAPModify", here, stdin=addition("taste", 1))
    form = f"nameForms: ( {ARC}.1.3 NAME 'tasteForm' OC tasteThing MUST taste )\n"
    tool(f"{TOOLS}.LDAPModify", here, stdin=head + "add: nameForms\n" + form)
    done = tool(f"{TOOLS}.LDAPModify", here, code=53, stdin=head + f"delete: objectClasses\nobjectClasses: {THING}\n")
    assert "the name form 'tasteForm'" in done.said
    gone = head + "delete: nameForms\n" + form + f"-\ndelete: objectClasses\nobjectClasses: {THING}\n-\ndelete: attributeTypes\nattributeTypes: {TASTE}\n"
    tool(f"{TOOLS}.LDAPModify", here, stdin=gone)
    assert names(connect(here)) == []
