"""Backups of a node of a cluster, what is made of them, and a cluster that has lost its majority for ever."""

import base64
import os
import pty
import re
import select
import shutil
import subprocess
import threading

import ldap
import pytest

from conftest import PANDO, PATIENCE, preloaded, run, wait_for
from test_backup_restore import now
from test_cluster import CONTAINER, PEOPLE, ROOT, SUFFIX, Cluster, Node, bound, cluster, entries, free_port, person, three

__all__ = ["cluster"]


def names(node):
    """The people in the directory of a node."""
    found = bound(node).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=person)", ["cn"])
    return {attributes["cn"][0].decode() for _, attributes in found}


class Writer(threading.Thread):
    """Adds people at a node, and knows who was acknowledged."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.connection, self.ends, self.added = bound(node), False, []

    def run(self):
        while not self.ends:
            name = f"w{len(self.added)}"
            self.connection.add_s(*person(name))
            self.added.append(name)

    def end(self):
        self.ends = True
        self.join(PATIENCE)
        assert not self.is_alive()


def restored(cluster, name, *arguments, code=0):
    data = cluster.folder / name
    data.mkdir()
    backups = cluster.folder / "backups"
    said = run(PANDO, "restore", "--from", backups, "--data", data / "data", *arguments, code=code).err
    if code == 0:
        assert "all as it should be" in run(PANDO, "check", "--data", data / "data").out
    return said


def backup(cluster, number):
    return run(PANDO, "backup", "--data", cluster.folder / f"n{number}/data", "--to", cluster.folder / "backups")


def alone(cluster, name, *arguments):
    """Serves what was restored by itself."""
    return Node(cluster.folder / name, "--listen", "ldap://127.0.0.1:0", *arguments)


def test_a_backup_of_a_follower_has_all_that_was_acknowledged_anywhere(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    writer = Writer(cluster.nodes[2])
    writer.start()
    wait_for(lambda: len(writer.added) > 30, "some are added")
    before = set(writer.added)
    said = backup(cluster, 3)
    assert "does not answer" not in said.err and "may not be committed" not in said.err
    after_it = len(writer.added)
    wait_for(lambda: len(writer.added) > after_it + 30, "more are added")
    writer.end()
    # A later one brings the log for all points between the two.
    backup(cluster, 3)
    restored(cluster, "last")
    node = alone(cluster, "last")
    assert names(node) == set(writer.added)
    assert entries(node) == entries(cluster.nodes[1])
    node.end()
    # Each command of the log is a point.
    backups = sorted((cluster.folder / "backups").iterdir())
    first = next(path for path in backups if path.name != "lock")
    assert (first / "backup").exists() and not (first / "cluster").exists()
    # The keys of the cluster are in no other file than theirs.
    folder = cluster.folder / "n3/data"
    keys = {path.name: path.read_bytes().split(b"-----")[2].replace(b"\n", b"") for path in (folder / "cluster").glob("*.key")}
    assert sorted(keys) == ["ca.key", "node.key"]
    secrets = [form for key in keys.values() for form in (key[40:], base64.b64decode(key)[40:])]
    others = [path for place in (folder, cluster.folder / "backups") for path in place.rglob("*") if path.is_file() and path.suffix != ".key"]
    assert len(others) > 10
    for path in [*others, cluster.folder / "n3/log"]:
        content = path.read_bytes().replace(b"\n", b"")
        assert not any(secret in content for secret in secrets), path
    dump = run(PANDO, "dump", "--data", first).out
    added = re.findall(r"^# command (1:\d+\.\d+) .*\ndn: cn=(w\d+),", dump, re.MULTILINE)
    assert len(added) > 20 and before <= {name for _, name in added}
    restored(cluster, "point", "--to-sequence", added[20][0])
    node = alone(cluster, "point")
    assert names(node) == {name for _, name in added[:21]}
    node.end()
    # The end of the first backup is one, too: nothing that was acknowledged before it is missing.
    run(PANDO, "restore", "--from", first, "--data", cluster.folder / "first")
    exported = run(PANDO, "export", "--data", cluster.folder / "first", "-q").dns
    assert before <= {dn[3:].split(",")[0] for dn in exported}
    # It begins another cluster, which others join.
    (cluster.folder / "other/n1").mkdir(parents=True)
    other = Cluster(cluster.folder / "other")
    (cluster.folder / "last/data").rename(other.folder / "n1/data")
    try:
        other.begin(1, "--init-cluster")
        assert other.status(1)["cluster"] != cluster.status(1)["cluster"]
        other.join(2)
        assert names(other.nodes[2]) == set(writer.added)
        bound(other.nodes[2]).add_s(*person("of the other"))
    finally:
        other.end()
    assert "of the other" not in names(cluster.nodes[1])


def test_a_backup_of_before_the_cluster_is_carried_on_with_the_log_of_its_first_node(cluster):
    root = ["--root-dn", ROOT, "--root-password-file", cluster.folder / "root.password"]
    (cluster.folder / "n1").mkdir()
    before = alone(cluster, "n1", "--suffix", SUFFIX, *root)
    before.modify(CONTAINER, "-a")
    backup(cluster, 1)
    bound(before).add_s(*person("alone"))
    before.end()
    cluster.first()
    bound(cluster.nodes[1]).add_s(*person("in the cluster"))
    cluster.nodes.pop(1).end()
    log = cluster.folder / "n1/data/log"
    said = restored(cluster, "all", "--archive", log)
    assert "may not be committed" not in said
    node = alone(cluster, "all")
    assert names(node) == {"alone", "in the cluster"}
    node.end()


def test_a_point_in_time_is_reached_with_the_archive_of_a_node(cluster):
    archive = cluster.folder / "archive"
    three(cluster, "--snapshot-after", "8MiB")
    cluster.command(1, "move-leader", 1)
    cluster.nodes.pop(3).end()
    cluster.start(3, "--archive", archive)
    cluster.wait_for_safety(1)
    session = bound(cluster.nodes[3])
    session.add_s(*person("first"))
    backup(cluster, 3)

    archived = lambda: list(archive.glob("*.log"))
    for number in range(1, 1000):
        value = str(number % 10).encode() * 1_000_000
        session.modify_s(f"cn=first,{PEOPLE}", [(ldap.MOD_REPLACE, "description", value)])
        if archived():
            break
    assert archived(), "nothing is archived"
    session.add_s(*person("second"))
    point = now()
    session.add_s(*person("third"))
    # Nothing is lacking that the node had, for it ended cleanly.
    expected = entries(cluster.nodes[1])
    cluster.nodes.pop(3).end()
    archives = ["--archive", archive, "--archive", cluster.folder / "n3/data/log"]
    restored(cluster, "then", *archives, "--to-time", point)
    node = alone(cluster, "then")
    assert names(node) == {"first", "second"}
    node.end()
    said = restored(cluster, "all", *archives)
    assert "may not be committed" not in said
    node = alone(cluster, "all")
    assert entries(node) == expected
    node.end()
    # What is archived is not in the log any more.
    said = restored(cluster, "gap", *archives[2:], "--to-time", point, code=1)
    assert "the point in time cannot be reached: records " in said and "are missing" in said


def test_the_node_that_is_left_begins_another_cluster(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    writer = Writer(cluster.nodes[1])
    writer.start()
    wait_for(lambda: len(writer.added) > 30, "some are added")
    writer.end()
    data = cluster.folder / "n3/data"
    recover = ["cluster", "recover", "--data", data, "--accept-loss", "--yes", "--lost"]
    before = entries(cluster.nodes[3])
    name = cluster.status(3)["cluster"]
    assert "another process uses" in run(PANDO, *recover, "1,2", code=1).err
    for number in [1, 2, 3]:
        cluster.kill(number)
    # What is there can be looked at and copied, as far as it is known to be committed.
    assert "all as it should be" in run(PANDO, "check", "--data", data).out
    assert "does not answer" in backup(cluster, 3).err
    assert run(PANDO, "export", "--data", data, "-q").dns
    assert "the other nodes of this cluster are 1, 2" in run(PANDO, *recover, "1", code=1).err
    assert "no terminal" in run(PANDO, *recover[:-2], "--lost", "1,2", code=1).err
    said = run(PANDO, *recover, "1,2").err
    assert "the last change in it was given at" in said and "nodes 1, 2 are given up for ever" in said
    cluster.start(3)
    cluster.nodes = {1: cluster.nodes[3]}
    assert cluster.status(3)["cluster"] != name
    assert cluster.roles(3) == {1: "leader"}
    # The index of the new node is that of the old one: whatever was acknowledged is there.
    assert entries(cluster.nodes[1]) == before and set(writer.added) <= names(cluster.nodes[1])
    bound(cluster.nodes[1]).add_s(*person("later"))
    cluster.join(4, at=3)
    assert "later" in names(cluster.nodes[4])
    # One of the old cluster is not let in, and knows nothing of what came later.
    with open(cluster.folder / "old.log", "w") as log:
        old = subprocess.Popen([PANDO, "serve", "--data", cluster.folder / "n2/data"], stdout=log, stderr=log)
        try:
            wait_for(lambda: "no link to node 3" in (cluster.folder / "old.log").read_text(), "it is refused")
        finally:
            old.kill()
            old.wait(PATIENCE)
    assert set(cluster.roles(3)) == {1, 2}


@pytest.mark.parametrize("moment", ["before", "after", "after, by the command"])
def test_a_recovery_that_was_interrupted_is_completed_or_taken_back(cluster, moment):
    cluster.first()
    cluster.nodes[1].modify(CONTAINER, "-a")
    cluster.join(2)
    cluster.kill(2)
    cluster.kill(1)
    data, copy = cluster.folder / "n1/data", cluster.folder / "copy"
    shutil.copytree(data, copy)
    run(PANDO, "cluster", "recover", "--data", data, "--accept-loss", "--lost", "2", "--yes")
    # As it is when the power fails just before or after the directory is that of another cluster.
    (data / "cluster").rename(data / "cluster.new")
    if moment == "before":
        (data / "cluster.new").rename(copy / "cluster.new")
        shutil.rmtree(data)
        copy.rename(data)
    else:
        (copy / "cluster").rename(data / "cluster")
    if moment == "before":
        assert "the other nodes of this cluster are 2" in run(
            PANDO, "cluster", "recover", "--data", data, "--accept-loss", "--lost", "3", "--yes", code=1
        ).err
    else:
        if moment != "after":
            complete = "pando cluster: an earlier recovery was interrupted, and is complete now: this is node 1 of a new cluster\n"
            assert recover(cluster, 1, "2") == complete
        cluster.start(1)
        assert cluster.roles(1) == {1: "leader"}
        assert names(cluster.nodes[1]) == set()
    assert not (data / "cluster.new").exists()


def recover(cluster, number, lost, *arguments, code=0):
    data = cluster.folder / f"n{number}/data"
    return run(PANDO, "cluster", "recover", "--data", data, "--accept-loss", "--lost", lost, *arguments, code=code).err


def recover_on_terminal(cluster, number, lost, answer):
    """The exit code of a recovery that asks, and what it says besides its question."""
    controller, terminal = pty.openpty()
    command = [PANDO, "cluster", "recover", "--data", cluster.folder / f"n{number}/data", "--accept-loss", "--lost", lost]
    asks = subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    said, question = b"", b"Type the numbers of the lost nodes once more, with commas, to make a new cluster without them: "
    while not said.endswith(question):
        assert select.select([asks.stderr], [], [], PATIENCE)[0], said
        piece = os.read(asks.stderr.fileno(), 1000)
        assert piece, said
        said += piece
    os.write(controller, answer + b"\n")
    _, rest = asks.communicate(timeout=PATIENCE)
    os.close(controller)
    return asks.returncode, rest.decode()


def test_a_recovery_asks_on_the_terminal(cluster):
    three(cluster)
    name = cluster.status(3)["cluster"]
    for number in (1, 2, 3):
        cluster.kill(number)
    asked = recover(cluster, 3, "1,2", code=1)
    assert asked.endswith("pando cluster: there is no terminal to ask on: --yes goes on without a question\n")
    for answer in (b"", b"1", b"yes"):
        code, said = recover_on_terminal(cluster, 3, "1,2", answer)
        assert code == 1 and said.endswith("these are not the numbers of the lost nodes: nothing was changed\n")
    # Nothing was changed: what is refused can be done yet, by another order of the same nodes too.
    code, said = recover_on_terminal(cluster, 3, "2,1", b"1,2")
    assert code == 0 and "this is node 1 of the new cluster" in said and name not in said
    cluster.start(3)
    assert cluster.roles(3) == {1: "leader"} and cluster.status(3)["cluster"] != name


# A node that has joined says so, and stands still from then on: it fetches nothing. Parts of a line may be written one by one.
STANDS_STILL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    ssize_t done = real(fd, bytes, count);
    static const char said[] = " of the cluster", still[] = "\\nit stands still\\n";
    if (fd == 2 && memmem(bytes, count, said, strlen(said))) {
        real(fd, still, strlen(still));
        for (;;) pause();
    }
    return done;
}
"""


def test_what_cannot_be_recovered_is_refused(cluster):
    cluster.first()
    cluster.nodes[1].modify(CONTAINER, "-a")
    (cluster.folder / "n0/data").mkdir(parents=True)
    assert recover(cluster, 0, "2", code=1).endswith("/n0/data: this is not the directory of a node\n")
    # A node that has joined, and ends before it has anything.
    cluster.token("token2")
    (cluster.folder / "n2").mkdir()
    own = ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{free_port()}"]
    command = [PANDO, "serve", "--data", cluster.folder / "n2/data", *own, "--join", cluster.folder / "token2"]
    said = cluster.folder / "n2/log"
    with open(said, "wb") as log:
        new = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **preloaded(cluster.folder, STANDS_STILL)})
    try:
        wait_for(lambda: "this is node 2 of the cluster\nit stands still" in said.read_text(), "it has joined")
    finally:
        new.kill()
        new.wait(PATIENCE)
    nothing = "/n2/data: it is not the directory of a node of a cluster, or has no snapshot yet\n"
    assert recover(cluster, 2, "1", "--yes", code=1).endswith(nothing)
    cluster.command(1, "remove", 2)
    cluster.kill(1)
    alone = "/n1/data: this cluster has no other node: there is nothing to recover, start it\n"
    assert recover(cluster, 1, "2", "--yes", code=1).endswith(alone)
