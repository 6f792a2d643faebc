"""A client in raw bytes that tells the server how many answers it waits for. As a program it counts the TCP segments in which
they come:

    queued_client.py HOST PORT search|modify QUEUE BUNDLES ENTRIES control|plain

Binds as the administrator, sends bundles of QUEUE requests, each after the answers to the one before, and prints JSON: bytes
of answers and segments with data. Segments are as the kernel counts them for the socket (TCP_INFO);
where the network card or its driver puts them together they are fewer than on the wire.
"""

import json
import socket
import struct
import sys

from ber import element, integer, tlv

QUEUE_LENGTH = b"2.25.42716394719518537185369042681176305868"
DATA_SEGMENTS_IN = 152  # of struct tcp_info, linux/tcp.h
PATIENCE = 60


def queue_length(value, oid=QUEUE_LENGTH, critical=False):
    """Controls with the queue length control; its value is a number, or bytes that are none."""
    value = value if isinstance(value, bytes) else integer(value)
    return tlv(0xA0, tlv(0x30, tlv(4, oid) + (b"\x01\x01\xff" if critical else b"") + tlv(4, value)))


def bind(message_id, name, password, controls=b""):
    """A simple bind."""
    operation = tlv(0x60, integer(3) + tlv(4, name.encode()) + tlv(0x80, password.encode()))
    return tlv(0x30, integer(message_id) + operation + controls)


def search(message_id, base, controls=b"", attribute=b"1.1"):
    """A search for one entry."""
    operation = tlv(0x63, tlv(4, base.encode()) + bytes.fromhex("0a01000a0100020100020100010100") + tlv(0x87, b"objectClass") +
                    tlv(0x30, tlv(4, attribute)))
    return tlv(0x30, integer(message_id) + operation + controls)


def modify(message_id, dn, attribute, value, controls=b""):
    """A modify that replaces the values of one attribute by one."""
    change = tlv(0x30, integer(2, 0x0A) + tlv(0x30, tlv(4, attribute.encode()) + tlv(0x31, tlv(4, value.encode()))))
    return tlv(0x30, integer(message_id) + tlv(0x66, tlv(4, dn.encode()) + tlv(0x30, change)) + controls)


class Client:
    """A connection, and the answers that came on it."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest, self.bytes = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *requests):
        """Sends requests with one call."""
        self.socket.sendall(b"".join(requests))

    def receive(self, ends):
        """(message id, operation, result code) of the next so many answers that end an operation; fewer at the end."""
        found = []
        while len(found) < ends:
            data, at = self.rest, 0
            while len(found) < ends and (message := element(data, at)):
                _, _, id_end = identity = element(data, message[1])
                tag, begin, _ = element(data, id_end)
                if tag not in (0x64, 0x73, 0x79):
                    found.append((int.from_bytes(data[identity[1]:id_end], "big"), tag, data[begin + 2]))
                at = message[2]
            self.rest = data[at:]
            if len(found) < ends:
                piece = self.socket.recv(1 << 18)
                if not piece:
                    break
                self.bytes += len(piece)
                self.rest += piece
        return found

    @property
    def segments(self):
        """Segments with data that came so far."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return struct.unpack_from("I", info, DATA_SEGMENTS_IN)[0]


def main():
    host, port, what, queue, bundles, entries, controls = sys.argv[1:]
    queue, bundles, entries = int(queue), int(bundles), int(entries)
    with Client(host, int(port)) as client:
        client.send(bind(1, "cn=admin,dc=com", "secret", queue_length(queue) if controls == "control" else b""))
        assert client.receive(1)[0][2] == 0
        total_bytes, counts = 0, []
        for bundle in range(bundles):
            requests = []
            for at in range(queue):
                dn = f"uid={(bundle * queue + at) * 7919 % entries},dc=com"
                message_id = 1000 + at
                requests.append(search(message_id, dn) if what == "search" else modify(message_id, dn, "carLicense", f"value {bundle}"))
            bytes_before, segments_before = client.bytes, client.segments
            client.send(*requests)
            ends = client.receive(queue)
            assert [end[0] for end in ends] == [1000 + at for at in range(queue)] and not any(end[2] for end in ends), ends[:3]
            total_bytes += client.bytes - bytes_before
            counts.append(client.segments - segments_before)
        print(json.dumps({"bytes": total_bytes, "segments": sum(counts), "counts": counts}))


if __name__ == "__main__":
    main()
