"""The schema that the server publishes, in the hands of readers that are strict: the UnboundID SDK and the LDAP API of Apache
Directory take all of it, with every file that comes with the server and with the largest of OpenLDAP's.
"""

import os
import re
from pathlib import Path

import pytest

from conftest import ADMIN, DATA, SECRET, SUFFIX, run
from test_unboundid import JAR

OPENLDAP = Path(os.environ.get("OPENLDAP_SCHEMA", ""))
# Those of OpenLDAP's files that are tried.
OF_OPENLDAP = ["msuser", "dsee"]
# A file in the form of `cn=schema,cn=config`, with a content rule, macros and numbers.
WINES = "wines"
# A file with name forms and structure rules.
TREE = "tree"
# Built-in files beside those that are always there, OpenLDAP's, and that one.
SETS = [[], ["dvtds"], [WINES, TREE], ["rfc2307bis"], ["dyngroup", "dvtds", "rfc2307bis"], *([name] for name in OF_OPENLDAP), OF_OPENLDAP]

needs_java = pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")
needs_openldap = pytest.mark.skipif(not (OPENLDAP / "msuser.ldif").is_file(), reason="no OpenLDAP schema; .ci/packages fetches it")


def openldap(name, kind="ldif"):
    """The path of one of OpenLDAP's files."""
    if not (OPENLDAP / f"{name}.ldif").is_file():
        pytest.skip("no OpenLDAP schema; .ci/packages fetches it")
    return OPENLDAP / f"{name}.{kind}"


def files(names):
    """What the server is told of them."""
    own = {WINES: DATA / "wines.ldif", TREE: DATA / "tree.schema"}
    place = lambda name: openldap(name) if name in OF_OPENLDAP else own.get(name, name)
    return [word for name in names for word in ("--schema", place(name))]


def published(server):
    """The subschema subentry as LDIF, one line a value."""
    return run("ldapsearch", "-x", "-H", server.url, "-LLL", "-o", "ldif_wrap=no", "-b", "cn=Subschema", "-s", "base",
               "(objectClass=subschema)", "*", "+").out


def definitions(text, attribute):
    """The definitions of one kind in LDIF."""
    lines = re.sub(r"\n ", "", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()
    return [line.split(":", 1)[1].strip() for line in lines if line.lower().startswith(f"{attribute.lower()}:")]


def known(definition, macros):
    """A definition's OID, macros resolved, and its names."""
    oid, names = re.match(r"\(\s*(\S+)\s+NAME\s+\(?\s*((?:'[^']*'\s*)+)", definition).groups()
    while not oid[0].isdigit():
        first, colon, rest = oid.partition(":")
        oid = macros[first.lower()] + colon + rest
    return oid.replace(":", "."), {name.lower() for name in re.findall("'([^']*)'", names)}


@needs_java
@pytest.mark.parametrize("names", SETS, ids="+".join)
def test_unboundid_takes_it(server, tmp_path, names):
    text = published(server(*files(names), ldif=None))
    (tmp_path / "schema.ldif").write_text(text.strip() + "\n")
    # As strict as it is by itself: order, names, numbers of OIDs, what definitions refer to.
    run("java", "-cp", JAR, "com.unboundid.ldap.sdk.schema.ValidateLDAPSchema", "--schema-path", tmp_path / "schema.ldif")


@needs_java
@pytest.mark.parametrize("names", SETS, ids="+".join)
def test_apaches_api_takes_it(server, names):
    here = server(*files(names), ldif=None)
    out = run("java", "-XX:TieredStopAtLevel=1", "-cp", Path(JAR).parent / "*", DATA / "ApacheSchema.java", here.port, ADMIN,
              SECRET, timeout=120).out
    text = published(here)
    counts = [len(definitions(text, attribute)) for attribute in ("attributeTypes", "objectClasses")]
    # It has each of them, and nothing to say.
    assert out == f"loaded {counts[0]} {counts[1]}\n", out


def test_content_rules_of_a_file_in_openldaps_form(keep):
    wine = f"dn: cn=port,{SUFFIX}\nobjectClass: wine\ncn: port\nyear: 1970\n"
    here = keep(*files([WINES]), ldif="people.ldif")
    run("ldapadd", *here.admin, stdin=wine.replace("year: 1970\n", ""), code=65)
    out = run("ldapadd", *here.admin, stdin=wine + "description: old\n", code=65).err
    assert "the content rule of 'wine' precludes attribute 'description'" in out
    run("ldapadd", *here.admin, stdin=wine.replace("cn: port", "objectClass: uidObject\nuid: x\ncn: port"), code=65)
    run("ldapadd", *here.admin, stdin=wine)
    shown = ["( 1.3.6.1.4.1.99999.7.2.1 NAME 'wineRule' AUX labeledURIObject MUST year NOT description )"]
    assert definitions(published(here), "dITContentRules") == shown
    here.kill()
    # They are recorded: the log is replayed by them, and a start needs no file.
    here = keep()
    here.modify(f"dn: cn=port,{SUFFIX}\nchangetype: modify\ndelete: year\n", code=65)
    here.modify(f"dn: cn=port,{SUFFIX}\nchangetype: modify\nadd: objectClass\nobjectClass: labeledURIObject\n")
    assert definitions(published(here), "dITContentRules") == shown


def test_structure_rules_hold_for_an_import_and_after_a_kill(keep):
    here = keep("--schema", DATA / "tree.schema", ldif="people.ldif")
    ada, people = f"uid=ada,ou=People,{SUFFIX}", f"ou=People,{SUFFIX}"
    assert "governingStructureRule: 3\n" in here.search("-b", ada, "-s", "base", "governingStructureRule").out
    here.modify(f"dn: {ada}\nchangetype: modrdn\nnewrdn: cn=ada\ndeleteoldrdn: 0\n", code=64)
    out = here.modify(f"dn: {ada}\nchangetype: modrdn\nnewrdn: uid=ada\ndeleteoldrdn: 1\nnewsuperior: {SUFFIX}\n", code=64).err
    assert "no structure rule allows an entry of object class 'inetOrgPerson' with an RDN of 'uid' here" in out
    here.kill()
    here = keep()
    run("ldapadd", *here.admin, stdin=f"dn: ou=x,{people}\nobjectClass: organizationalUnit\nou: x\n", code=64)
    shown = [len(definitions(published(here), attribute)) for attribute in ("nameForms", "dITStructureRules")]
    assert shown == [5, 5]


@needs_openldap
@pytest.mark.parametrize("kind", ["ldif", "schema"])
def test_the_whole_of_msuser_is_read(server, kind):
    """Every definition of it is published."""
    is_whole(server("--schema", openldap("msuser", kind)), "msuser")


@needs_openldap
def test_the_whole_of_dsee_is_read(server):
    """Its `.schema` has a fault of spelling, at which OpenLDAP stops too; its `.ldif` has none."""
    is_whole(server("--schema", openldap("dsee")), "dsee")


def is_whole(server, name):
    file, text = openldap(name).read_text(), published(server)
    macros = {word.split()[0].lower(): word.split()[1] for word in definitions(file, "olcObjectIdentifier")}
    for attribute in ("attributeTypes", "objectClasses"):
        shown = dict(known(definition, {}) for definition in definitions(text, attribute) if " NAME " in definition)
        wanted = [known(definition, macros) for definition in definitions(file, f"olc{attribute}")]
        assert wanted
        missing = [(oid, names) for oid, names in wanted if not names <= shown.get(oid, set())]
        assert not missing, missing[:3]


@needs_openldap
def test_entries_of_openldaps_classes(server):
    here = server(*files(OF_OPENLDAP))
    user = (f"dn: cn=Eve,{SUFFIX}\nobjectClass: user\ncn: Eve\nsn: Eve\nobjectCategory: cn=Person\ninstanceType: 4\n"
            "nTSecurityDescriptor: none\npwdLastSet: 131907891370000000\nuserAccountControl: 512\n")
    run("ldapadd", *here.admin, stdin=user)
    other = user.replace("Eve", "Mallory")
    run("ldapadd", *here.admin, stdin=other.replace("512", "no number"), code=21)
    run("ldapadd", *here.admin, stdin=other.replace("instanceType: 4\n", ""), code=65)
    assert here.search("-b", SUFFIX, "(objectClass=mstop)", "1.1").dns == [f"cn=Eve,{SUFFIX}"]
