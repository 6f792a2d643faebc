"""How long after a kill -9 of the leader is an update accepted again, and is everything there that was acknowledged?

usage: tests/measure/leader_kills.py [KILLS], with the interpreter of target/venv; PANDO names the binary. 50 kills if no number is given.

Three nodes on this machine, and six clients that add entries all the time, each at one node until it loses it or is answered `busy`. Each round kills
the leader at a random moment and starts it again when all clients have added something since. The time is that from the kill to the
answer to the first update that was sent after it, by any of them. What was on its way at the kill, at nodes that live, is to have its outcome
within 3 s of that answer: the next leader's first commit tells it. Busy, unknown (52) and cut connections are no loss and are
counted apart. In the end each node is asked for all entries that were acknowledged. PANDO_KILL_SEED gives other moments.
"""

import os
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import ldap  # noqa: E402
from conftest import KILL_SEED, SECRET, connect, wait_for, wait_until  # noqa: E402
from test_cluster import PEOPLE, ROOT, Cluster, person, three  # noqa: E402

CLIENTS = 6
# Seconds of a round before the kill at most, for an answer, and in which an update should be accepted again.
LOAD, ANSWER, AIM = 2, 15, 3
COUNTED = {"busy": ldap.BUSY, "unknown": ldap.UNAVAILABLE, "cut": ldap.SERVER_DOWN, "silent": ldap.TIMEOUT}


class Client(threading.Thread):
    """Adds entries until it is told to stop."""

    def __init__(self, cluster, number, over):
        super().__init__(daemon=True)
        self.cluster, self.number, self.over = cluster, number, over
        self.chance = random.Random(f"{KILL_SEED} client {number}")
        self.counts = dict.fromkeys([*COUNTED, "other"], 0)
        # Names that were acknowledged, and when each was sent and answered.
        self.acknowledged, self.times = [], []
        # When each was sent, and when its outcome was known or the connection was cut.
        self.outcomes = []

    def run(self):
        connection, count = None, 0
        while not self.over.is_set():
            try:
                connection = connection or self.connect()
                count += 1
                name, sent = f"c{self.number}-{count}", time.monotonic()
                connection.add_s(*person(name))
                self.acknowledged.append(name)
                self.times.append((sent, time.monotonic()))
                self.outcomes.append(self.times[-1])
            except (ldap.LDAPError, IndexError) as error:
                if connection:
                    self.outcomes.append((sent, time.monotonic()))
                connection = None
                self.counts[next((what for what, kind in COUNTED.items() if isinstance(error, kind)), "other")] += 1

    def connect(self):
        node = self.chance.choice(list(self.cluster.nodes.values()))
        connection = connect(node, None)
        connection.set_option(ldap.OPT_TIMEOUT, ANSWER)
        connection.simple_bind_s(ROOT, SECRET)
        return connection

    def again(self, moment):
        """How many seconds after a moment an update was answered that was sent after it; None if none was."""
        answers = [answered for sent, answered in reversed(self.times[-1000:]) if sent > moment]
        return answers[-1] - moment if answers else None


    def outcome_after(self, moment):
        """When the outcome was known of what was on its way at a moment; None if nothing was."""
        return next((known for sent, known in reversed(self.outcomes[-1000:]) if sent <= moment < known), None)


def sum_of(clients):
    return {what: sum(client.counts[what] for client in clients) for what in clients[0].counts}


def kill_one(cluster, clients, chance, number):
    leader = cluster.leader(min(cluster.nodes))
    before = sum_of(clients)
    wait_until(time.monotonic() + chance.uniform(0, LOAD))
    moment = time.monotonic()
    cluster.kill(leader)
    wait_for(lambda: all(client.again(moment) for client in clients), "all clients go on")
    times = [client.again(moment) for client in clients]
    # Of no update if the clients of living nodes had none on its way.
    outcomes = [known - moment - min(times) for client in clients if (known := client.outcome_after(moment))]
    last = max(outcomes, default=0)
    cluster.start(leader)
    cluster.wait_for_safety(min(set(cluster.nodes) - {leader}))
    counts = {what: count - before[what] for what, count in sum_of(clients).items()}
    row = [f"{number:4}", f"{leader:6}", f"{min(times):9.2f}", f"{max(times):9.2f}", f"{last:10.2f}", *(f"{count:8}" for count in counts.values())]
    print(*row, f"{os.getloadavg()[0]:6.1f}", flush=True)
    return min(times), last


def lost(cluster, clients):
    """Entries that were acknowledged and are missing, at any node."""
    acknowledged = {f"cn={name},{PEOPLE}" for client in clients for name in client.acknowledged}
    missing = set()
    for node in cluster.nodes.values():
        found = connect(node, ROOT, SECRET).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, attrlist=["1.1"])
        missing |= acknowledged - {dn for dn, _ in found}
    return len(acknowledged), missing


def main(kills):
    chance = random.Random(f"{KILL_SEED} leader kills")
    with tempfile.TemporaryDirectory() as folder:
        cluster = three(Cluster(Path(folder)))
        over = threading.Event()
        clients = [Client(cluster, number, over) for number in range(CLIENTS)]
        try:
            for client in clients:
                client.start()
            print("kill leader  first, s  all, s  outcome, s", *(f"{what:>8}" for what in clients[0].counts), "  load")
            times, outcomes = zip(*[kill_one(cluster, clients, chance, number) for number in range(1, kills + 1)])
            over.set()
            for client in clients:
                client.join()
            cluster.wait_for_safety(1)
            count, missing = lost(cluster, clients)
        finally:
            over.set()
            cluster.end()
    within = sum(seconds <= AIM for seconds in times)
    print(f"{within} of {kills} within {AIM} s, median {statistics.median(times):.2f} s, longest {max(times):.2f} s")
    known = sum(seconds <= AIM for seconds in outcomes)
    print(f"outcomes of what was on its way: {known} of {kills} within {AIM} s of that, longest {max(outcomes):.2f} s")
    print(f"{count} acknowledged, {len(missing)} of them lost", *sorted(missing)[:10])
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
