"""Limits of connections and of addresses, each at its edge: what a client sees, what the monitor counts, and one line of the log (L1, L2)."""

import contextlib
import select
import socket
import ssl
import time

import ldap
import pytest

from ber import ldap_bind
from certificates import Authority
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, connect, raise_descriptors, wait_for
from test_tls import SUCCESS, Raw, search

BUSY, INVALID_CREDENTIALS = 51, 49
ADA = f"uid=ada,{PEOPLE}"


@pytest.fixture
def limited(tmp_path, server):
    """`limited(...)` starts a server with these limits; `secure` is the port where it speaks TLS from the first byte."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("server")

    def begin(*limits, lines=()):
        config = tmp_path / "pando.toml"
        config.write_text("\n".join(["[tls]", f'certificate = "{certificate}"', f'key = "{key}"', "[limits]", *limits, *lines]) + "\n")
        begun = server("--listen", "ldaps://127.0.0.1:0", "--config", config)
        begun.secure = int(begun.process.stdout.readline().decode().rsplit(":", 1)[1])
        begun.context = ssl.create_default_context(cafile=authority.certificate)
        return begun

    return begin


def reached(server, limit, at_least=1):
    """Waits until the monitor and one line of the log have it that a limit was reached."""
    def is_counted():
        # A place that was given back may not be free yet.
        found = server.search("-s", "base", "-b", f"cn={limit},cn=Limits,cn=Monitor", "monitorCounter", code=None)
        counted = found.code == 0 and int(found.out.split("monitorCounter: ")[1].split()[0]) >= at_least
        return counted and f'limit="{limit}"' in server.log

    wait_for(is_counted, limit)
    assert server.log.count(f'limit="{limit}"') == 1, server.log


def bound(server, who, word):
    """A connection that has bound, when its address may again."""
    client = ldap.initialize(server.url)

    def binds():
        with contextlib.suppress(ldap.BUSY):
            return client.simple_bind_s(who, word)

    wait_for(binds)
    return client


def is_ended(raw, seconds):
    """Does the server close the connection within so many seconds?"""
    raw.socket.settimeout(seconds)
    try:
        while raw.socket.recv(4096):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def connected(server):
    """A connection, or None as long as the server has not seen that another one has ended."""
    with contextlib.suppress(ldap.SERVER_DOWN):
        return connect(server)


def test_l1_connections_of_an_address(limited):
    server = limited("connections-per-address = 3")
    kept = [Raw(server.port) for _ in range(2)]
    for number, raw in enumerate(kept):
        raw.send(search(number + 1))
        assert raw.message()
    third = Raw(server.port)
    third.send(search(1))
    assert third.message()
    assert Raw(server.port).is_closed()
    third.socket.close()
    reached(server, "connections-per-address")
    names = wait_for(lambda: connected(server)).search_s("cn=Limits,cn=Monitor", ldap.SCOPE_ONELEVEL, attrlist=["monitoredInfo"])
    now = {dn.split(",")[0]: values.get("monitoredInfo", [b""])[0] for dn, values in names}
    assert now["cn=connections-per-address"] == b"3" and now["cn=connections"] == b"3"


def test_l1_connections_of_all(limited):
    """A few more are accepted from this machine, so that it can be looked after."""
    server = limited("connections = 2", "connections-per-address = 0")
    kept = [Raw(server.port) for _ in range(34)]
    for raw in kept:
        raw.send(search(1))
        assert raw.message()
    assert Raw(server.port).is_closed()
    kept.pop().socket.close()
    reached(server, "connections")


def test_l1_failed_binds_with_a_connection_for_each(limited):
    """An address has no more tries by closing its connection after each."""
    server = limited("failed-binds = 2")
    codes = []
    for number in range(40):
        raw = Raw(server.port)
        raw.send(ldap_bind(f"uid=nobody{number % 8},{PEOPLE}".encode(), b"wrong", 1))
        codes.append(raw.result())
        raw.socket.close()
    assert set(codes[:20]) == {INVALID_CREDENTIALS} and codes[-1] == BUSY
    # Until it has recovered, nobody from there binds.
    root = bound(server, ADMIN, SECRET)
    reached(server, "failed-binds", codes.count(BUSY))
    [(_, names)] = root.search_s("cn=Names,cn=Clients,cn=config", ldap.SCOPE_BASE, attrlist=["monitoredInfo"])
    assert any(b"from 127.0.0.1" in line and b"uid=nobody" in line for line in names["monitoredInfo"])
    [(_, addresses)] = root.search_s("cn=Addresses,cn=Clients,cn=config", ldap.SCOPE_BASE, attrlist=["monitoredInfo"])
    assert any(line.startswith(b"1 127.0.0.1 connections") for line in addresses["monitoredInfo"])
    # Users see the counts, and nobody's name.
    user = bound(server, ADA, "ada's password")
    assert user.search_s("cn=failed-binds,cn=Limits,cn=Monitor", ldap.SCOPE_BASE)
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        user.search_s("cn=Names,cn=Clients,cn=config", ldap.SCOPE_BASE)


def test_l1_trusted_addresses_have_none_of_these_limits(limited):
    server = limited("failed-binds = 1", "connections-per-address = 2", "handshakes = 1", 'trusted = ["10.0.0.0/8", "127.0.0.0/8"]')
    kept = [Raw(server.port) for _ in range(20)]
    for number, raw in enumerate(kept):
        raw.send(ldap_bind(f"uid=nobody{number},{PEOPLE}".encode(), b"wrong", 1))
        assert raw.result() == INVALID_CREDENTIALS
        Raw(server.secure).secure(server.context)


def test_l1_handshakes_of_an_address(limited):
    """Those beyond the burst wait; those that would wait too long are closed. A resumed session costs a quarter."""
    server = limited("handshakes = 2", "handshake-timeout = 1")
    for _ in range(8):
        Raw(server.secure).secure(server.context)
    begin = time.monotonic()
    Raw(server.secure).secure(server.context)
    assert 0.3 < time.monotonic() - begin < 5
    waiting = [Raw(server.secure) for _ in range(6)]
    refused = 0
    for raw in waiting:
        raw.socket.settimeout(PATIENCE)
        try:
            raw.secure(server.context)
        except (ssl.SSLError, ConnectionError):
            refused += 1
    assert 3 <= refused <= 5
    reached(server, "handshakes", refused)


def test_l1_resumed_sessions_count_a_quarter(limited):
    server = limited("handshakes = 1", "handshake-timeout = 1")
    # Of 1.2, whose session is known when the handshake is done.
    server.context.maximum_version = ssl.TLSVersion.TLSv1_2
    first = Raw(server.secure)
    first.secure(server.context)
    session, resumed = first.socket.session, 0
    begin = time.monotonic()
    for _ in range(10):
        client = server.context.wrap_socket(socket.create_connection(("127.0.0.1", server.secure), PATIENCE), server_hostname="localhost", session=session)
        resumed += client.session_reused
        client.close()
    assert resumed == 10 and time.monotonic() - begin < 5, "three full ones and the burst are four"


def test_l1_the_first_request(limited):
    server = limited("first-request = 1")
    silent, secured, speaking = Raw(server.port), Raw(server.secure), Raw(server.port)
    secured.secure(server.context)
    speaking.send(search(1))
    assert speaking.message() and speaking.message()
    begin = time.monotonic()
    assert is_ended(silent, PATIENCE) and is_ended(secured, PATIENCE)
    assert time.monotonic() - begin > 0.9
    speaking.send(search(2))
    assert speaking.message(), "it has spoken"
    reached(server, "first-request", 2)


def test_l1_the_longest_message_before_a_bind(limited):
    server = limited("message-anonymous = 4096")
    within, beyond = Raw(server.port), Raw(server.port)
    request = ldap_bind(b"cn=" + b"x" * 4080, b"", 1)
    within.send(b"\x30\x82\x0f\xfc")
    assert not is_ended(within, 0.2)
    beyond.send(b"\x30\x82\x0f\xfd")
    assert is_ended(beyond, PATIENCE)
    assert len(request) > 4096
    reached(server, "message-anonymous")


def test_l2_slow_clients_are_closed_in_time(limited):
    """Of 1,200 at once, each in another state: silent, in a length, in a message, in a handshake. Each sends an octet now and then; none is there
    after its time, and others are served meanwhile."""
    raise_descriptors(1600)
    server = limited("first-request = 1", "message-timeout = 1", "handshake-timeout = 1", 'trusted = ["127.0.0.1"]')
    message = ldap_bind(ADMIN.encode(), SECRET.encode(), 1)
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    forms = [(server.port, b""), (server.port, b"\x30\x84"), (server.port, message), (server.secure, hello)]
    poll, clients = select.poll(), {}
    for number in range(1200):
        port, text = forms[number % 4]
        client = socket.create_connection(("127.0.0.1", port), PATIENCE)
        clients[client.fileno()] = [client, text]
        poll.register(client, select.POLLIN)
    begin, last = time.monotonic(), 0
    while clients and time.monotonic() - begin < 20:
        for number, _ in poll.poll(100):
            with contextlib.suppress(ConnectionError):
                if clients[number][0].recv(4096):
                    continue
            poll.unregister(number)
            clients.pop(number)[0].close()
        if time.monotonic() - last > 0.5:
            last = time.monotonic()
            for client in clients.values():
                with contextlib.suppress(ConnectionError):
                    # Never the last octet: the message does not come to its end.
                    client[0].send(client[1][:1] if len(client[1]) > 1 else b"")
                    client[1] = client[1][1:]
    assert not clients, f"{len(clients)} are still there"
    for limit in ("first-request", "message-timeout", "handshake-timeout"):
        reached(server, limit, 100)
    raw = Raw(server.port)
    raw.send(message)
    assert raw.result() == SUCCESS
