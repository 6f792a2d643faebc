"""A relay between the nodes of a cluster, which can hold or delay what one sends to another. It needs no rights that a network needs."""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path

# Bytes that are handed on at once.
CHUNK = 1 << 16
# How often it is looked for the process that has connected. One that has gone meanwhile is not found.
LOOKS = 5


class Relay:
    """Listens at an address for each node, and hands on what comes there."""

    def __init__(self, node_of):
        """`node_of` tells the number of the node that a command line starts, or None."""
        self.node_of, self.listening = node_of, []
        # What goes from one node to another and is held, and for how many seconds the rest is kept.
        self.cuts, self.delays = set(), {}
        self.changed = threading.Condition()

    def listen(self, number, port):
        """The address at which others reach node `number`, which listens at `port`."""
        server = socket.create_server(("127.0.0.1", 0))
        self.listening.append(server)
        threading.Thread(target=self.accept, args=(server, number, port), daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    def cut(self, *ways):
        """Holds what goes these ways, which are pairs of numbers: also what is in progress, and the end of a connection."""
        with self.changed:
            self.cuts.update(ways)

    def delay(self, seconds, *ways):
        """Keeps what goes these ways for so many seconds at least, and twice that at most."""
        self.delays.update(dict.fromkeys(ways, seconds))

    def heal(self, *ways):
        """Lets all go on that goes these ways."""
        with self.changed:
            self.cuts.difference_update(ways)
            for way in ways:
                self.delays.pop(way, None)
            self.changed.notify_all()

    def close(self):
        with self.changed:
            self.cuts.clear()
            self.changed.notify_all()
        for server in self.listening:
            server.close()

    def accept(self, server, number, port):
        while True:
            try:
                came, (_, from_port) = server.accept()
            except OSError:
                return
            try:
                onward = socket.create_connection(("127.0.0.1", port))
            except OSError:
                came.close()
                continue
            source = self.source(from_port, server.getsockname()[1])
            for end in (came, onward):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for way in ((came, onward, (source, number)), (onward, came, (number, source))):
                threading.Thread(target=self.pump, args=way, daemon=True).start()

    def source(self, from_port, to_port):
        """The node whose process has connected from one port of this machine to another; None if it is none."""
        ends = (f"0100007F:{from_port:04X}", f"0100007F:{to_port:04X}")
        # What is listed while it changes may lack a line: then the link would never be cut.
        for _ in range(LOOKS):
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            sockets = {f"socket:[{fields[9]}]" for fields in lines if (fields[1], fields[2]) == ends}
            for process in Path("/proc").glob("[0-9]*"):
                if sockets & set(descriptors(process)):
                    return self.node_of(command(process))
        return None

    def pump(self, source, target, way):
        """Hands on what comes in one direction, and its end."""
        try:
            while True:
                data = receive(source)
                if seconds := self.delays.get(way):
                    time.sleep(seconds)
                with self.changed:
                    self.changed.wait_for(lambda: way not in self.cuts)
                if not data:
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # It has ended on that side: the other direction learns it as well.
            source.close()
            target.close()


def command(process):
    """The command line of a process; nothing of one that has gone."""
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def descriptors(process):
    """What a process has open. A descriptor that is closed meanwhile is left out, and so are all of a process that has gone."""
    with contextlib.suppress(OSError):
        for file in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield os.readlink(file)


def receive(source):
    try:
        return source.recv(CHUNK)
    except ConnectionResetError:
        return b""
