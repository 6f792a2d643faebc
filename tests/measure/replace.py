"""A node of a large directory is lost under full load, and replaced: does that end, how long does it take, and what do clients notice of it?

usage: tests/measure/replace.py [ENTRIES] [leader|follower], with the interpreter of target/venv; PANDO names the binary. Ten million entries, and load at
the leader, if nothing is named. FOLDER is where the directories are: four of some hundred bytes an entry, and their logs.

Three nodes on this machine hold the entries of `pando gen --template dvtds`, and clients modify them at queue 100 as fast as one node takes it. Node 3,
which is not the one that they ask, is killed and its directory is deleted; `pando cluster replace` and a node that joins follow. Printed are
the times of the steps, how much log each node keeps meanwhile, what clients were answered, and the memory of each node. In the end a
thousand entries are compared between the new node and the leader. It fails if the new node does not serve within 60 s after the copy,
if an answer is none that a cluster may give, or if an entry differs.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import conftest  # noqa: E402

# All steps take longer with so many entries.
conftest.PATIENCE = 900

import ldap  # noqa: E402
from conftest import PANDO, SECRET, connect, run, snapshot_folder, wait_for, wait_until  # noqa: E402
from full_load import FullLoad  # noqa: E402
from test_cluster import ROOT, SUFFIX, Cluster, free_port  # noqa: E402

# Seconds within which the new node serves when it has its copy, seconds between two looks, and how many entries are compared.
AIM, LOOK, COMPARED = 60, 0.05, 1000
# What the log of a node has when the copy begins, and when it goes on with it.
BEGUN, COPIED = "this is node 4 of the cluster", "goes on with a snapshot from another one"


def bytes_of(folder):
    """Of all files in a folder and below, some of which may vanish meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except FileNotFoundError:
            pass
    return total


def mib(count):
    return f"{count / (1 << 20):,.0f} MiB"


class Watch(threading.Thread):
    """Looks at the folders of nodes until `end`: the largest log, and when texts come into the log of the one that joins. What it fails with,
    `end` raises.
    """

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.over = cluster, threading.Event()
        # Bytes of the copy when it is there, of the logs, and the moments.
        self.copy, self.kept, self.seen, self.failed = 0, {}, {}, None
        self.log = cluster.folder / "n4/log"
        self.start()

    def run(self):
        try:
            while not self.over.wait(LOOK):
                self.look()
        except Exception as error:
            self.failed = error

    def look(self):
        text = self.log.read_text() if self.log.exists() else ""
        for phrase in (BEGUN, COPIED):
            if phrase in text and phrase not in self.seen:
                self.seen[phrase] = time.monotonic()
                if phrase == COPIED:
                    self.copy = bytes_of(snapshot_folder(self.cluster.folder / "n4/data"))
        for number in (1, 2, 4):
            size = bytes_of(self.cluster.folder / f"n{number}/data/log")
            self.kept[number] = max(self.kept.get(number, 0), size)

    def end(self):
        self.over.set()
        self.join()
        if self.failed:
            raise self.failed


def peak(pid):
    """Bytes of memory that a process had at most."""
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10


def make(folder, entries):
    """A cluster of three with so many entries."""
    cluster = Cluster(folder)
    (folder / "n1").mkdir()
    ldif = folder / "all.ldif"
    run(PANDO, "gen", "--quiet", "--template", "dvtds", "--count", entries, "--suffix", SUFFIX, "-o", ldif, timeout=conftest.PATIENCE)
    run(PANDO, "import", "--data", folder / "n1/data", "--schema", "dvtds", "--suffix", SUFFIX, ldif, timeout=conftest.PATIENCE)
    ldif.unlink()
    cluster.first("--schema", "dvtds")
    cluster.join(2)
    cluster.join(3)
    cluster.wait_for_safety(1)
    return cluster


def replace(cluster, at):
    """Replaces node 3, which is lost; `at` is the node that clients ask. Returns when the steps were done."""
    times = {"lost": time.monotonic()}
    cluster.kill(3)
    shutil.rmtree(cluster.folder / "n3")
    # If it led, the command is refused until another one leads.
    token = cluster.folder / "token4"
    wait_for(lambda: cluster.command(at, "replace", 3, "-o", token, code=None).code == 0, "it can be replaced")
    times["replace"] = time.monotonic()
    cluster.begin(4, "--join", token)
    times["ready"] = time.monotonic()
    wait_for(lambda: cluster.command(4, "ready", code=None).code == 0, "it serves")
    times["serves"] = time.monotonic()

    def has_its_place():
        wait_until(time.monotonic() + LOOK)
        roles = cluster.roles(at)
        return 3 not in roles and roles[4] == "follower"

    wait_for(has_its_place, "it has its place")
    times["votes"] = time.monotonic()
    cluster.wait_for_safety(at)
    times["caught up"] = time.monotonic()
    return times


def differing(cluster, entries):
    """How many of some entries are not the same at the new node and at the leader."""
    chance = random.Random(entries)
    sessions = [connect(cluster.nodes[number], ROOT, SECRET) for number in (4, cluster.leader(4))]
    read = lambda session, dn: session.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])
    names = [f"uid={chance.randrange(entries)},{SUFFIX}" for _ in range(COMPARED)]
    return sum(read(sessions[0], dn) != read(sessions[1], dn) for dn in names)


def main(entries, where):
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
        cluster = make(Path(name), entries)
        load = watch = None
        try:
            cluster.command(2, "move-leader", 1)
            at = 1 if where == "leader" else 2
            print(f"{entries:,} entries, load at the {where}; the cluster was there after {time.monotonic() - began:.0f} s", flush=True)
            load, watch = FullLoad(cluster, at, entries), Watch(cluster)
            times = replace(cluster, at)
            wrong = load.end()
            watch.end()
            cluster.wait_for_safety(at)
            differ = differing(cluster, entries)
            peaks = {number: peak(node.pid) for number, node in cluster.nodes.items()}
        finally:
            for thread in (load, watch):
                if thread:
                    thread.over.set()
            cluster.end()
    copied = watch.seen[COPIED]
    copy, serves = copied - watch.seen[BEGUN], times["serves"] - copied
    print(f"copy of {mib(watch.copy)}: {copy:.1f} s, {mib(watch.copy / copy)}/s")
    print(f"after the copy: ready {times['ready'] - copied:.1f} s, serves {serves:.1f} s, has the vote {times['votes'] - copied:.1f} s, "
          f"one more can be lost {times['caught up'] - copied:.1f} s; from the loss on {times['caught up'] - times['lost']:.1f} s")
    print("log on disk at most:", ", ".join(f"node {number} {mib(count)}" for number, count in watch.kept.items()))
    print("memory at most:", ", ".join(f"node {number} {mib(count)}" for number, count in peaks.items()))
    print(f"clients: {load}")
    print(f"{differ} of {COMPARED} entries differ; the new node served {'within' if serves <= AIM else 'not within'} {AIM} s; {time.monotonic() - began:.0f} s in all")
    return 1 if serves > AIM or wrong or differ else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(int(arguments[0]) if arguments else 10_000_000, arguments[1] if len(arguments) > 1 else "leader"))
