"""Nodes whose disk is slow or whose clock is wrong: another one leads, clients of the others notice nothing, and nothing is lost."""

import calendar
import threading
import time

import ldap
import pytest

from conftest import preloaded, wait_for
from test_cluster import Cluster, Node, bound, entries, person, three

# How long a sync of a slow disk takes, in microseconds, and by how many seconds a clock is wrong.
SLOW_US, WRONG = 200_000, 3600
# How long a sync takes that does not return while the test looks.
HANGS_US = 15_000_000
# A sync that returns at once, and one that takes as long as those of a slow disk.
NO_SYNC, BESIDE_US = -1, 4_000
# Syncs after which a node knows how its disk is.
KNOWN_AFTER = 40
# Seconds within which another node leads, on a machine that does much else. It is ten on one that does not.
LEADS_WITHIN = 30

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* The number in the file of this name in the folder MACHINE; 0 if there is none. */
static long number(const char *name) {
    char path[4096], text[32] = {0};
    snprintf(path, sizeof path, "%s/%s", getenv("MACHINE"), name);
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    return atol(text);
}
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    long us = number("sync");
    if (us < 0) return 0;
    /* A sync that hangs ends when the disk is as before. */
    long step = us < 1000000 ? us : 20000;
    for (long slept = 0; slept < us && number("sync") == us; slept += step) usleep(step);
    return real(fd);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += number("clock");
    return done;
}
"""


class Machines(Cluster):
    """A cluster of nodes whose disks can be made slow and whose clocks can be set."""

    def __init__(self, folder):
        super().__init__(folder)
        self.env = preloaded(folder, SHIM)

    def start(self, number, *arguments):
        env = {**self.env, "MACHINE": str(self.folder / f"n{number}")}
        self.nodes[number] = Node(self.folder / f"n{number}", *arguments, env=env)

    def set(self, number, name, value):
        file = self.folder / f"n{number}/{name}.new"
        file.write_text(f"{value}\n")
        file.rename(self.folder / f"n{number}/{name}")

    def log(self, number):
        return self.nodes[number].log

    def node(self, number, at):
        """How a node fares, as another one says it."""
        return next(node for node in self.status(at)["nodes"] if node["id"] == number)


class Writer(threading.Thread):
    """Adds one entry after the other at a node, until it is stopped, and keeps what was acknowledged and how long each took."""

    def __init__(self, node, name):
        super().__init__(daemon=True)
        self.connection, self.name, self.over = bound(node), name, threading.Event()
        self.names, self.took, self.failed = [], [], None

    def run(self):
        try:
            while not self.over.is_set():
                name = f"{self.name}x{len(self.names)}"
                begun = time.monotonic()
                self.connection.add_s(*person(name))
                self.took.append((begun, time.monotonic() - begun))
                self.names.append(name)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test says it
            self.failed = error

    def stop(self):
        self.over.set()
        self.join()
        assert not self.failed, self.failed

    def median_since(self, moment):
        took = sorted(seconds for begun, seconds in self.took if begun >= moment)
        assert len(took) > 10
        return took[len(took) // 2]


@pytest.fixture
def cluster(tmp_path):
    cluster = Machines(tmp_path)
    yield cluster
    cluster.end()


def test_a_leader_whose_disk_is_slow_lets_another_one_lead(cluster):
    three(cluster)
    assert cluster.leader(2) == 1
    term = cluster.status(2)["term"]
    writers = [Writer(cluster.nodes[number], f"at{number}") for number in (1, 2, 3)]
    for writer in writers:
        writer.start()
    wait_for(lambda: all(len(writer.names) > 20 for writer in writers), "updates are acknowledged")
    begun = time.monotonic()
    cluster.set(1, "sync", SLOW_US)
    wait_for(lambda: (cluster.node(1, 2)["sync_ms"] or 0) >= SLOW_US / 1000, "the status shows it")
    assert cluster.leader(2) == 1, "no election for that"
    next_leader = wait_for(lambda: (number := cluster.leader(2)) != 1 and number, "another one leads")
    took = time.monotonic() - begun
    assert 9 < took < LEADS_WITHIN
    # While the disk of the leader was slow, updates at the others waited for theirs.
    assert writers[1].median_since(begun) < 0.1 and writers[2].median_since(begun) < 0.1
    # It was no election.
    assert cluster.status(next_leader)["term"] == term + 1
    assert f"node {next_leader} is to lead: a sync of the log takes 20" in cluster.log(1)
    # The next leader has not heard of it yet.
    wait_for(lambda: "a sync of the disk of node 1 takes 2" in cluster.command(3, "status").out, "the status says it")
    counts = [len(writer.names) for writer in writers]
    wait_for(lambda: all(len(writer.names) > count for writer, count in zip(writers, counts)), "updates go on")
    for writer in writers:
        writer.stop()
    cluster.set(1, "sync", 0)
    cluster.wait_for_safety(next_leader)
    acknowledged = {f"cn={name},ou=people,dc=com" for writer in writers for name in writer.names}
    found = entries(cluster.nodes[1])
    assert acknowledged <= set(found)
    assert entries(cluster.nodes[2]) == found == entries(cluster.nodes[3])


def hanging(cluster, before_us):
    """Makes the disk of node 3 hang, whose syncs took so long before. Returns clients of it, and an entry that came meanwhile."""
    three(cluster)
    wait_for(lambda: cluster.leader(2) == 1, "node 1 leads")
    connections = [bound(cluster.nodes[3]) for _ in range(40)]
    cluster.set(3, "sync", before_us)
    for number in range(KNOWN_AFTER):
        bound(cluster.nodes[1]).add_s(*person(f"before{number}"))
    wait_for(lambda: cluster.node(3, 1)["lag_commands"] == 0, "node 3 has all")
    cluster.set(3, "sync", HANGS_US)
    bound(cluster.nodes[1]).add_s(*person("meanwhile"))
    return connections, person_of("meanwhile")


def person_of(name):
    return f"cn={name},ou=people,dc=com"


def test_clients_of_a_node_whose_disk_hangs_are_busy_and_another_node_has_all(cluster):
    connections, meanwhile = hanging(cluster, NO_SYNC)
    asked, begun = [], time.monotonic()

    def busy():
        """What one more client is refused with, once it is. It may be answered before the node has begun the sync."""
        connection = connections.pop()
        number = connection.delete(person_of("nobody"))
        try:
            connection.result(number, timeout=0.3)
        except ldap.NO_SUCH_OBJECT:
            connections.append(connection)
        except ldap.BUSY as refused:
            return refused.args[0]["info"]
        except ldap.TIMEOUT:
            asked.append(connection)

    assert wait_for(busy, "clients are refused") == "the log of this server stands still: nothing was changed; try again at another server"
    assert time.monotonic() - begun < HANGS_US / 1e6
    # Those that had come before are answered as well.
    with pytest.raises(ldap.BUSY):
        asked[0].result(timeout=HANGS_US / 1e6)
    with pytest.raises(ldap.BUSY, match="no majority of the cluster's servers answers"):
        connections.pop().read_s(meanwhile)
    assert time.monotonic() - begun < HANGS_US / 1e6, "nobody waited for the disk"
    others_have_it_and_then_all(cluster, meanwhile)


def test_a_node_whose_disk_hangs_and_was_slow_before_sends_updates_to_the_leader_and_its_reads_are_busy(cluster):
    connections, meanwhile = hanging(cluster, BESIDE_US)
    begun = time.monotonic()
    connection = connections.pop()
    # The other two are a majority, and the leader says what became of it.
    connection.add_s(*person("through"))
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connection.delete_s(person_of("nobody"))
    for reader in connection, connections.pop():
        with pytest.raises(ldap.BUSY, match="no majority of the cluster's servers answers"):
            reader.read_s(meanwhile)
    assert time.monotonic() - begun < HANGS_US / 1e6, "nobody waited for the disk"
    others_have_it_and_then_all(cluster, person_of("through"))


def others_have_it_and_then_all(cluster, dn):
    """The two other nodes have an entry, and node 3 has it when its disk is as before."""
    for number in (1, 2):
        assert bound(cluster.nodes[number]).read_s(dn)
    cluster.set(3, "sync", 0)
    wait_for(lambda: cluster.status(1)["can_lose_one"], "the disk answers again")
    assert bound(cluster.nodes[3]).read_s(dn)


def test_a_clock_that_is_wrong_is_shown_and_dates_nothing(cluster):
    three(cluster)
    offset = lambda number, at: cluster.node(number, at)["clock_offset_seconds"]
    right = lambda at: all((seconds := offset(number, at)) is not None and abs(seconds) < 0.3 for number in (1, 2, 3))
    wait_for(lambda: right(1), "clocks are known")
    cluster.set(1, "clock", WRONG)
    wait_for(lambda: abs((offset(1, 2) or 0) - WRONG) < 0.3, "the status shows it")
    assert abs(offset(2, 2)) < 0.3 and abs(offset(3, 2)) < 0.3
    wait_for(lambda: "the clock of node 1 is 3600.0 s ahead of those of a majority" in cluster.log(1), "the log says it")
    assert "the clock of node 1 is 3600.0 s ahead" in cluster.command(3, "status").out
    assert cluster.leader(2) == 1
    bound(cluster.nodes[1]).add_s(*person("early"))
    created = bound(cluster.nodes[2]).read_s("cn=early,ou=people,dc=com", attrlist=["createTimestamp"])["createTimestamp"]
    assert abs(time.time() - seconds_of(created[0].decode())) < 60, "it is dated by the others' clocks"
    next_leader = wait_for(lambda: (number := cluster.leader(2)) != 1 and number, "another one leads")
    wait_for(lambda: abs((offset(1, next_leader) or 0) - WRONG) < 0.3, "the next leader shows it, too")
    assert "the clock here is 3600.0 s from those of a majority" in cluster.log(1)
    cluster.set(1, "clock", 0)
    wait_for(lambda: right(next_leader), "it is right again")
    wait_for(lambda: "the clock of node 1 is right again" in cluster.log(next_leader), "the log says it")


def seconds_of(generalized):
    """Of 20261127001530Z or with a fraction of a second, as UTC."""
    return calendar.timegm(time.strptime(generalized[:14], "%Y%m%d%H%M%S"))
