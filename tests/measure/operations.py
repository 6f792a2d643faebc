"""What clients at full load notice of an operator's work: of another leader, of a drain and restart of each node, of a node that is replaced.

usage: tests/measure/operations.py [ROW...], with the interpreter of target/venv; PANDO names the binary. All rows if none is given. ENTRIES is the number
of entries, 100,000 if it is not set.

Three nodes on this machine, and `pando bench modify` at queue 100, as fast as it goes, at each node that stays. A line for each piece of work has what
these clients were answered, and the longest time between two answers to another client, which sends one update after the other to a node
that stays. Busy, unknown (52) and cut connections are counted apart. Another node should lead 50 ms after it is asked to. It fails if there is any other result that is no success.
"""

import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import ldap  # noqa: E402
from conftest import wait_for, wait_until  # noqa: E402
from full_load import FullLoad  # noqa: E402
from replace import make, replace  # noqa: E402
from test_cluster import SUFFIX, bound  # noqa: E402

ENTRIES = int(os.environ.get("ENTRIES", "100000"))
# Connections of the load at each node; moves of the leader, seconds between two of them, and within which time another one is to lead.
CONNECTIONS, MOVES, APART, AIM = 4, 20, 0.5, 0.05


class Probe(threading.Thread):
    """A client that sends one update after the other until `end`. What it is refused, it sends again. What it fails with, those raise who wait for it."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.session, self.over, self.answers, self.failed = bound(node), threading.Event(), [], None
        self.start()
        self.wait_for_more_than(0)

    def run(self):
        try:
            self.write()
        except Exception as error:
            self.failed = error

    def write(self):
        number = 0
        while not self.over.is_set():
            number += 1
            try:
                self.session.modify_s(f"uid=0,{SUFFIX}", [(ldap.MOD_REPLACE, "carLicense", str(number).encode())])
            except (ldap.BUSY, ldap.UNAVAILABLE):
                continue
            self.answers.append(time.monotonic())

    def raise_failure(self):
        if self.failed:
            raise self.failed

    def wait_for_more_than(self, count):
        """Waits until it has so many answers and one more."""
        wait_for(lambda: len(self.answers) > count or self.failed, "it writes")
        self.raise_failure()

    def longest(self, since=0):
        """Seconds between two answers, of those after a moment."""
        answers = [answer for answer in self.answers if answer > since]
        return max(later - earlier for earlier, later in zip(answers, answers[1:]))

    def end(self):
        self.over.set()
        self.join()
        self.raise_failure()


class Clients:
    """Load at some nodes, and the other client at the first of them."""

    def __init__(self, cluster, numbers):
        self.loads = [FullLoad(cluster, number, ENTRIES, CONNECTIONS) for number in numbers]
        self.probe = Probe(cluster.nodes[numbers[0]])

    def end(self, what):
        """Ends them, and says what they were answered. Returns the number of wrong results."""
        [load.over.set() for load in self.loads]
        wrong = sum(load.end() for load in self.loads)
        self.probe.end()
        for load in self.loads:
            print(f"{what}: node {load.number}: {load}", flush=True)
        print(f"{what}: at most {1000 * self.probe.longest():.0f} ms between two answers at node {self.loads[0].number}", flush=True)
        return wrong


def moves(cluster, probe):
    """Has each node lead in turn. Returns the longest time between two answers of each move."""
    gaps = []
    for number in range(MOVES):
        wait_until(time.monotonic() + APART)
        began, to = probe.answers[-1], 1 + number % 3
        cluster.command(1, "move-leader", to)
        probe.wait_for_more_than(len(probe.answers))
        gaps.append(probe.longest(began - 0.001))
    return gaps


def gaps_text(gaps):
    within = sum(gap <= AIM for gap in gaps)
    return f"{within} of {len(gaps)} within {1000 * AIM:.0f} ms, median {1000 * statistics.median(gaps):.0f} ms, longest {1000 * max(gaps):.0f} ms between two answers"


def move_leader(cluster):
    cluster.command(1, "move-leader", 3)
    probe = Probe(cluster.nodes[1])
    gaps = moves(cluster, probe)
    probe.end()
    print(f"move-leader, one client alone: {gaps_text(gaps)}", flush=True)
    clients = Clients(cluster, (1, 2, 3))
    gaps = moves(cluster, clients.probe)
    wrong = clients.end("move-leader")
    print(f"move-leader, full load: {gaps_text(gaps)}", flush=True)
    return wrong


def restart(cluster):
    """Each node is drained while it leads, ended and started."""
    wrong = 0
    for number in (1, 2, 3):
        stay = [other for other in (1, 2, 3) if other != number]
        cluster.command(stay[0], "move-leader", number)
        clients = Clients(cluster, stay)
        cluster.command(stay[0], "drain", number)
        wait_until(time.monotonic() + APART)
        cluster.nodes.pop(number).end()
        wait_until(time.monotonic() + APART)
        cluster.start(number)
        cluster.wait_for_safety(stay[0])
        wait_for(lambda: cluster.command(number, "ready", code=None).code == 0, "it serves again")
        wrong += clients.end(f"drain and restart of node {number}")
    return wrong


def end(cluster):
    """A node ends that leads, without a drain."""
    cluster.command(1, "move-leader", 3)
    clients = Clients(cluster, (1, 2))
    cluster.nodes.pop(3).end()
    wait_until(time.monotonic() + APART)
    cluster.start(3)
    cluster.wait_for_safety(1)
    return clients.end("end of the leader")


def lose(cluster):
    """A node that leads is killed and replaced: there is no leader for a while."""
    cluster.command(1, "move-leader", 3)
    clients = Clients(cluster, (1, 2))
    replace(cluster, 1)
    return clients.end("replace of the leader, which is lost")


ROWS = {"move-leader": move_leader, "restart": restart, "end": end, "replace": lose}


def main(rows):
    wrong = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
        cluster = make(Path(name), ENTRIES)
        try:
            # The last one takes node 3 away.
            for row in [row for row in ROWS if row in (rows or ROWS)]:
                wrong += ROWS[row](cluster)
        finally:
            cluster.end()
    print(f"{wrong} results that one node alone would not give, but busy, unknown and cut")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
