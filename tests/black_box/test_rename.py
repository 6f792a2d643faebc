"""Modify DN (RFC 4511 section 4.9) and increment (RFC 4525), with every way to be refused and what is left behind."""

import ldap
import pytest

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX

ADA = f"uid=ada,{PEOPLE}"
EMPTY = f"ou=Empty,{SUFFIX}"
GROUPS = f"ou=Groups,{SUFFIX}"


@pytest.fixture
def connection(fresh):
    connection = ldap.initialize(fresh.url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.simple_bind_s(ADMIN, SECRET)
    return connection


def entry(connection, dn, *attributes):
    """An entry's attributes."""
    return connection.search_s(dn, ldap.SCOPE_BASE, attrlist=list(attributes))[0][1]


def everything(connection):
    """All there is, as it may be compared."""
    return {dn: {name: sorted(values) for name, values in attributes.items()}
            for dn, attributes in connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["*", "+"])}


@pytest.mark.parametrize("dn, rdn, superior, old, refusal, says, matched", [
    (PEOPLE, "ou=People", ADA, 1, ldap.UNWILLING_TO_PERFORM, "below itself", ""),
    (PEOPLE, "ou=People", PEOPLE, 1, ldap.UNWILLING_TO_PERFORM, "below itself", ""),
    (SUFFIX, "dc=example", PEOPLE, 1, ldap.LDAPError, "", ""),
    (ADA, "uid=ada", f"ou=None,{SUFFIX}", 1, ldap.NO_SUCH_OBJECT, "", SUFFIX),
    (ADA, "uid=ada", f"cn=x,ou=None,{PEOPLE}", 1, ldap.NO_SUCH_OBJECT, "", PEOPLE),
    (ADA, "uid=ada", "dc=elsewhere", 1, (ldap.NO_SUCH_OBJECT, ldap.AFFECTS_MULTIPLE_DSAS), SUFFIX, ""),
    (f"uid=none,{PEOPLE}", "uid=x", None, 1, ldap.NO_SUCH_OBJECT, "", PEOPLE),
    (ADA, "uid=bruno", None, 1, ldap.ALREADY_EXISTS, "", ""),
    (f"cn=staff,{GROUPS}", "cn=UNIX", None, 1, ldap.ALREADY_EXISTS, "", ""),
    (f"cn=staff,{GROUPS}", "description=x", None, 1, ldap.OBJECT_CLASS_VIOLATION, "cn", ""),
    (ADA, "c=DE", None, 0, ldap.OBJECT_CLASS_VIOLATION, "c", ""),
    (ADA, "uidNumber=many", None, 0, (ldap.INVALID_DN_SYNTAX, ldap.INVALID_SYNTAX), "uidNumber", ""),
    (ADA, "uidNumber=5", None, 0, (ldap.CONSTRAINT_VIOLATION,), "uidNumber", ""),
    (ADA, "noSuchType=x", None, 0, (ldap.INVALID_DN_SYNTAX, ldap.UNDEFINED_TYPE, ldap.NAMING_VIOLATION), "noSuchType", ""),
    (ADA, "entryUUID=597ae2f6-16a6-1027-98f4-d28b5365dc14", None, 0, (ldap.NAMING_VIOLATION, ldap.CONSTRAINT_VIOLATION), "entryUUID", ""),
    (ADA, "uid=a+uid=b", None, 1, (ldap.NAMING_VIOLATION, ldap.INVALID_DN_SYNTAX), "uid", ""),
    (ADA, "uid=a,ou=b", None, 1, (ldap.INVALID_DN_SYNTAX, ldap.PROTOCOL_ERROR), "", ""),
    (ADA, "nothing", None, 1, ldap.INVALID_DN_SYNTAX, "", ""),
])
def test_refused_and_nothing_changed(connection, dn, rdn, superior, old, refusal, says, matched):
    before = everything(connection)
    with pytest.raises(refusal) as caught:
        connection.rename_s(dn, rdn, superior, old)
    assert not isinstance(caught.value, ldap.SERVER_DOWN)
    told = caught.value.args[0]
    assert told.get("info") and says in told["info"], told
    assert told.get("matched", "") == matched, told
    assert everything(connection) == before


def test_what_the_flag_does(connection):
    # 1: the old name's values go, unless the new name has them; 0: they stay.
    connection.rename_s(ADA, "uid=eve", delold=0)
    eve = f"uid=eve,{PEOPLE}"
    assert sorted(entry(connection, eve, "uid")["uid"]) == [b"ada", b"eve"]
    connection.rename_s(eve, "uid=eve+cn=Ada", delold=1)
    assert sorted(entry(connection, f"cn=ada+uid=EVE,{PEOPLE}", "uid", "cn")["cn"]) == [b"Ada", b"Ada Okafor"]
    connection.rename_s(f"cn=Ada+uid=eve,{PEOPLE}", "cn=Ada Okafor", delold=1)
    found = entry(connection, f"cn=Ada Okafor,{PEOPLE}", "uid", "cn")
    assert found == {"uid": [b"ada"], "cn": [b"Ada Okafor"]}
    # The last value of what the class demands cannot go with the name.
    connection.rename_s(f"cn=Ada Okafor,{PEOPLE}", "uid=ada", delold=0)
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        entry(connection, f"cn=Ada Okafor,{PEOPLE}")


def test_the_same_name_in_other_letters(connection):
    before = entry(connection, ADA, "entryUUID", "uidNumber")
    connection.rename_s(ADA, "UID=ADA", delold=1)
    [(dn, attributes)] = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["uid", "entryDN"])
    assert dn.lower() == ADA.lower() and attributes["uid"] == [b"ADA"] and attributes["entryDN"] == [dn.encode()]
    assert entry(connection, ADA, "entryUUID", "uidNumber") == before


def test_a_subtree_moves_with_all_that_is_known_of_it(connection):
    uuids = {dn: attributes["entryUUID"] for dn, attributes in connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, attrlist=["entryUUID"])}
    connection.rename_s(PEOPLE, "ou=Staff", EMPTY, 1)
    moved = f"ou=Staff,{EMPTY}"
    after = {dn: attributes["entryUUID"] for dn, attributes in connection.search_s(moved, ldap.SCOPE_SUBTREE, attrlist=["entryUUID"])}
    assert {dn.replace(PEOPLE, moved): uuid for dn, uuid in uuids.items()} == after
    for dn, uuid in after.items():
        [(found, _)] = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(entryUUID={uuid[0].decode()})", ["1.1"])
        assert found == dn
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(entryDN=uid=ada,{moved})", ["1.1"]) == [(f"uid=ada,{moved}", {})]
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(entryDN={ADA})", ["1.1"]) == []
    assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(ou:dn:=staff)", ["1.1"])) == 4
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(ou:dn:=people)", ["1.1"]) == []
    for dn, has, count in ((EMPTY, b"TRUE", b"1"), (moved, b"TRUE", b"3"), (SUFFIX, b"TRUE", b"2")):
        assert entry(connection, dn, "hasSubordinates", "numSubordinates") == {"hasSubordinates": [has], "numSubordinates": [count]}
    # Back again, into a place of the same name.
    connection.rename_s(moved, "ou=People", SUFFIX, 1)
    assert len(connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, attrlist=["1.1"])) == 3
    assert entry(connection, EMPTY, "hasSubordinates") == {"hasSubordinates": [b"FALSE"]}


def test_counts_follow_every_change(connection):
    def leaves():
        found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(&(objectClass=organizationalUnit)(hasSubordinates=FALSE))", ["1.1"])
        counted = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(&(objectClass=organizationalUnit)(numSubordinates=0))", ["1.1"])
        assert found == counted
        return sorted(dn for dn, _ in found)

    assert leaves() == [EMPTY]
    connection.add_s(f"ou=a,{EMPTY}", [("objectClass", [b"organizationalUnit"]), ("ou", [b"a"])])
    assert leaves() == [f"ou=a,{EMPTY}"]
    connection.rename_s(f"ou=a,{EMPTY}", "ou=a", SUFFIX)
    assert leaves() == sorted([EMPTY, f"ou=a,{SUFFIX}"])
    connection.delete_s(f"ou=a,{SUFFIX}")
    assert leaves() == [EMPTY]
    assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(numSubordinates>=3)", ["1.1"])) == 2


# Increment


@pytest.mark.parametrize("values, by, after", [
    ([b"5"], b"1", [b"6"]), ([b"5"], b"-7", [b"-2"]), ([b"0"], b"0", [b"0"]), ([b"-1"], b"1", [b"0"]),
    ([b"9" * 30], b"1", [b"1" + b"0" * 30]), ([b"-" + b"9" * 30], b"-1", [b"-1" + b"0" * 30]),
    ([b"1"], b"-1" + b"0" * 30, [b"-" + b"9" * 30]),
])
def test_increment(connection, values, by, after):
    connection.modify_s(ADA, [(ldap.MOD_REPLACE, "uidNumber", values)])
    connection.modify_s(ADA, [(ldap.MOD_INCREMENT, "uidNumber", [by])])
    assert entry(connection, ADA, "uidNumber")["uidNumber"] == after
    assert connection.compare_s(ADA, "uidNumber", after[0])


@pytest.mark.parametrize("change, refusal", [
    (("uidNumber", [b"1", b"2"]), ldap.PROTOCOL_ERROR),
    (("uidNumber", []), ldap.PROTOCOL_ERROR),
    (("uidNumber", [b"one"]), (ldap.CONSTRAINT_VIOLATION, ldap.INVALID_SYNTAX)),
    (("uidNumber", [b"1.5"]), (ldap.CONSTRAINT_VIOLATION, ldap.INVALID_SYNTAX)),
    (("uid", [b"1"]), ldap.CONSTRAINT_VIOLATION),
    (("shadowMax", [b"1"]), (ldap.NO_SUCH_ATTRIBUTE, ldap.OBJECT_CLASS_VIOLATION)),
    (("noSuchType", [b"1"]), ldap.UNDEFINED_TYPE),
    (("numSubordinates", [b"1"]), ldap.CONSTRAINT_VIOLATION),
])
def test_increment_is_refused_and_nothing_changed(connection, change, refusal):
    before = everything(connection)
    with pytest.raises(refusal) as caught:
        connection.modify_s(ADA, [(ldap.MOD_REPLACE, "title", [b"x"]), (ldap.MOD_INCREMENT, *change)])
    assert caught.value.args[0].get("info")
    assert everything(connection) == before


def test_numbers_beyond_128_bits_are_kept_but_not_incremented(connection):
    huge = b"9" * 40
    connection.modify_s(ADA, [(ldap.MOD_REPLACE, "uidNumber", [huge])])
    assert connection.compare_s(ADA, "uidNumber", huge)
    with pytest.raises(ldap.CONSTRAINT_VIOLATION) as caught:
        connection.modify_s(ADA, [(ldap.MOD_INCREMENT, "uidNumber", [b"1"])])
    assert "uidNumber" in caught.value.args[0]["info"]
    assert entry(connection, ADA, "uidNumber")["uidNumber"] == [huge]


def test_every_value_is_incremented(fresh, tmp_path, server):
    file = tmp_path / "own.schema"
    file.write_text("attributetype ( 1.3.6.1.4.1.55555.1.9 NAME 'level' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n")
    here = server("--schema", file, "--index", "level:eq")
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    connection.modify_s(EMPTY, [(ldap.MOD_ADD, "objectClass", [b"extensibleObject"]), (ldap.MOD_ADD, "level", [b"1", b"2", b"9"])])
    connection.modify_s(EMPTY, [(ldap.MOD_INCREMENT, "level", [b"1"]), (ldap.MOD_INCREMENT, "level", [b"10"])])
    assert sorted(entry(connection, EMPTY, "level")["level"]) == [b"12", b"13", b"20"]
    found = [len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(level={value})", ["1.1"])) for value in (1, 2, 9, 11, 12, 13, 20)]
    assert found == [0, 0, 0, 0, 1, 1, 1]
