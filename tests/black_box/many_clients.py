"""A client of many connections: one process, one thread, one epoll. Run as a program by test_many_connections.py.

usage: many_clients.py PORT CONNECTIONS ROUNDS BASE

Opens all connections and keeps them; then, in each round, sends one base search on every connection before it reads
the first answer, and checks every answer to the byte. Prints a line of JSON.
"""

import json
import select
import socket
import sys
import time

from ber import integer, tlv


def request(message_id, base):
    """A base search for no attributes."""
    operation = tlv(4, base) + bytes.fromhex("0a01000a0100020100020100010100") + tlv(0x87, b"objectClass")
    return tlv(0x30, tlv(2, message_id.to_bytes(4, "big")) + tlv(0x63, operation + tlv(0x30, tlv(4, b"1.1"))))


def is_answer(received, message_id, base):
    """Whether this is the entry and then success, and nothing else; lengths may be in any form."""
    mark = integer(message_id)
    done = tlv(0x30, mark + bytes.fromhex("65070a010004000400"))
    head = received[: -len(done)]
    return received.endswith(done) and head.count(mark) == 1 and tlv(4, base) in head and len(head) < len(base) + 40


def main(port, connections, rounds, base):
    started = time.monotonic()
    poll = select.epoll()
    clients = {}
    for _ in range(connections):
        client = socket.create_connection(("127.0.0.1", port), 60)
        client.setblocking(False)
        clients[client.fileno()] = client
        poll.register(client.fileno(), select.EPOLLIN)
    connected = time.monotonic()
    answers = 0
    for round_number in range(rounds):
        first = 1000 + round_number * connections
        ids = {number: first + place for place, number in enumerate(clients)}
        for number, client in clients.items():
            client.send(request(ids[number], base))
        waiting = {number: b"" for number in clients}
        while waiting:
            ready = poll.poll(60)
            if not ready:
                raise SystemExit(f"{len(waiting)} connections of {connections} are not answered")
            for number, _ in ready:
                piece = clients[number].recv(4096)
                if not piece:
                    raise SystemExit("a connection was closed")
                waiting[number] += piece
                if is_answer(waiting[number], ids[number], base):
                    del waiting[number]
                    answers += 1
    finished = time.monotonic()
    print(json.dumps({
        "connections": len(clients),
        "answers": answers,
        "seconds_to_connect": round(connected - started, 2),
        "seconds_to_answer": round(finished - connected, 2),
    }), flush=True)
    # All are held until the other side has seen so.
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode())
