"""What goes wrong at the nodes of a cluster: processes, links between them and disks, at moments that follow from a seed."""

import json
import shutil
import signal
import time

import ldap

from conftest import SECRET, connect, preloaded, wait_for, wait_until
from relay import Relay
from test_cluster import ROOT, Cluster, Node, free_port

# Seconds after which a fault of a round begins at the latest, and how long it lasts at least and at most.
BEGIN, SHORT, LONG = 1, 0.3, 4
# Seconds by which what a node sends and gets is late.
LATE = 0.03
# More than the three files of the log take that a node has at least, in values of so many bytes.
BIG, BIG_VALUES = 1_000_000, 210

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* Is the file of this name in the folder DISK_FAULTS? */
static int is(const char *fault) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("DISK_FAULTS"), fault);
    return access(path, F_OK) == 0;
}
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (is("slow")) usleep(200000);
    if (is("broken")) { errno = EIO; return -1; }
    return real(fd);
}
int open64(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (flags & O_CREAT && is("full")) { errno = ENOSPC; return -1; }
    return real(path, flags, mode);
}
/* So no file of the log is used again. */
int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (is("full")) { errno = ENOSPC; return -1; }
    return real(from, to);
}
"""


class Disturbed(Cluster):
    """A cluster whose nodes reach each other through a relay, and whose disks can be disturbed."""

    def __init__(self, folder):
        super().__init__(folder)
        self.relay = Relay(self.node_of)
        self.env = preloaded(folder, SHIM)
        # Where each node listens for others.
        self.ports = {}
        self.starts = 0

    def node_of(self, command):
        """The number of the node that a command line starts."""
        if b"serve" not in command:
            return None
        folders = {str(self.folder / f"n{number}/data").encode(): number for number in self.ports}
        return next((folders[part] for part in command if part in folders), None)

    def begin(self, number, *arguments, listen=None):
        self.folder_of(number).mkdir(exist_ok=True)
        self.ports[number] = free_port()
        listen = listen or f"ldap://127.0.0.1:{free_port()}"
        self.addresses[number] = (listen, self.relay.listen(number, self.ports[number]))
        self.start(number, "--listen", listen, "--peer-advertise", self.addresses[number][1], *arguments)

    def start(self, number, *arguments):
        folder = self.folder_of(number)
        (folder / "faults").mkdir(exist_ok=True)
        # What it said at earlier starts is kept, for those who look for the cause of a failure.
        if (folder / "log").exists():
            self.starts += 1
            (folder / "log").rename(folder / f"log.{self.starts}")
        env = {**self.env, "DISK_FAULTS": str(folder / "faults")}
        self.nodes[number] = Node(folder, "--peer", f"127.0.0.1:{self.ports[number]}", *arguments, env=env)

    def folder_of(self, number):
        return self.folder / f"n{number}"

    def end(self):
        self.relay.close()
        super().end()


class Nemesis:
    """Faults of a cluster. Each method of `kinds` begins one, at a node that has none, and returns what ends it."""

    def __init__(self, cluster, chance):
        self.cluster, self.chance = cluster, chance
        self.begun = time.monotonic()
        self.kinds = [
            self.kill, self.kill_leader, self.stand_still, self.isolate, self.hear_nothing, self.say_nothing, self.break_link,
            self.late, self.slow_disk, self.full_disk, self.broken_disk, self.move_leader, self.restart, self.drain, self.replace,
        ]
        self.due = []
        # Nodes with a fault.
        self.disturbed = set()

    def say(self, *what):
        print(f"{time.monotonic() - self.begun:8.2f}", *what, flush=True)

    def round(self):
        """Two faults, which begin and last as chance wants; all is well afterwards."""
        start = time.monotonic()
        ends = []
        for _ in range(2):
            # Each kind in its turn.
            if not self.due:
                self.due = self.chance.sample(self.kinds, len(self.kinds))
            fault = self.due.pop()
            wait_until(start + self.chance.uniform(0, BEGIN))
            # A node joins, and is drained no longer, when it reaches a majority again.
            seconds = LONG if fault in (self.replace, self.drain) else self.chance.uniform(SHORT, LONG)
            ends.append((BEGIN + seconds, fault()))
        for seconds, end in sorted(ends, key=lambda pair: pair[0]):
            wait_until(start + seconds)
            end()
        self.disturbed.clear()
        self.say("all is well")

    def well(self):
        return sorted(set(self.cluster.nodes) - self.disturbed)

    def any(self):
        return self.disturb(self.chance.choice(self.well()))

    def disturb(self, number):
        self.disturbed.add(number)
        return number

    def others(self, number):
        return [other for other in self.cluster.ports if other != number]

    def leader(self):
        """The node that leads, or any if it is disturbed or nobody knows."""
        well = self.well()
        said = self.cluster.command(well[0], "status", code=None).out
        leads = [int(line.split()[0]) for line in said.splitlines() if " leader " in line]
        return self.disturb(leads[0]) if leads and leads[0] in well else self.any()

    def kill(self):
        return self.kill_node(self.any())

    def kill_leader(self):
        return self.kill_node(self.leader())

    def kill_node(self, number):
        self.say("kill", number)
        self.cluster.kill(number)
        return lambda: self.start(number)

    def start(self, number):
        self.say("start", number)
        self.cluster.start(number)

    def stand_still(self):
        number = self.any()
        self.say("stop", number)
        self.signal(number, signal.SIGSTOP)
        return lambda: (self.say("continue", number), self.signal(number, signal.SIGCONT))

    def signal(self, number, which):
        self.cluster.nodes[number].process.send_signal(which)

    def cut(self, what, *ways):
        self.say(what, *ways)
        self.cluster.relay.cut(*ways)
        return lambda: (self.say("heal", *ways), self.cluster.relay.heal(*ways))

    def isolate(self):
        number = self.any()
        ways = [(number, other) for other in self.others(number)]
        return self.cut("isolate", *ways, *(way[::-1] for way in ways))

    def hear_nothing(self):
        number = self.any()
        return self.cut("hear nothing", *((other, number) for other in self.others(number)))

    def say_nothing(self):
        number = self.leader()
        return self.cut("say nothing", *((number, other) for other in self.others(number)))

    def break_link(self):
        number = self.any()
        return self.cut("break a link", (number, self.chance.choice(self.others(number))))

    def late(self):
        number = self.any()
        ways = [way for other in self.others(number) for way in ((number, other), (other, number))]
        self.say("late", number)
        self.cluster.relay.delay(LATE, *ways)
        return lambda: self.cluster.relay.heal(*ways)

    def disk(self, number, fault):
        self.say(fault, "disk", number)
        file = self.cluster.folder_of(number) / "faults" / fault
        file.touch()
        return lambda: (self.say("the disk is well", number), file.unlink(missing_ok=True))

    def slow_disk(self):
        return self.disk(self.leader(), "slow")

    def full_disk(self):
        number = self.any()
        heal = self.disk(number, "full")
        self.write_much()
        return heal

    def write_much(self):
        """Until the log has no place in the files that there are."""
        value = b"x" * BIG
        change = [(ldap.MOD_REPLACE, "description", value)]
        try:
            connection = connect(self.cluster.nodes[self.well()[0]], ROOT, SECRET)
            connection.set_option(ldap.OPT_TIMEOUT, LONG)
            for number in range(BIG_VALUES):
                connection.modify_s("dc=com", change)
        except ldap.LDAPError as error:
            self.say("much is written until", type(error).__name__)

    def broken_disk(self):
        number = self.any()
        heal = self.disk(number, "broken")
        return lambda: (heal(), self.start_again(number))

    def start_again(self, number):
        """A node that ended when its disk failed, or has not noticed."""
        node = self.cluster.nodes.pop(number)
        node.kill()
        self.start(number)

    def move_leader(self):
        to = self.chance.choice(self.well())
        self.say("move the leader to", to, self.cluster.command(to, "move-leader", to, code=None).err)
        return lambda: None

    def restart(self):
        number = self.any()
        self.say("restart", number)
        self.cluster.nodes.pop(number).end()
        return lambda: self.start(number)

    def drain(self):
        """A node is prepared for its end, which does not come."""
        number = self.any()
        self.say("drain", number, self.cluster.command(number, "drain", number, code=None).err)
        return lambda: self.asks(number, "drain", number, "--undo")

    def asks(self, at, *command):
        """Until it is done: an election may be in progress."""
        self.say(*command)
        wait_for(lambda: self.cluster.command(at, *command, code=None).code == 0, command[0])

    def replace(self):
        """A node and its disk are lost."""
        number = self.any()
        self.say("lose", number)
        self.cluster.kill(number)
        shutil.rmtree(self.cluster.folder_of(number))
        return lambda: self.join_for(number)

    def joins(self, new, listen):
        try:
            self.cluster.begin(new, "--join", self.cluster.folder / f"token{new}", listen=listen)
            return True
        except AssertionError as error:
            # An election is in progress.
            assert "try again" in str(error)
            return False

    def join_for(self, number):
        """Another node takes the place of one that is lost, and its address for clients."""
        new = max(self.cluster.ports) + 1
        at = self.well()[0]
        token = ["-o", self.cluster.folder / f"token{new}"]
        # The operator removes it, or lets the new one take its place.
        by_itself = self.chance.random() < 0.5
        self.asks(at, *(["replace", number] if by_itself else ["token"]), *token)
        self.say("join", new)
        listen, _ = self.cluster.addresses.pop(number)
        self.cluster.ports.pop(number)
        wait_for(lambda: self.joins(new, listen), "it joins")
        if by_itself:
            wait_for(lambda: not self.knows(at, number), "the new one takes its place")
        else:
            self.asks(at, "remove", number)

    def knows(self, at, number):
        """Is it a member, as far as a node can say?"""
        said = self.cluster.command(at, "status", "--json", code=None)
        return bool(said.code) or number in [node["id"] for node in json.loads(said.out)["nodes"]]
