"""Modifies of `pando bench` at one node, at queue 100, as fast as it takes them, and what became of them."""

import collections
import json
import subprocess
import threading
import time

from conftest import PANDO, SECRET, wait_for
from test_cluster import ROOT, SUFFIX

CONNECTIONS, QUEUE = 8, 100
# Seconds of one run of the client. The next one begins at once, with new connections: so it ends soon when it is to.
RUN = 3
# Seconds until it is tried again if it could not begin.
AGAIN = 0.2
# What a fault of `pando bench` is counted as. Each of these is one that a client of a cluster must expect; all else is none.
EXPECTED = {
    "result code busy (51)": "busy",
    "result code unavailable (52)": "unknown",
    "connection closed by the server": "cut",
    "request never answered": "cut",
}


class FullLoad(threading.Thread):
    """Begins at once, and goes on until `end`."""

    def __init__(self, cluster, number, entries, connections=CONNECTIONS):
        super().__init__(daemon=True)
        self.number, self.url = number, cluster.nodes[number].url
        self.entries, self.connections, self.over = entries, connections, threading.Event()
        self.acknowledged, self.faults, self.per_second = 0, collections.Counter(dict.fromkeys(["busy", "unknown", "cut"], 0)), []
        self.began = time.monotonic()
        self.start()
        wait_for(lambda: self.acknowledged, "the load goes on")

    def run(self):
        seed = 0
        while not self.over.is_set():
            seed += 1
            command = [PANDO, "bench", "modify", "--url", self.url, "--bind-dn", ROOT, "--password", SECRET, "--entries", str(self.entries), "--base", SUFFIX,
                       "--connections", str(self.connections), "--queue", str(QUEUE), "--warmup", "0", "--seconds", str(RUN), "--threads", "1",
                       "--seed", str(seed), "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            try:
                report = json.loads(done.stdout)
            except ValueError:
                # It could not begin.
                self.faults[done.stderr.strip()] += 1
                self.over.wait(AGAIN)
                continue
            self.acknowledged += report["operations"] - sum(count for name, count in report["faults"].items() if name.startswith("result code"))
            self.per_second += report["per_second"]
            for name, count in report["faults"].items():
                self.faults[EXPECTED.get(name, name)] += count

    def end(self):
        """Ends it, when what it has sent is answered. Returns the number of results that are neither success nor to be expected of a cluster."""
        self.over.set()
        self.join()
        self.seconds = time.monotonic() - self.began
        return sum(count for name, count in self.faults.items() if name not in EXPECTED.values())

    def __str__(self):
        rest = ", ".join(f"{count} {name}" for name, count in self.faults.items())
        worst = f"{min(self.per_second):,}" if self.per_second else "not known"
        return f"{self.acknowledged:,} acknowledged in {self.seconds:.0f} s ({self.acknowledged / self.seconds:,.0f}/s, worst second {worst}), {rest}"
