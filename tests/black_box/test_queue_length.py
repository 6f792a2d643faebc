"""Queue length control over real sockets: docs/queue-length.md, one test for each rule."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import namespaces
from conftest import ADMIN, PANDO, SECRET, SUFFIX, run
from queued_client import QUEUE_LENGTH, Client, bind, modify, queue_length, search

# A hold lasts a millisecond; a machine that is busy with other things may take a hundred times as long to notice.
BOUND_SECONDS = 2
ANN = f"uid=ann,ou=People,{SUFFIX}"


def queued(server, length):
    """A bound client that waits for so many answers."""
    client = Client("127.0.0.1", server.port)
    client.send(bind(1, ADMIN, SECRET, queue_length(length)))
    assert client.receive(1) == [(1, 0x61, 0)]
    return client


def test_it_is_listed(reader):
    out = run("ldapsearch", "-x", "-H", reader.url, "-LLL", "-o", "ldif_wrap=no", "-b", "", "-s", "base", "supportedControl").out
    assert f"supportedControl: {QUEUE_LENGTH.decode()}\n" in out


def test_seven_of_ten_are_answered_all_the_same(reader):
    with queued(reader, 10) as client:
        for _ in range(20):
            begun = time.monotonic()
            client.send(*(search(100 + at, SUFFIX) for at in range(7)))
            assert [end[0] for end in client.receive(7)] == list(range(100, 107))
            assert time.monotonic() - begun < BOUND_SECONDS


def test_one_by_one_with_a_queue_that_never_fills(reader):
    with queued(reader, 1000) as client:
        begun = time.monotonic()
        for at in range(50):
            client.send(search(100 + at, SUFFIX))
            assert client.receive(1) == [(100 + at, 0x65, 0)]
        assert time.monotonic() - begun < 50 * BOUND_SECONDS


def test_ten_of_ten_come_in_one_piece(reader):
    with queued(reader, 10) as client:
        before = client.segments
        for _ in range(100):
            # Two writes, so that the server may read twice: the answers to the first wait for those to the second.
            client.send(*(search(100 + at, SUFFIX) for at in range(5)))
            client.send(*(search(105 + at, SUFFIX) for at in range(5)))
            assert [end[0] for end in client.receive(10)] == list(range(100, 110))
        # A loaded machine may hold the second write up for longer than answers are kept.
        assert client.segments - before <= 130


def test_many_entries_flush_by_their_size(reader):
    with queued(reader, 1 << 20) as client:
        client.send(*(search(1000 + at, SUFFIX, attribute=b"*") for at in range(3000)))
        assert [end[0] for end in client.receive(3000)] == list(range(1000, 4000))


@pytest.mark.parametrize("storage", ["memory", "data"])
def test_updates_and_searches_in_one_pipeline(server, tmp_path, storage):
    here = server(data=tmp_path / "data" if storage == "data" else None)
    here.modify(f"dn: {ANN}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Ann\nsn: A\n")
    with queued(here, 64) as client:
        for count in (64, 40, 200):
            requests = [search(1000 + at, ANN) if at % 3 == 0 else modify(1000 + at, ANN, "description", str(at)) for at in range(count)]
            client.send(*requests)
            answers = client.receive(count)
            assert [end[0] for end in answers] == list(range(1000, 1000 + count))
            assert not any(code for _, _, code in answers)


def test_an_error_an_abandon_and_an_unbind_do_not_wait(reader):
    with queued(reader, 1000) as client:
        client.send(search(2, SUFFIX), search(3, f"uid=nobody,{SUFFIX}"))
        assert [end[2] for end in client.receive(2)] == [0, 32]
        client.send(search(4, SUFFIX), b"\x30\x06\x02\x01\x05\x50\x01\x04")
        assert client.receive(1) == [(4, 0x65, 0)]
        client.send(search(6, SUFFIX), b"\x30\x05\x02\x01\x07\x42\x00")
        assert client.receive(2) == [(6, 0x65, 0)], "then the connection ends"


def test_garbage_and_the_end_of_input_do_not_wait(reader):
    with queued(reader, 1000) as client:
        client.send(search(2, SUFFIX), b"\x30\x02\xff\xff")
        assert [end[0] for end in client.receive(3)] == [2, 0]
    with queued(reader, 1000) as client:
        client.send(search(2, SUFFIX))
        client.socket.shutdown(1)
        assert client.receive(2) == [(2, 0x65, 0)]


def test_what_was_kept_is_sent_when_the_server_ends(server):
    here = server()
    with queued(here, 1000) as client:
        client.send(search(2, SUFFIX))
        assert client.receive(1) == [(2, 0x65, 0)]
        here.process.terminate()
        assert client.receive(1) == [(0, 0x78, 52)]


def test_a_value_that_is_no_length(reader):
    with Client("127.0.0.1", reader.port) as client:
        client.send(search(2, SUFFIX, queue_length(b"\x04\x01x")))
        assert client.receive(1) == [(2, 0x65, 2)]
        client.send(search(3, SUFFIX, queue_length(5, critical=True)))
        assert client.receive(1) == [(3, 0x65, 0)]


def test_another_oid(server):
    here = server("--queue-length-oid", "1.2.3.4")
    assert "supportedControl: 1.2.3.4\n" in here.search("-b", "", "-s", "base", "supportedControl").out
    with Client("127.0.0.1", here.port) as client:
        client.send(bind(1, ADMIN, SECRET, queue_length(10, oid=b"1.2.3.4")))
        assert client.receive(1)[0][2] == 0
        client.send(*(search(2 + at, SUFFIX) for at in range(7)))
        assert len(client.receive(7)) == 7


@pytest.mark.skipif(not namespaces.possible(), reason="network namespaces cannot be made here")
@pytest.mark.parametrize("storage", ["memory", "data"])
def test_segments(tmp_path, storage):
    """A bundle of 1,000 comes in at most 1.2 times as many segments as its bytes need."""
    entries = 2000
    ldif, password, config = tmp_path / "dvtds.ldif", tmp_path / "password", tmp_path / "pando.toml"
    password.write_text(SECRET)
    # The client is another host, and binds in the clear.
    config.write_text("[security]\npassword = 0\n")
    run(PANDO, "gen", "--template", "dvtds", "--suffix", "dc=com", "--count", entries, "-o", ldif)
    with namespaces.Pair() as pair:
        command = [*pair.server, PANDO, "serve", *(["--data", tmp_path / "data"] if storage == "data" else ["--memory"]), "--suffix", "dc=com",
                   "--config", config, "--schema", "dvtds", "--import", ldif, "--listen", f"ldap://{pair.address}:3389", "--root-dn", "cn=admin,dc=com",
                   "--root-password-file", password]
        with open(tmp_path / "log", "wb") as log:
            process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout.readline().startswith(b"ready"), (tmp_path / "log").read_text()
            report = {}
            for what in ("search", "modify"):
                for controls in ("control", "plain"):
                    client = [*pair.client, sys.executable, Path(__file__).with_name("queued_client.py"), pair.address, 3389, what, 1000, 20, entries,
                              controls]
                    figures = json.loads(run(*client).out)
                    needed = 20 * -(-figures["bytes"] // 20 // namespaces.SEGMENT_BYTES)
                    report[what, controls] = figures["segments"] / needed
                    print(what, controls, figures, needed)
            assert max(report[what, "control"] for what in ("search", "modify")) <= 1.2, report
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
