"""Row A6 with real clients: rules on values. One joins and leaves a list oneself, and nobody else; a value that may not be seen is there for no
read, filter, compare or assertion, with an index on the attribute and without.
"""

import ldap
import pytest
from conftest import PEOPLE, SUFFIX, connect

LIST = f"cn=list,{SUFFIX}"
ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORDS = {ADA: "ada's password", BRUNO: "bruno's password"}
ROOM = f"cn=room,{SUFFIX}"
# Of each kind of attribute: text, number with an order, name.
RULES = (
    f'join: base="{LIST}" attrs=member values=self op=modify; users; allow=add,delete',
    'hidden-text: all attrs=description values="(description=vault*)"; users; deny=see rank=5',
    'hidden-number: all attrs=uidNumber values="(uidNumber=77)"; users; deny=see rank=5',
    f'hidden-name: base="{ROOM}" attrs=seeAlso values=self; users; deny=see rank=5',
    f'hidden-rdn: all attrs=cn values="(cn=room)"; dn="{BRUNO}"; deny=see rank=5',
)
CLASSES = [b"device", b"extensibleObject"]


@pytest.fixture(params=["", "description:eq,sub,pres", "description:eq,sub,pres;uidNumber:eq,ord;seeAlso:eq,pres;cn:eq"])
def here(request, server):
    rules = [argument for rule in RULES for argument in ("--access-rule", rule)]
    indexes = [argument for index in filter(None, request.param.split(";")) for argument in ("--index", index)]
    here = server(*rules, *indexes)
    admin = connect(here)
    admin.add_s(LIST, [("objectClass", b"groupOfNames"), ("member", BRUNO.encode())])
    room = {"description": [b"Vault of the North", b"open room"], "uidNumber": [b"77"], "seeAlso": [ADA.encode(), f"cn=other,{SUFFIX}".encode()]}
    admin.add_s(ROOM, [("objectClass", CLASSES), *room.items()])
    # The same, but that there is nothing to hide.
    admin.add_s(f"cn=twin,{SUFFIX}", [("objectClass", CLASSES), ("description", b"open room"), ("seeAlso", f"cn=other,{SUFFIX}".encode())])
    yield here


def names(client, text):
    found = client.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(&(objectClass=device){text})", ["1.1"])
    return {dn.split(",")[0].removeprefix("cn=") for dn, _ in found}


BOTH = {"room", "twin"}
# A filter, what the administrator finds, what ada finds: what she would find if the hidden values were not there.
FILTERS = (
    ("(description=vault of the north)", {"room"}, set()),
    ("(description=*north)", {"room"}, set()),
    ("(description=vau*)", {"room"}, set()),
    ("(description=open room)", BOTH, BOTH),
    ("(description=*)", BOTH, BOTH),
    ("(!(description=vault*))", {"twin"}, BOTH),
    ("(description:caseExactMatch:=Vault of the North)", {"room"}, set()),
    ("(:caseIgnoreMatch:=vault of the north)", {"room"}, set()),
    ("(|(description=vault*)(cn=twin))", BOTH, {"twin"}),
    ("(uidNumber=77)", {"room"}, set()),
    ("(uidNumber>=70)", {"room"}, set()),
    ("(uidNumber<=80)", {"room"}, set()),
    ("(uidNumber=*)", {"room"}, set()),
    ("(!(uidNumber>=70))", {"twin"}, BOTH),
    (f"(seeAlso={ADA})", {"room"}, set()),
    (f"(seeAlso={ADA.upper()})", {"room"}, set()),
    (f"(distinguishedName={ADA})", {"room"}, set()),
    (f"(seeAlso=cn=other,{SUFFIX})", BOTH, BOTH),
    ("(seeAlso=*)", BOTH, BOTH),
)


def test_a6_filters_see_no_forbidden_value(here):
    admin, ada = connect(here), connect(here, ADA, WORDS[ADA])
    for text, by_admin, by_ada in FILTERS:
        assert names(admin, text) == by_admin, text
        assert names(ada, text) == by_ada, text


def test_a6_names_of_entries_are_values_too(here):
    bruno, ada = connect(here, BRUNO, WORDS[BRUNO]), connect(here, ADA, WORDS[ADA])
    for text in ("(cn=room)", "(cn:dn:=room)", "(:dn:caseIgnoreMatch:=room)", "(name=room)", "(cn=ro*)"):
        assert names(ada, text) == {"room"}, text
        assert names(bruno, text) == set(), text
    assert names(bruno, "(cn:dn:=twin)") == {"twin"}
    assert names(bruno, "(!(cn:dn:=room))") == BOTH


def test_a6_reads_and_compares_see_no_forbidden_value(here):
    ada, bruno = connect(here, ADA, WORDS[ADA]), connect(here, BRUNO, WORDS[BRUNO])
    read = lambda client: client.search_s(ROOM, ldap.SCOPE_BASE)[0][1]
    assert read(ada)["description"] == [b"open room"] and "uidNumber" not in read(ada)
    assert read(ada)["seeAlso"] == [f"cn=other,{SUFFIX}".encode()]
    assert set(read(bruno)["seeAlso"]) == {ADA.encode(), f"cn=other,{SUFFIX}".encode()}
    # One answer for a forbidden value that is there and one that is not.
    for entry in (ROOM, f"cn=twin,{SUFFIX}"):
        for value in (b"vault of the north", b"VAULT 2"):
            with pytest.raises(ldap.INSUFFICIENT_ACCESS):
                ada.compare_s(entry, "description", value)
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            ada.compare_s(entry, "uidNumber", b"77")
    assert ada.compare_s(ROOM, "description", b"OPEN room") is True
    assert ada.compare_s(ROOM, "description", b"closed room") is False


def test_a6_an_assertion_sees_no_forbidden_value(here):
    from ldap.controls.libldap import AssertionControl

    ada = connect(here, ADA, WORDS[ADA])
    search = lambda text: ada.search_ext_s(ROOM, ldap.SCOPE_BASE, serverctrls=[AssertionControl(True, text)])
    assert search("(description=open room)") and search("(!(description=vault*))")
    for text in ("(description=vault*)", "(uidNumber=*)", f"(seeAlso={ADA})"):
        with pytest.raises(ldap.ASSERTION_FAILED):
            search(text)


def test_a6_one_joins_and_leaves_oneself(here):
    ada, bruno = connect(here, ADA, WORDS[ADA]), connect(here, BRUNO, WORDS[BRUNO])
    change = lambda client, kind, *who: client.modify_s(LIST, [(kind, "member", [name.encode() for name in who])])
    change(ada, ldap.MOD_ADD, ADA.replace("uid", "UID").replace(",", " , "))
    for kind, who in ((ldap.MOD_ADD, [f"uid=x,{PEOPLE}"]), (ldap.MOD_DELETE, [BRUNO]), (ldap.MOD_DELETE, [ADA, BRUNO]), (ldap.MOD_REPLACE, [ADA])):
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            change(ada, kind, *who)
    change(ada, ldap.MOD_DELETE, ADA)
    change(ada, ldap.MOD_ADD, ADA)
    change(bruno, ldap.MOD_DELETE, BRUNO)
    assert connect(here).compare_s(LIST, "member", ADA.encode()) is True
