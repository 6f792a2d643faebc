"""Clients of pando-histories that play at the nodes of a cluster, and how what they saw is judged."""

import json
import select
import subprocess
import time

import ldap

from conftest import PATIENCE, SECRET, connect, run, wait_for
from test_cluster import ROOT, entries
from test_histories import HISTORIES, check, lose_the_first, mend, read_the_first
from test_porcupine import both

# The directory of pando-histories.
PLAYED = "dc=x"
# Seconds for one history. Those of an hour take 30.
JUDGED_WITHIN = 600
# Events of the history in which a read is changed. Each operation whose outcome nobody knows may be anywhere behind its beginning: to find that no order of an
# hour's fits takes more memory than there is.
MENDED = 100_000


class Clients:
    """Concurrent clients, whose histories are left in a folder."""

    def __init__(self, cluster, folder, seed):
        self.cluster, self.folder = cluster, folder
        folder.mkdir()
        urls = [part for listen, _ in cluster.addresses.values() for part in ("--url", listen)]
        who = ["--bind-dn", ROOT, "--password-file", cluster.folder / "root.password"]
        command = [HISTORIES, "run", *urls, *who, "--folder", folder, "--seed", str(seed), "--transactions"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def say(self, line):
        """Waits until it is done."""
        self.process.stdin.write(line + "\n")
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert readable, f"{line}: the clients hang"
        heard = self.process.stdout.readline()
        assert heard == line + "\n", heard + self.process.stdout.read()

    def cut(self):
        """All nodes run and reach each other. What is in progress is done or gone; then all nodes have the same."""
        settle(self.cluster)
        self.say("cut")
        first, *others = (entries(node, PLAYED) for node in self.cluster.nodes.values())
        for other in others:
            assert other == first

    def end(self):
        """Ends them; their own check is asked."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0 and out.count(": holds\n") == 3, out
        return out

    def judge(self, porcupine, tmp_path):
        """Both checkers say that the history holds, and that it does not when one read in it is changed."""
        for kind, change in {"registers": read_the_first, "lists": lose_the_first}.items():
            assert both(porcupine, kind, self.folder / f"{kind}.jsonl", code=0, seconds=JUDGED_WITHIN) > 100
            mended = mend(self.folder, tmp_path, kind, change, most=MENDED)
            both(porcupine, kind, mended, code=1, seconds=JUDGED_WITHIN)
        check("transfers", self.folder / "transfers.jsonl", code=0)


def settle(cluster):
    """Waits until no update is in progress. Each node sends one of its own behind all that it sent to the leader before, or kept for one;
    then all nodes have what the leader has (decision 20 of the cluster's design: no time that has passed would show it).
    """
    for node in cluster.nodes.values():
        wait_for(lambda: is_written(node), "an update is acknowledged at each node")
    wait_for(lambda: is_the_same(cluster), "all nodes have the log of the leader")


def is_written(node):
    try:
        connection = connect(node, ROOT, SECRET)
        connection.modify_s(PLAYED, [(ldap.MOD_REPLACE, "description", str(time.monotonic()).encode())])
        connection.unbind_s()
        return True
    except (ldap.BUSY, ldap.UNAVAILABLE, ldap.SERVER_DOWN, ldap.TIMEOUT):
        return False
    except ldap.UNWILLING_TO_PERFORM as error:
        # A leader whose disk was full asks for a file again a little later.
        assert "no room for the log" in str(error), error
        return False


def is_the_same(cluster):
    """Has each node acknowledged all entries of the leader's log?"""
    at = next(iter(cluster.nodes))
    said = cluster.command(at, "status", "--json", code=None)
    if said.code:
        return False
    nodes = json.loads(said.out)["nodes"]
    roles = [node["role"] for node in nodes]
    return "leader" in roles and "down" not in roles and all(node["lag_commands"] == 0 for node in nodes)
