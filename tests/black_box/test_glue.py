"""Aliases and referral objects, as clients meet them."""

import socket
import subprocess
import time

import ldap
import pytest

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, run
from test_tls import authority, serve  # noqa: F401

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

def chain(connection, name, url, above=SUFFIX):
    """A referral object."""
    dn = f"ou={name},{above}"
    connection.add_s(dn, [("objectClass", [b"referral", EXTENSIBLE]), ("ref", [url.encode()])])
    return dn


def test_a_search_is_followed_by_the_server(serve, server, authority, tmp_path):  # noqa: F811
    """Three levels: here, a server that is asked over TLS in the name of the client, and one to which that refers."""
    silent = socket.create_server(("127.0.0.1", 0))
    second, third = serve(), server("--anonymous", "read")
    password, config = tmp_path / "chain.password", tmp_path / "first.toml"
    password.write_text(SECRET + "\n")
    nobody = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
    config.write_text(
        f'[[chaining]]\nurl = "{second.secure_url}"\nca-file = "{authority.certificate}"\nbind-dn = "{ADMIN}"\npassword-file = "{password}"\nproxied = "on"\n'
        f'[[chaining]]\nurl = "{third.url}"\ntls = "off"\n[[chaining]]\nurl = "{nobody}"\ntls = "off"\n'
    )
    first = server("--config", config)
    here, there = connect(first), connect(second)
    away = chain(here, "Away", f"{second.secure_url}/{PEOPLE}")
    people = search(second, "-b", PEOPLE, "-s", "sub", "1.1").dns
    assert sorted(search(first, "-b", away, "-s", "sub", "1.1").dns) == sorted(people)
    assert search(first, "-b", f"uid=ada,{away}", "-s", "base").out.startswith(f"dn: {ADA}\n")
    assert search(first, "-b", away, "-s", "sub", "(uid=ada)", "uid").out == f"dn: {ADA}\nuid: ada\n\n"
    # Limits hold, and what came before is a part.
    assert len(search(first, "-b", away, "-s", "sub", "-z", "1", "1.1", code=4).dns) == 1
    # The client may say that it goes there itself.
    search(first, "-e", "chaining=referralsRequired", "-b", away, code=10)
    # One server's order is not that of all (RFC 2891 section 2.1), and pages are one server's: such a search is referred.
    for control in ("!sss=sn", "sss=sn", "!pr=10/noprompt"):
        search(first, "-E", control, "-b", away, code=10)
    # The third level, by a reference of the second server.
    chain(there, "Third", f"{third.url}/{PEOPLE}", PEOPLE)
    assert sorted(search(first, "-b", away, "-s", "sub", "1.1").dns) == sorted(people + people)
    # In a circle.
    loop = chain(there, "Loop", f"{second.secure_url}/ou=Loop,{PEOPLE}", PEOPLE)
    assert "circle" in search(first, "-b", loop.replace(PEOPLE, away), "-s", "base", code=54).err
    # A server that says nothing takes the time of its search alone.
    slow = chain(here, "Slow", f"{nobody}/{PEOPLE}")
    waiting = subprocess.Popen(["ldapsearch", "-x", "-H", first.url, "-D", ADMIN, "-w", SECRET, "-l", "1", "-b", slow], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    silent.accept()
    began = time.monotonic()
    assert search(first, "-b", ADA, "-s", "base", "1.1").dns == [ADA]
    assert waiting.poll() is None or time.monotonic() - began < 1
    assert waiting.wait(timeout=PATIENCE) in (3, 52)
    # One that is gone is told as such.
    third.end()
    assert "part of the answer" in search(first, "-b", away, "-s", "sub", "1.1", code=52).err
    second.end()
    assert search(first, "-b", away, "-s", "sub", "1.1", code=52).dns == []
