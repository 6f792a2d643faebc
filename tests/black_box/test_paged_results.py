"""Paged results (RFC 2696) as a sceptic asks for them: cookies of other searches, spoilt, used again, by another client."""

import ldap
import pytest
from ldap.controls.libldap import SimplePagedResultsControl

from conftest import ADMIN, PEOPLE, SUFFIX, connect


def page(connection, size, cookie=b"", base=SUFFIX, scope=ldap.SCOPE_SUBTREE, text="(objectClass=*)", **more):
    """One page: its DNs and the cookie of the next."""
    control = SimplePagedResultsControl(True, size, cookie)
    message = connection.search_ext(base, scope, text, ["1.1"], serverctrls=[control], **more)
    _, entries, _, [answer] = connection.result3(message)
    return [name for name, _ in entries], answer.cookie


def pages(connection, size, **more):
    """All pages of a search."""
    found, cookie = page(connection, size, **more)
    yield found
    while cookie:
        found, cookie = page(connection, size, cookie, **more)
        yield found


@pytest.mark.parametrize("changed", [
    {"text": "(objectClass=person)"}, {"base": PEOPLE}, {"scope": ldap.SCOPE_ONELEVEL}, {"base": "cn=Monitor"},
])
def test_a_cookie_is_of_one_search(reader, changed):
    connection = connect(reader)
    _, cookie = page(connection, 2)
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as caught:
        page(connection, 2, cookie, **changed)
    assert "cookie" in caught.value.args[0]["info"]
    # The search itself goes on.
    assert len(page(connection, 2, cookie)[0]) == 2


def test_a_spoilt_cookie_harms_nobody(reader):
    connection = connect(reader)
    everything = {name for found in pages(connection, 100) for name in found}
    _, cookie = page(connection, 2)
    spoilt = [cookie[:size] for size in range(1, len(cookie))] + [cookie + b"\0", cookie * 2]
    spoilt += [cookie[:at] + bytes([cookie[at] ^ bit]) + cookie[at + 1:] for at in range(len(cookie)) for bit in (1, 128)]
    for each in spoilt:
        try:
            found, _ = page(connection, 2, each)
            assert len(found) <= 2 and set(found) <= everything, each
        except ldap.UNWILLING_TO_PERFORM as error:
            assert "cookie" in error.args[0]["info"]
    assert connection.whoami_s() == f"dn:{ADMIN}"


def test_the_server_keeps_nothing(reader):
    """The same cookie serves twice, on another connection, after the first one has gone, with pages of another size."""
    first = connect(reader)
    begun, cookie = page(first, 2)
    second, _ = page(first, 3, cookie)
    first.unbind_s()
    other = connect(reader)
    again, rest = page(other, 3, cookie)
    assert again == second and not set(begun) & set(again)
    last, end = page(other, 100, rest)
    assert end == b"" and len({*begun, *again, *last}) == 9


def test_pages_respect_who_asks(reader):
    """A cookie is no key: with another's cookie a client sees what it may see."""
    _, cookie = page(connect(reader), 2, text="(userPassword=*)", base=PEOPLE)
    assert cookie == b""
    _, cookie = page(connect(reader), 1, text="(userPassword=*)", base=PEOPLE)
    try:
        assert page(connect(reader, None), 1, cookie, text="(userPassword=*)", base=PEOPLE)[0] == []
    except ldap.UNWILLING_TO_PERFORM:
        pass


@pytest.mark.parametrize("scope, count", [(ldap.SCOPE_BASE, 1), (ldap.SCOPE_ONELEVEL, 3), (ldap.SCOPE_SUBTREE, 9), (ldap.SCOPE_SUBORDINATE, 8)])
@pytest.mark.parametrize("size", [1, 2, 7, 2**31 - 1])
def test_every_scope_in_pages_of_every_size(reader, scope, count, size):
    found = list(pages(connect(reader), size, scope=scope))
    assert [len(each) for each in found[:-1]] == [size] * (len(found) - 1)
    names = [name for each in found for name in each]
    assert len(names) == len(set(names)) == count


@pytest.mark.parametrize("text, count", [("(uid=*)", 3), ("(|(uid=ada)(uid=bruno)(cn=staff))", 3), ("(cn=none)", 0), ("(!(objectClass=person))", 6)])
def test_indexes_do_not_matter(server, text, count):
    here = server("--index", "uid:eq,pres", "--index", "cn:eq", "--index", "objectClass:eq")
    names = [name for each in pages(connect(here), 2, text=text) for name in each]
    assert len(names) == len(set(names)) == count


def test_size_limit_counts_over_a_page(reader):
    connection = connect(reader)
    # More than a page: the page ends first.
    assert len(page(connection, 2, sizelimit=5)[0]) == 2
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        page(connection, 9, sizelimit=5)


@pytest.mark.parametrize("base, scope", [("", ldap.SCOPE_BASE), ("cn=Subschema", ldap.SCOPE_BASE), ("cn=Monitor", ldap.SCOPE_SUBTREE)])
def test_the_servers_own_entries_in_pages(reader, base, scope):
    connection = connect(reader)
    names = [name for each in pages(connection, 2, base=base, scope=scope) for name in each]
    assert len(names) == len(set(names)) == len(connection.search_s(base, scope, attrlist=["1.1"]))


def test_the_control_is_for_searches(fresh):
    connection = connect(fresh)
    control = SimplePagedResultsControl(True, 2, b"")
    ada = f"uid=ada,{PEOPLE}"
    for refused in (
        lambda: connection.modify_ext_s(ada, [(ldap.MOD_REPLACE, "title", [b"x"])], serverctrls=[control]),
        lambda: connection.delete_ext_s(ada, serverctrls=[control]),
        lambda: connection.compare_ext_s(ada, "sn", b"x", serverctrls=[control]),
    ):
        with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
            refused()
    assert connection.compare_s(ada, "title", b"Chair")
