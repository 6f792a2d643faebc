"""With PANDO_FOLLOWER=1 each server of a test is a node of a cluster of three that does not lead: its clients must not notice.

Its directory is made as the test says, by a start alone. Then it is that of node 1, which leads; nodes 2 and 3 join, and node 2 is the test's.
Node 1 and node 3 have no flags of the test but what comes with the directory.
"""

import json
import socket
from pathlib import Path

import pytest

import written
from conftest import PANDO, Server, run, wait_for

# The clusters whose test goes on, by the data directory of its node.
clusters = {}
# Tests that say nothing about a node.
LIST = Path(__file__).parent / "not_at_a_follower.txt"
# Flags of a start alone that a node refuses, with the number of their values. What is imported is there already, and a node always syncs.
ALONE = {"--import": 1, "--memory": 0, "--sync": 1}
# Those of them that its directory must not have been made with.
RECORDED = {"--sync": 1}


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def without(flags, arguments):
    """The arguments without these flags and their values."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument in flags:
            [next(rest) for _ in range(flags[argument])]
        else:
            kept.append(argument)
    return kept


def of_node(arguments):
    """The arguments for a node, whose ports its clients can be told."""
    return [argument.replace("127.0.0.1:0", f"127.0.0.1:{free_port()}") for argument in without(ALONE, arguments)]


class Cluster:
    """The other two nodes of a test's node, and how they are asked."""

    def __init__(self, folder):
        self.folder, self.others, self.node = folder, [], None

    def command(self, name, *arguments, code=0):
        return run(PANDO, "cluster", name, "--data", self.folder / "n1", *arguments, code=code)

    def join(self, number):
        self.command("token", "-o", self.folder / f"token{number}")
        return ["--join", str(self.folder / f"token{number}"), *self.peer()]

    def peer(self):
        return ["--peer", f"127.0.0.1:{free_port()}"]

    def other(self, number, *arguments):
        folder = self.folder / f"other{number}"
        folder.mkdir()
        listen = ["--listen", f"ldap://127.0.0.1:{free_port()}"]
        self.others.append(Server([*listen, *arguments], folder, ["--data", str(self.folder / f"n{number}")]))

    def roles(self):
        status = json.loads(self.command("status", "--json").out)
        return {node["id"]: node["role"] for node in status["nodes"]}

    def is_whole(self):
        return self.roles() == {1: "leader", 2: "follower", 3: "follower"}

    def end(self):
        for other in self.others:
            other.process.kill()
            other.process.wait()
            other.process.stdout.close()


def start(arguments, folder, data, env):
    """A node that does not lead, of a new cluster, or of that which `data` was a part of before."""
    data = Path(data or folder / "data")
    if data in clusters and not (data / "cluster").exists():
        # The test has removed it, and begins with another one.
        clusters.pop(data).end()
    if data in clusters:
        node = Server(of_node(arguments), folder, ["--data", str(data)], env)
        run(PANDO, "cluster", "ready", "--data", data, code=None)
        clusters[data].node = node
        return node
    base = folder / "cluster"
    base.mkdir()
    cluster = Cluster(base)
    if data.exists():
        data.rename(base / "n1")
    logs = {path: path.read_bytes() for path in written.named(arguments) if path.is_file()}
    alone = Server(without(RECORDED, arguments), base, ["--data", str(base / "n1")], env)
    alone.end()
    # Logs are of one server each: the node finds them as the test has made them.
    for path in written.of(alone) - {alone.log_path}:
        path.write_bytes(logs[path]) if path in logs else path.unlink()
    cluster.other(1, "--init-cluster", *cluster.peer())
    clusters[data] = cluster
    cluster.node = node = Server([*cluster.join(2), *of_node(arguments)], folder, ["--data", str(data)], env)
    cluster.other(3, *cluster.join(3))
    wait_for(cluster.is_whole, "three nodes vote")
    return node


def end_those_left():
    """Ends the other nodes of those that have ended."""
    for data in [data for data, cluster in clusters.items() if cluster.node is None or cluster.node.process.poll() is not None]:
        clusters.pop(data).end()


def end_all():
    while clusters:
        clusters.popitem()[1].end()


def name_of(item):
    """Of a test, whatever its parameters: its file and name."""
    return item.split("[")[0].rsplit("/", 1)[-1]


def not_here(path=LIST):
    """Tests that say nothing about a node, by file and name, each with the number of the decision that says so, and the reason."""
    lines = path.read_text().splitlines()
    named = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    return {name: (decision, "".join(reason)) for name, decision, *reason in named}


def leave_out(items):
    """Skips those tests."""
    listed = not_here()
    for item in items:
        if name_of(item.nodeid) in listed:
            decision, reason = listed[name_of(item.nodeid)]
            item.add_marker(pytest.mark.skip(reason=f"decision {decision}: {reason}"))
