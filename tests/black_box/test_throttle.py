"""Thousands of clients pipeline updates while the disk stands still: what the server keeps of them is bounded, and all of them
are answered when it goes on.

PANDO_SESSIONS=10000 for the full size, which writes 10 GB of log.
"""

import os
import select
import socket

import ldap
import pytest

from ber import integer, ldap_bind, tlv
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, preloaded, raise_descriptors

SESSIONS = int(os.environ.get("PANDO_SESSIONS", "500"))
# What each of them sends, as one value after the other of one attribute.
EACH = 1 << 20
VALUE = 4000
# Bytes that may be on their way: the default for 10,000 sessions, so that there is a queue with fewer too.
UPDATES = (256 << 20) * SESSIONS // 10_000
# What the server may take for them, with all that it has for each session.
GROWTH = min(400 << 20, (48 << 20) + (400 << 20) * SESSIONS // 10_000)

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
/* Syncs wait as long as the file named by STALL_SYNC is there. */
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    while (access(getenv("STALL_SYNC"), F_OK) == 0) usleep(10000);
    return real(fd);
}
"""


def pipeline():
    """What each client sends, and what it has to get."""
    success = bytes.fromhex("0a010004000400")
    sent, answers = [ldap_bind(ADMIN.encode(), SECRET.encode())], [tlv(0x30, integer(1), tlv(0x61, success))]
    dn = f"uid=ada,{PEOPLE}".encode()
    while len(sent) * VALUE < EACH:
        number = len(sent) + 1
        value = tlv(4, b"%0*d" % (VALUE, number))
        change = tlv(0x30, bytes.fromhex("0a0102"), tlv(0x30, tlv(4, b"description"), tlv(0x31, value)))
        sent.append(tlv(0x30, integer(number), tlv(0x66, tlv(4, dn), tlv(0x30, change))))
        answers.append(tlv(0x30, integer(number), tlv(0x67, success)))
    return memoryview(b"".join(sent)), b"".join(answers)


class Clients:
    """Connections that send all and take all, as far as the server does."""

    def __init__(self, server, count):
        self.server, self.poll, self.peak = server, select.epoll(), 0
        self.sent, self.expected = pipeline()
        self.sockets, self.places = {}, {}
        for _ in range(count):
            client = socket.socket()
            # So that not all of it waits in the system.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 10)
            client.settimeout(PATIENCE)
            client.connect(("127.0.0.1", server.port))
            client.setblocking(False)
            self.sockets[client.fileno()], self.places[client.fileno()] = client, [0, 0]
            self.poll.register(client.fileno(), select.EPOLLIN | select.EPOLLOUT)
        self.unanswered = count

    def go_on(self, timeout):
        """One turn of all that can send or take. False if nothing could within a time."""
        ready = self.poll.poll(timeout)
        self.peak = max(self.peak, self.server.resident)
        for number, events in ready:
            client, place = self.sockets[number], self.places[number]
            if events & select.EPOLLIN:
                piece = client.recv(1 << 16)
                assert piece and self.expected.startswith(piece, place[1]), piece[:100]
                place[1] += len(piece)
                self.unanswered -= place[1] == len(self.expected)
            if events & select.EPOLLOUT:
                place[0] += client.send(self.sent[place[0] : place[0] + (1 << 18)])
                if place[0] == len(self.sent):
                    self.poll.modify(number, select.EPOLLIN)
        return bool(ready)

    def close(self):
        for client in self.sockets.values():
            client.close()


@pytest.fixture
def stalling_disk(tmp_path):
    """The environment of a server whose syncs wait while a file is there, and that file."""
    switch = tmp_path / "stall"
    return {**preloaded(tmp_path, SHIM), "STALL_SYNC": str(switch)}, switch


def test_what_waits_for_the_disk_is_bounded_and_all_are_answered(keep, stalling_disk, tmp_path):
    raise_descriptors(SESSIONS + 200)
    env, switch = stalling_disk
    limits = tmp_path / "pando.toml"
    limits.write_text(f"[limits]\nupdate-bytes = {UPDATES}\n")
    server = keep("--config", limits, ldif="people.ldif", env=env)
    before = server.resident
    switch.touch()
    clients = Clients(server, SESSIONS)
    try:
        while clients.go_on(2):
            pass
        waiting = sum(sent for sent, _ in clients.places.values())
        grown = clients.peak - before
        assert clients.unanswered == SESSIONS and waiting > 2 * UPDATES, waiting
        assert grown < GROWTH, f"{grown >> 20} MiB for {SESSIONS} sessions"
        # Others read, give up searches and leave.
        other = connect(server)
        assert len(other.search_s(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"])) == 9
        other.abandon(other.search(SUFFIX, ldap.SCOPE_SUBTREE))
        other.unbind_s()
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as leaving:
            leaving.sendall(tlv(0x30, integer(1), bytes.fromhex("4200")))
            assert leaving.recv(1) == b""
        switch.unlink()
        while clients.unanswered:
            assert clients.go_on(PATIENCE), f"{clients.unanswered} sessions of {SESSIONS} are not answered"
        peak = clients.peak - before
        print(f"{SESSIONS} sessions: {grown >> 20} MiB while syncs stood still, {peak >> 20} MiB at most, {waiting >> 20} MiB sent")
    finally:
        switch.unlink(missing_ok=True)
        clients.close()
