"""What three nodes cost, against a server alone: CPU time of servers for an operation, and rates on the wall.

usage: tests/measure/cluster_costs.py [ROW...], with the interpreter of target/venv; PANDO names the binary, a release build. All rows if none is given.

All servers and the client share this machine, so the rates say what the machine does with three times the work, and not what three machines do. Both
directories are durable (`--sync always`) and hold the same ENTRIES entries of 112 bytes. The server alone and the cluster are asked in turn, PAIRS
times for SECONDS each; what is printed is the median of the pairs with its 90 % interval. A bar on CPU time is missed when the lower end of that interval is
beyond it, and a bar on a rate when the median is. Updates of a parcel stand beside: the more there are, the less each costs. Before, each
side writes until a snapshot has released files of its log: a new file is filled with zeros, which one that was used before is not. Nothing is switched off.
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
from intervals import interval  # noqa: E402
from policy_costs import cpu  # noqa: E402
from test_cluster import ROOT, SUFFIX, Cluster, bound  # noqa: E402
from test_cluster_reads import set_to  # noqa: E402

ENTRIES = int(os.environ.get("ENTRIES", "100000"))
PAIRS = int(os.environ.get("PAIRS", "20"))
SECONDS = float(os.environ.get("SECONDS", "1"))
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


def said(values, most=None, least=None, unit=""):
    """The median with its interval, and whether it is within its bar."""
    median, (low, high) = statistics.median(values), interval(values)
    is_missed = (most is not None and low > most) or (least is not None and median < least)
    bar = f", <= {most}" if most is not None else f", >= {least}{unit}" if least is not None else ""
    return f"{'**MISSED** ' if is_missed else ''}{median:.2f}{unit} ({low:.2f}-{high:.2f}){bar}"


def compare(what, alone, cluster, workload, queue, rate=None, asked_most=None, all_most=None, wall_least=None):
    """A line for an operation at a server alone and at a node of a cluster, with bars on the CPU time of the server that is asked and of all, and
    on the rate in percent.
    """
    pairs, parcels = [], 0
    for side in (alone, cluster):
        side.bench(workload, queue, rate)
    for _ in range(PAIRS):
        own, before = alone.bench(workload, queue, rate), counter(cluster.nodes[0], "Applied")
        pairs.append((own, cluster.bench(workload, queue, rate)))
        parcels += counter(cluster.nodes[0], "Applied") - before
    first = [theirs[1][0] / own[1][0] for own, theirs in pairs]
    every = [sum(theirs[1]) / own[1][0] for own, theirs in pairs]
    wall = [100 * theirs[0] / own[0] for own, theirs in pairs]
    rates = [statistics.median(pair[side][0] for pair in pairs) for side in (0, 1)]
    operations = sum(theirs[0] for _, theirs in pairs) * SECONDS
    in_each = f"{operations / parcels:.0f}" if parcels > PAIRS else "-"
    cost = statistics.median(own[1][0] for own, _ in pairs)
    print(f"| {what} | {rates[0]:,.0f} | {rates[1]:,.0f} | {in_each} | {cost:.2f} | {said(first, most=asked_most)} | {said(every, most=all_most)} "
          f"| {said(wall, least=wall_least, unit=' %')} |", flush=True)
    return rates[1]


def counter(node, name):
    """A number of the log of this server."""
    found = bound(node).search_s(f"cn={name},cn=Log,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorCounter"])
    return int(found[0][1]["monitorCounter"][0])


def write_until_files_come_again(side):
    """Modifies until each of these servers has made a snapshot meanwhile, twice: the first one may have released nothing."""
    snapshots = lambda: [counter(node, "Snapshot") for node in side.nodes]
    for _ in range(2):
        before = snapshots()
        for _ in range(200):
            side.bench(["modify"], 1000)
            if all(now > first for now, first in zip(snapshots(), before)):
                break
        else:
            sys.exit("a server makes no snapshot")


def modifies(alone, leader, follower):
    for queue, bars in (100, {"asked_most": 1.4, "all_most": 3.0, "wall_least": 40}), (1000, {"all_most": 3.2, "wall_least": 30}):
        most = compare(f"modify q{queue} at the leader", alone, leader, ["modify"], queue, **bars)
        if queue == 100:
            compare("the same at a quarter of that rate", alone, leader, ["modify"], queue, round(most / 4), asked_most=1.4)
            compare("the same at half of that rate", alone, leader, ["modify"], queue, round(most / 2), asked_most=1.4)
        compare(f"modify q{queue} at a follower", alone, follower, ["modify"], queue)


def mixed(alone, leader, follower):
    compare("half modifies q100 at the leader", alone, leader, ["mixed"], 100, wall_least=40)
    compare("half modifies q100 at a follower", alone, follower, ["mixed"], 100)


def searches(alone, leader, follower):
    compare("base search q100 at the leader", alone, leader, ["search-base"], 100)
    compare("base search q100 at a follower", alone, follower, ["search-base"], 100, asked_most=1.4, wall_least=60)


def leases(alone, leader, _follower):
    """Base searches within the leader's lease; afterwards reads ask again."""
    set_to(bound(leader.nodes[0]), "pandoReads", "lease")
    compare("base search q100 at the leader, by its lease", alone, leader, ["search-base"], 100, asked_most=1.05)
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
        print(f"{ENTRIES} entries, {CONNECTIONS} connections, medians of {PAIRS} pairs of {SECONDS:g} s with their 90 % intervals\n")
        print("| what | alone, 1/s | cluster, 1/s | updates of a parcel | us alone | asked server / alone | all servers / alone | rate of alone |\n|---|---|---|---|---|---|---|---|", flush=True)
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
