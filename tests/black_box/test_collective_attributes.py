"""Collective attributes (RFC 3671) by python-ldap: entries show what a subentry has, in answers, filters, compares and orders, also of a server that was killed
meanwhile."""

import ldap
import pytest
from ldap.controls.sss import SSSRequestControl

from conftest import PEOPLE, SUFFIX, connect

ADA = f"uid=ada,{PEOPLE}"
BRUNO = f"uid=bruno,{PEOPLE}"
OFFICE = f"cn=paris office,{PEOPLE}"
SUBENTRY = [
    ("objectClass", [b"subentry", b"collectiveAttributeSubentry"]),
    ("subtreeSpecification", [b"{ minimum 1, specificationFilter item:inetOrgPerson }"]),
    ("c-l", [b"Paris"]),
    ("c-TelephoneNumber", [b"+33 1 23 45 67 89"]),
]


def read(client, name, *attributes):
    return client.search_s(name, ldap.SCOPE_BASE, attrlist=list(attributes))[0][1]


def found(client, text):
    return {name for name, _ in client.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"])}


def test_entries_show_what_the_subentry_has(keep):
    here = keep(ldif="people.ldif")
    client = connect(here)
    people = found(client, "(objectClass=inetOrgPerson)")
    assert found(client, "(c-l=*)") == set() and "c-l" not in read(client, ADA)
    client.add_s(OFFICE, SUBENTRY)
    for _ in range(2):
        shown = read(client, ADA, "l", "telephoneNumber")
        assert shown["c-l"] == [b"Paris"] and shown["c-TelephoneNumber"] == [b"+33 1 23 45 67 89"]
        assert shown["telephoneNumber"] == [b"+49 30 5550 100"]
        assert read(client, ADA, "*")["c-l"] == [b"Paris"]
        assert read(client, ADA, "+")["collectiveAttributeSubentries"] == [OFFICE.encode()]
        assert "c-l" not in read(client, PEOPLE)
        for text in ("(c-l=paris)", "(l=PARIS)", "(c-l=p*)", "(&(objectClass=*)(c-telephoneNumber=+331-23456789))"):
            assert found(client, text) == people, text
        assert found(client, "(&(objectClass=inetOrgPerson)(!(l=paris)))") == set()
        assert client.compare_s(ADA, "c-l", b"paris") and not client.compare_s(ADA, "c-l", b"Rome")
        with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
            client.compare_s(PEOPLE, "c-l", b"Paris")
        # The second time it is what the log says.
        here.kill()
        here = keep()
        client = connect(here)
    # One entry excludes an attribute, another all of them.
    client.modify_s(ADA, [(ldap.MOD_ADD, "collectiveExclusions", [b"c-l"])])
    client.modify_s(BRUNO, [(ldap.MOD_ADD, "collectiveExclusions", [b"excludeAllCollectiveAttributes"])])
    assert found(client, "(c-l=paris)") == people - {ADA, BRUNO}
    assert found(client, "(c-TelephoneNumber=*)") == people - {BRUNO}
    client.modify_s(OFFICE, [(ldap.MOD_REPLACE, "c-l", [b"Rome"])])
    assert found(client, "(l=rome)") == people - {ADA, BRUNO} and found(client, "(l=paris)") == set()
    client.delete_s(OFFICE)
    assert found(client, "(c-TelephoneNumber=*)") == set()


def test_they_are_stored_in_subentries_alone(server):
    client = connect(server())
    for changes in ([(ldap.MOD_ADD, "c-l", [b"Rome"])], [(ldap.MOD_ADD, "objectClass", [b"extensibleObject"]), (ldap.MOD_ADD, "c-l", [b"Rome"])]):
        with pytest.raises(ldap.OBJECT_CLASS_VIOLATION) as refused:
            client.modify_s(ADA, changes)
        assert "collectiveAttributeSubentry" in refused.value.args[0]["info"]
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        client.modify_s(ADA, [(ldap.MOD_ADD, "collectiveAttributeSubentries", [OFFICE.encode()])])


def test_they_are_sorted_by(server):
    client = connect(server())
    for name, city in (("ada", b"Zagreb"), ("bruno", b"Aachen")):
        office = dict(SUBENTRY, subtreeSpecification=[f'{{ base "uid={name}" }}'.encode()])
        office["c-l"] = [city]
        client.add_s(f"cn={name},{PEOPLE}", list(office.items()))
    for by, expected in (("c-l", [BRUNO, ADA]), ("-l", [ADA, BRUNO])):
        control = SSSRequestControl(criticality=True, ordering_rules=[by])
        text = "(|(uid=ada)(uid=bruno))"
        asked = client.search_ext(PEOPLE, ldap.SCOPE_ONELEVEL, text, ["1.1"], serverctrls=[control])
        assert [name for name, _ in client.result(asked)[1]] == expected, by
