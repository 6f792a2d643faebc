"""What three nodes cost, against a server alone: CPU time of servers for an operation, and rates on the wall.

usage: tests/measure/cluster_costs.py [ROW...], with the interpreter of target/venv; PANDO names the binary, a release build. All rows if none is given.

All servers and the client share this machine, so the rates say what the machine does with three times the work, and not what three machines do. Both
directories are durable (`--sync always`) and hold the same ENTRIES entries of 112 bytes. The server alone and the cluster are asked in turn, PAIRS
times for SECONDS each; a figure is the median of the pairs, with the lowest and the highest. Before, each writes until a snapshot has released files
of its log: a new file is filled with zeros, which one that was used before is not. Nothing is switched off.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import ldap  # noqa: E402
import test_cluster  # noqa: E402
from conftest import PANDO, SECRET, run  # noqa: E402
from policy_costs import cpu  # noqa: E402
from test_cluster import ROOT, SUFFIX, Cluster, bound  # noqa: E402
from test_cluster_reads import set_to  # noqa: E402

ENTRIES = int(os.environ.get("ENTRIES", "100000"))
PAIRS = int(os.environ.get("PAIRS", "5"))
SECONDS = int(os.environ.get("SECONDS", "4"))
CONNECTIONS = 8


def processor_time(nodes):
    """Seconds that each of these servers has run."""
    return [cpu(node.pid) for node in nodes]


class Side:
    """The server that is asked, and all whose time is counted; `asked` is the first of `nodes`."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def bench(self, workload, queue, rate=None):
        """Operations per second, and microseconds of each server for an operation."""
        paced = [] if rate is None else ["--rate", str(rate)]
        arguments = ["--url", self.nodes[0].url, "--bind-dn", ROOT, "--password", SECRET, "--entries", str(ENTRIES), "--base", SUFFIX,
                     "--connections", str(CONNECTIONS), "--queue", str(queue), "--warmup", "0", "--seconds", str(SECONDS), "--threads", "1", "--json"]
        before = processor_time(self.nodes)
        report = json.loads(run(PANDO, "bench", *workload, *arguments, *paced).out)
        used = [after - first for first, after in zip(before, processor_time(self.nodes))]
        assert report["errors"] == 0, report
        operations = report["operations"]
        return report["rate"], [1e6 * time_ / operations for time_ in used]


def said(values, unit=""):
    low, high = min(values), max(values)
    return f"{statistics.median(values):.2f}{unit} ({low:.2f}-{high:.2f})"


def compare(what, alone, cluster, workload, queue, rate=None):
    """A line for an operation at a server alone and at a node of a cluster."""
    pairs = []
    for side in (alone, cluster):
        side.bench(workload, queue, rate)
    for _ in range(PAIRS):
        pairs.append((alone.bench(workload, queue, rate), cluster.bench(workload, queue, rate)))
    first = [theirs[1][0] / own[1][0] for own, theirs in pairs]
    every = [sum(theirs[1]) / own[1][0] for own, theirs in pairs]
    wall = [100 * theirs[0] / own[0] for own, theirs in pairs]
    rates = [statistics.median(pair[side][0] for pair in pairs) for side in (0, 1)]
    print(f"| {what} | {rates[0]:,.0f} | {rates[1]:,.0f} | {statistics.median(own[1][0] for own, _ in pairs):.2f} | {said(first)} | {said(every)} | {said(wall, ' %')} |", flush=True)
    return rates[1]


def snapshot(node):
    """The last record of the log that the last snapshot of this server has."""
    found = bound(node).search_s("cn=Snapshot,cn=Log,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorCounter"])
    return int(found[0][1]["monitorCounter"][0])


def write_until_files_come_again(side):
    """Modifies until each of these servers has made a snapshot meanwhile, twice: the first one may have released nothing."""
    for _ in range(2):
        before = [snapshot(node) for node in side.nodes]
        for _ in range(100):
            side.bench(["modify"], 1000)
            if all(snapshot(node) > first for node, first in zip(side.nodes, before)):
                break
        else:
            sys.exit("a server makes no snapshot")


def modifies(alone, leader, follower):
    for queue in (100, 1000):
        most = compare(f"modify q{queue} at the leader", alone, leader, ["modify"], queue)
        if queue == 100:
            compare("the same at a quarter of that rate", alone, leader, ["modify"], queue, round(most / 4))
            compare("the same at half of that rate", alone, leader, ["modify"], queue, round(most / 2))
        compare(f"modify q{queue} at a follower", alone, follower, ["modify"], queue)


def mixed(alone, leader, follower):
    compare("half modifies q100 at the leader", alone, leader, ["mixed"], 100)
    compare("half modifies q100 at a follower", alone, follower, ["mixed"], 100)


def searches(alone, leader, follower):
    for side, where in ((leader, "the leader"), (follower, "a follower")):
        compare(f"base search q100 at {where}", alone, side, ["search-base"], 100)


def leases(alone, leader, _follower):
    """Base searches within the leader's lease; afterwards reads ask again."""
    set_to(bound(leader.nodes[0]), "pandoReads", "lease")
    compare("base search q100 at the leader, by its lease", alone, leader, ["search-base"], 100)
    set_to(bound(leader.nodes[0]), "pandoReads", "quorum")


def idle(_alone, leader, _follower):
    before = processor_time(leader.nodes)
    time.sleep(20)
    used = ", ".join(f"{100 * (after - first) / 20:.2f} %" for first, after in zip(before, processor_time(leader.nodes)))
    print(f"\nidle for 20 s, of a core, leader first: {used}\n", flush=True)


ROWS = {"modify": modifies, "mixed": mixed, "search": searches, "lease": leases, "idle": idle}


def main(rows):
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
        folder = Path(name)
        ldif = folder / "all.ldif"
        run(PANDO, "gen", "--template", "dvtds", "--count", str(ENTRIES), "-o", ldif)
        common = ["--schema", "dvtds", "--import", ldif]
        (folder / "alone").mkdir()
        alone = Cluster(folder / "alone")
        root = ["--suffix", SUFFIX, "--root-dn", ROOT, "--root-password-file", alone.folder / "root.password"]
        server = test_cluster.Node(alone.folder, "--listen", "ldap://127.0.0.1:0", *root, *common)
        (folder / "three/n1").mkdir(parents=True)
        three = Cluster(folder / "three")
        test_cluster.Node(three.folder / "n1", "--listen", "ldap://127.0.0.1:0", *root, *common).end()
        listen, peer = f"ldap://127.0.0.1:{test_cluster.free_port()}", f"127.0.0.1:{test_cluster.free_port()}"
        three.start(1, "--listen", listen, "--peer", peer, "--init-cluster")
        three.join(2)
        three.join(3)
        three.wait_for_safety(1)
        nodes = three.nodes
        print(f"{ENTRIES} entries, {CONNECTIONS} connections, medians of {PAIRS} pairs of {SECONDS} s\n")
        print("| what | alone, 1/s | cluster, 1/s | us alone | asked server / alone | all servers / alone | rate of alone |\n|---|---|---|---|---|---|---|", flush=True)
        try:
            sides = Side(server), Side(nodes[1], nodes[2], nodes[3]), Side(nodes[2], nodes[1], nodes[3])
            for side in sides[:2]:
                write_until_files_come_again(side)
            for row in rows or ROWS:
                ROWS[row](*sides)
        finally:
            three.end()
            server.end()


if __name__ == "__main__":
    main(sys.argv[1:])
