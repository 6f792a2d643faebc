"""Readers that last, at a node that does not lead, while the entries that they look at are deleted and others take their place."""

import os
import signal

import ldap
import pytest

from conftest import wait_for
from test_cluster import PEOPLE, bound, cluster, person, three  # noqa: F401
from test_cluster_monitor import shown

ENTRIES = 300
# Enough that ids would be free again after two seconds, if the leader did not wait.
TURNS = 12
# More than the buffers of a connection hold, in all answers together.
LONG = b"x" * 100_000


def change(connection, requests):
    """Sends changes that need not wait for each other."""
    for done in [request() for request in requests]:
        assert connection.result(done)[0] is not None


def adds(connection, names, more=()):
    def add(name):
        dn, attributes = person(name)
        return connection.add(dn, [*attributes, *more])

    change(connection, [lambda name=name: add(name) for name in names])


def deletes(connection, names):
    change(connection, [lambda name=name: connection.delete(person(name)[0]) for name in names])


def searches_that_last(node):
    entry = bound(node).search_s("cn=Search,cn=Operations,cn=Monitor", ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
    begun, done = (int(entry[name][0]) for name in ("monitorOpInitiated", "monitorOpCompleted"))
    return begun - done


def applied(node):
    return int(shown(bound(node))["Applied"][0])


@pytest.mark.parametrize("is_stopped", [False, True], ids=["heard", "unheard"])
def test_ids_of_deleted_entries_are_free_when_readers_of_all_nodes_have_ended(cluster, is_stopped):
    three(cluster)
    leader, follower = bound(cluster.nodes[1]), cluster.nodes[3]
    adds(leader, [f"old{n}" for n in range(ENTRIES)], [("description", [LONG])])
    wait_for(lambda: applied(follower) == applied(cluster.nodes[1]), "the follower has all")
    # Nobody takes its answers: the search lasts.
    reader = bound(follower)
    search = reader.search(PEOPLE, ldap.SCOPE_ONELEVEL)
    wait_for(lambda: searches_that_last(follower), "the search waits for its client")
    if is_stopped:
        # The leader does not wait for readers of a node of which it hears nothing.
        os.kill(follower.pid, signal.SIGSTOP)
        wait_for(lambda: cluster.roles(1)[3] == "down", "the leader misses the node")
    try:
        deletes(leader, [f"old{n}" for n in range(ENTRIES)])
        for turn in range(TURNS):
            names = [f"new{turn}-{n}" for n in range(ENTRIES)]
            adds(leader, names)
            deletes(leader, names)
        adds(leader, ["last"])
    finally:
        if is_stopped:
            os.kill(follower.pid, signal.SIGCONT)
    # What it looks at is what was there when it began.
    found, kind = [], None
    while kind != ldap.RES_SEARCH_RESULT:
        kind, some = reader.result(search, 0)
        found += [dn for dn, _ in some]
    assert sorted(found) == sorted(person(f"old{n}")[0] for n in range(ENTRIES))
    wait_for(lambda: applied(follower) == applied(cluster.nodes[1]), "the follower has caught up")
    assert follower.process.poll() is None
    assert [dn for dn, _ in bound(follower).search_s(PEOPLE, ldap.SCOPE_ONELEVEL)] == [person("last")[0]]
    assert not any(node["rebuilt"] for node in cluster.status(1)["nodes"])
