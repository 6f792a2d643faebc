"""Limits of the configuration that take time to be met: searches, clients that take nothing, the end of the server."""

import signal
import socket
import time

import ldap
import pytest

from ber import ldap_bind, tlv
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, run
from test_searches import PRESENT, bound, connect, fill, request, search

ADA = f"uid=ada,{PEOPLE}"
DEAR = "(|" + "".join(f"(description=*{number}y*)" for number in range(1000)) + ")"


def configured(server, tmp_path, limits):
    file = tmp_path / "pando.toml"
    file.write_text("[limits]\n" + limits)
    return server("--config", file, "--threads", "1")


def test_time_limit(server, tmp_path):
    here = configured(server, tmp_path, "time = 1\n")
    fill(here, 1500, 2000)
    user = connect(here, ADA, "ada's password")
    began = time.monotonic()
    with pytest.raises(ldap.TIMELIMIT_EXCEEDED) as caught:
        user.search_s(SUFFIX, ldap.SCOPE_SUBTREE, DEAR, ["1.1"])
    assert 0.9 < time.monotonic() - began < 10 and caught.value.args[0]["info"]
    # A client may ask for less, not for more.
    with pytest.raises(ldap.TIMELIMIT_EXCEEDED):
        user.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, DEAR, ["1.1"], timeout=1000)
    assert len(user.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=f7)", ["1.1"])) == 1


@pytest.mark.parametrize("asked, given", [(0, 4), (3, 3), (4, 4), (100, 4)])
def test_size_limit(server, tmp_path, asked, given):
    here = configured(server, tmp_path, "size = 4\n")
    user = connect(here, ADA, "ada's password")
    message = user.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["1.1"], sizelimit=asked)
    found = []
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        while True:
            found += user.result(message, all=0)[1]
    assert len(found) == given
    assert len(connect(here, ADMIN).search_s(SUFFIX, ldap.SCOPE_SUBTREE)) == 9
    # In pages too, for all of them together or one by one: never more at once.
    tool = run("ldapsearch", "-x", "-H", here.url, "-D", ADA, "-w", "ada's password", "-b", SUFFIX, "-E", "pr=2/noprompt", "1.1", code=None)
    assert tool.code in (0, 4), tool


def taken(client):
    """All that still comes, until the end, however it comes."""
    received = 0
    try:
        while piece := client.recv(1 << 16):
            received += len(piece)
    except ConnectionResetError:
        pass
    return received


def test_a_client_that_takes_nothing_is_cut_off(server, tmp_path):
    here = configured(server, tmp_path, "write-timeout = 1\n")
    fill(here, 3000, 8000)
    monitor = connect(here, ADMIN)

    def connections():
        [(_, entry)] = monitor.search_s("cn=Current,cn=Connections,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorCounter"])
        return int(entry["monitorCounter"][0])

    def until(count):
        end = time.monotonic() + PATIENCE
        while connections() != count:
            assert time.monotonic() < end

    # The one that filled has gone.
    until(1)
    with bound(here) as client:
        client.sendall(request(2, search(SUFFIX, PRESENT)))
        assert client.recv(100)
        until(2)
        until(1)
        assert taken(client) < 20 << 20


def test_the_end_does_not_wait_for_ever(server, tmp_path):
    here = configured(server, tmp_path, "shutdown-timeout = 1\n")
    fill(here, 3000, 8000)
    with bound(here) as client:
        client.sendall(request(2, search(SUFFIX, PRESENT)))
        assert client.recv(100)
        began = time.monotonic()
        here.process.send_signal(signal.SIGTERM)
        assert here.process.wait(PATIENCE) == 0
        assert time.monotonic() - began < 10
        assert taken(client) < 20 << 20


def test_an_idle_client_that_asks_now_and_then_stays(server, tmp_path):
    here = configured(server, tmp_path, "idle-timeout = 2\n")
    with socket.create_connection(("127.0.0.1", here.port), PATIENCE) as client:
        end = time.monotonic() + 5
        asked = 0
        client.settimeout(0.5)
        while time.monotonic() < end:
            client.sendall(ldap_bind(ADMIN.encode(), SECRET.encode(), 1 + asked % 100))
            assert b"\x61\x07\x0a\x01\x00" in client.recv(100)
            asked += 1
            with pytest.raises(TimeoutError):
                client.recv(100)
        assert asked >= 5


def test_l3_others_have_their_turn_between_the_searches_of_one(server, tmp_path):
    """A client sends at once what keeps a thread busy for long, over and over; one that sends a short request meanwhile is not the last."""
    here = configured(server, tmp_path, "")
    fill(here, 2000, 500)
    nothing = tlv(0xA4, tlv(4, b"description") + tlv(0x30, tlv(0x81, b"no such words")))
    scans = {number: request(number, search(SUFFIX, nothing, tlv(4, b"1.1"))) for number in range(2, 102)}
    with bound(here) as greedy, bound(here) as other:
        greedy.sendall(b"".join(scans.values()))
        # The thread has begun with them by now.
        received = greedy.recv(1 << 16)
        other.sendall(request(2, search(ADA, PRESENT, tlv(4, b"1.1"), scope=0)))
        answered = other.recv(1 << 16)
        assert b"\x02\x01\x02\x65" in answered
        greedy.setblocking(False)
        try:
            received += greedy.recv(1 << 16)
        except BlockingIOError:
            pass
        ended = [number for number in scans if bytes([2, 1, number, 0x65]) in received]
        assert 0 < len(ended) < len(scans)
