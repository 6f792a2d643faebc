"""Aliases and referral objects, as clients meet them."""

import ldap
import pytest

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, run

ADA = f"uid=ada,{PEOPLE}"
STAFF = f"ou=Staff,{SUFFIX}"
ELSEWHERE = f"ou=Elsewhere,{SUFFIX}"
EXTENSIBLE = b"extensibleObject"


@pytest.fixture
def here(fresh):
    """A server with an alias of the people and a referral object, both added by a client."""
    connection = connect(fresh)
    connection.add_s(STAFF, [("objectClass", [b"alias", EXTENSIBLE]), ("aliasedObjectName", [PEOPLE.encode()])])
    connection.add_s(ELSEWHERE, [("objectClass", [b"referral", EXTENSIBLE]), ("ref", [b"ldap://other.test/o=x%20y"])])
    return fresh


def connect(server):
    connection = ldap.initialize(server.url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.set_option(ldap.OPT_REFERRALS, 0)
    connection.simple_bind_s(ADMIN, SECRET)
    return connection


def search(server, *arguments, code=0):
    return run("ldapsearch", "-x", "-LLL", "-o", "ldif-wrap=no", "-H", server.url, "-D", ADMIN, "-w", SECRET, *arguments, code=code)


@pytest.mark.parametrize("deref, found", [("never", 1), ("search", 1), ("find", 0), ("always", 0)])
def test_the_base_is_found_through_an_alias(here, deref, found):
    people = search(here, "-b", PEOPLE, "-s", "one", "1.1").dns
    tool = search(here, "-a", deref, "-b", STAFF, "-s", "sub", "1.1")
    assert tool.dns == [STAFF] if found else sorted(tool.dns) == sorted([PEOPLE, *people])
    tool = search(here, "-a", deref, "-b", f"uid=ada,{STAFF}", "-s", "base", "1.1", code=32 if found else 0)
    assert tool.dns == ([] if found else [ADA])


def test_aliases_below_the_base_are_followed_once(here):
    for deref, dns in (("never", [ADA]), ("search", [ADA]), ("always", [ADA])):
        assert search(here, "-a", deref, "-b", SUFFIX, "(uid=ada)", "1.1").dns == dns
    connection = connect(here)
    connection.add_s(f"cn=loop,{SUFFIX}", [
        ("objectClass", [b"alias", EXTENSIBLE]), ("aliasedObjectName", [f"cn=loop,{SUFFIX}".encode()])])
    assert search(here, "-a", "always", "-b", SUFFIX, "(uid=ada)", "1.1").dns == [ADA]
    search(here, "-a", "always", "-b", f"cn=loop,{SUFFIX}", code=54)
    with pytest.raises(ldap.ALIAS_PROBLEM):
        connection.add_s(f"cn=x,{STAFF}", [("objectClass", [b"device"])])


def test_searches_return_references(here):
    tool = search(here, "-b", SUFFIX, "(uid=ada)", "1.1")
    assert tool.dns == [ADA]
    assert "# refldap://other.test/o=x%20y??sub" in tool.out.splitlines()
    tool = search(here, "-b", SUFFIX, "-s", "one", "1.1")
    assert "# refldap://other.test/o=x%20y??base" in tool.out.splitlines() and ELSEWHERE not in tool.dns
    tool = search(here, "-MM", "-b", SUFFIX, "(objectClass=referral)", "ref")
    assert tool.dns == [ELSEWHERE] and "ref: ldap://other.test/o=x%20y" in tool.out


def test_operations_are_referred(here):
    connection = connect(here)
    below = f"cn=a b,{ELSEWHERE}"
    for ask in (
        lambda: connection.modify_s(below, [(ldap.MOD_REPLACE, "description", [b"x"])]),
        lambda: connection.add_s(below, [("objectClass", [b"device"])]),
        lambda: connection.delete_s(below),
        lambda: connection.rename_s(below, "cn=c"),
        lambda: connection.compare_s(below, "cn", b"a b"),
    ):
        with pytest.raises(ldap.REFERRAL) as caught:
            ask()
        assert "ldap://other.test/cn=a%20b,o=x%20y" in caught.value.args[0]["info"]
    tool = search(here, "-b", below, "-s", "base", code=10)
    assert "ldap://other.test/cn=a%20b,o=x%20y??base" in tool.out + tool.err
    run("ldapmodify", "-x", "-MM", "-H", here.url, "-D", ADMIN, "-w", SECRET,
        stdin=f"dn: {ELSEWHERE}\nchangetype: modify\nreplace: ref\nref: ldap://new.test\n")
    run("ldapdelete", "-x", "-MM", "-H", here.url, "-D", ADMIN, "-w", SECRET, ELSEWHERE)
    assert "# ref" not in search(here, "-b", SUFFIX, "1.1").out
