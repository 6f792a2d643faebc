"""The null responder is a limit only if it says what Pando says: the same bytes to the same requests."""

import re
import socket
import subprocess

import pytest
from ber import tlv
from conftest import ADMIN, PANDO, SECRET

ENTRIES = 500


def integer(value, tag=2):
    return tlv(tag, value.to_bytes(3, "big"))


def message(number, op):
    return tlv(0x30, integer(0x10000 + number), op)


def search(base, scope, filter_, attributes):
    limits = tlv(2, b"\0") + tlv(2, b"\0") + tlv(1, b"\0")
    selected = tlv(0x30, *(tlv(4, a) for a in attributes))
    return tlv(0x63, tlv(4, base), tlv(10, bytes([scope])), tlv(10, b"\0"), limits, filter_, selected)


PRESENT = tlv(0x87, b"objectClass")


def bind(name, password):
    return tlv(0x60, tlv(2, b"\3"), tlv(4, name), tlv(0x80, password))


def modify(dn, value):
    change = tlv(0x30, tlv(10, b"\2"), tlv(0x30, tlv(4, b"carLicense"), tlv(0x31, tlv(4, value))))
    return tlv(0x66, tlv(4, dn), tlv(0x30, change))


def requests():
    """The rows of the comparison, over keys of every length, before and after values changed."""
    keys = [0, 7, 42, 99, 100, 499]
    rows = []
    for key in keys:
        dn = b"uid=%d,dc=com" % key
        rows.append(search(dn, 0, PRESENT, [b"1.1"]))
        rows.append(search(dn, 0, PRESENT, []))
        rows.append(search(b"dc=com", 2, tlv(0xA3, tlv(4, b"uid"), tlv(4, b"%d" % key)), [b"1.1"]))
        rows.append(modify(dn, b"x" * (8 + key % 93)))
        rows.append(search(dn, 0, PRESENT, []))
    return rows


def answers(port, user, rows):
    """All that comes back for one bundle, split into messages."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(message(0, bind(*user)))
        got = bytearray()
        while not got.endswith(bytes([10, 1, 0, 4, 0, 4, 0])):
            got += connection.recv(65536)
        got.clear()
        connection.sendall(b"".join(message(n + 1, row) for n, row in enumerate(rows)))
        last = integer(0x10000 + len(rows))
        while not (last in got and got.endswith(bytes([10, 1, 0, 4, 0, 4, 0]))):
            piece = connection.recv(65536)
            assert piece, "closed"
            got += piece
        return bytes(got)


@pytest.fixture(params=["memory", "wal"])
def null(request, tmp_path):
    """`bench null` with the directory's object classes, without and with a log."""
    command = [PANDO, "bench", "null", "--listen", "127.0.0.1:0", "--entries", str(ENTRIES)]
    command += ["--object-class", "inetOrgPerson", "--object-class", "top"]
    if request.param == "wal":
        command += ["--threads", "1", "--wal", tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield int(re.search(r":(\d+)\s*$", process.stdout.readline()).group(1))
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_null_answers_byte_for_byte_what_pando_answers(server, null, tmp_path):
    ldif = tmp_path / "dvtds.ldif"
    subprocess.run([PANDO, "gen", "--template", "dvtds", "--count", str(ENTRIES), "--suffix", "dc=com", "-o", ldif], check=True)
    pando = server("--schema", "dvtds", "--index", "uid:eq", ldif=ldif, suffix="dc=com")
    rows = requests()
    admin = (ADMIN.encode(), SECRET.encode())
    assert answers(pando.port, admin, rows) == answers(null, admin, rows)


@pytest.mark.parametrize("null", ["wal"], indirect=True)
def test_a_modify_is_in_the_log_when_it_is_answered(null, tmp_path):
    """Key, length and value of each, in the order of the answers."""
    values = [b"first", b"second" * 15]
    answers(null, (b"", b""), [modify(b"uid=%d,dc=com" % key, value) for key, value in enumerate(values)])
    records = b"".join(key.to_bytes(8, "little") + bytes([len(value)]) + value for key, value in enumerate(values))
    with open(tmp_path / "null-0.log", "rb") as log:
        assert log.read(len(records) + 1) == records + b"\0"
