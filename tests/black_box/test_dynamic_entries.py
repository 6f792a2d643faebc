"""Dynamic entries (RFC 2589) by a client: they are deleted when their time is over, also of a server that was killed meanwhile."""

import time

import ldap
from ldap.extop.dds import RefreshRequest, RefreshResponse

from conftest import PATIENCE, PEOPLE, connect, wait_for

DYNAMIC = [("objectClass", [b"applicationProcess", b"dynamicObject"])]


def names(client):
    return {name for name, _ in client.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(objectClass=dynamicObject)", ["1.1"])}


def refresh(client, name, ttl):
    return client.extop_s(RefreshRequest(entryName=name, requestTtl=ttl), extop_resp_class=RefreshResponse).responseTtl


def ttl(client, name):
    return int(client.search_s(name, ldap.SCOPE_BASE, attrlist=["entryTtl"])[0][1]["entryTtl"][0])


def test_their_time_goes_on_while_the_server_is_down(keep):
    here = keep(ldif="people.ldif")
    client = connect(here)
    short, long, never = (f"cn={name},{PEOPLE}" for name in ("short", "long", "never"))
    for name in (short, long, never):
        client.add_s(name, DYNAMIC)
    assert refresh(client, short, 2) == 2 and refresh(client, long, 600) == 600
    assert 0 <= ttl(client, short) <= 2 and 590 < ttl(client, long) <= 600 and 86390 < ttl(client, never) <= 86400
    here.kill()
    begun = time.monotonic()
    here = keep()
    client = connect(here)
    wait_for(lambda: names(client) == {long, never})
    assert time.monotonic() - begun < PATIENCE
    assert 500 < ttl(client, long) <= 600
