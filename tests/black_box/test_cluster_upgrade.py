"""Nodes get the program of the next version, one after the other. Clients of the nodes that stay notice nothing, and nothing is applied
otherwise until an operator says so.
"""

import os

import ldap
import pytest

from conftest import PANDO, run, wait_for
from test_cluster import PEOPLE, bound, cluster, entries, free_port, person, three  # noqa: F401
from test_cluster_operation import Load, served_all

# The program that stands for the next version: it knows one behaviour more.
NEXT = os.environ.get("PANDO_NEXT")

pytestmark = pytest.mark.skipif(not NEXT, reason="PANDO_NEXT names no program of the next version: the feature `next` of the crate pando makes one")


class ReadingLoad(Load):
    """Sessions that also read what they have written."""

    def act(self, session, dn, number):
        super().act(session, dn, number)
        [(_, found)] = session.search_s(dn, ldap.SCOPE_BASE)
        if found["sn"] != [str(number).encode()]:
            self.results[f"read {found}"] += 1


def behaviours(cluster, at):
    """The behaviour in force, and the newest that each node knows."""
    status = cluster.status(at)
    return status["behaviour"], {node["id"]: node["newest_behaviour"] for node in status["nodes"]}


def restart(cluster, at, number, program):
    """Starts a node again as an operator does, with another program."""
    cluster.command(at, "drain", number)
    cluster.nodes.pop(number).end()
    cluster.start(number, program=program)
    cluster.wait_for_safety(at)
    ready = lambda: cluster.command(number, "ready", code=None).code == 0
    wait_for(ready, "it serves again")


def finish(cluster, at, code=0):
    return run(PANDO, "cluster", "upgrade", "finish", "--data", cluster.folder / f"n{at}/data", code=code)


def must_be_newer(cluster, number):
    """The older program ends by itself on the directory of a node."""
    ended = run(PANDO, "serve", "--data", cluster.folder / f"n{number}/data", code=1)
    assert "updates are applied by behaviour" in ended.err and "start it with the newer program" in ended.err


def shown(node, name):
    [(_, found)] = bound(node).search_s(f"cn={name},cn=Groups,cn=Monitor", ldap.SCOPE_BASE, attrlist=["*", "+"])
    return sorted(found.get("monitorCounter", found.get("monitoredInfo")))


def test_nodes_are_upgraded_one_after_the_other_and_clients_of_the_others_notice_nothing(cluster):
    three(cluster)
    old, known = behaviours(cluster, 1)
    new = old + 1
    wait_for(lambda: behaviours(cluster, 1)[1] == dict.fromkeys((1, 2, 3), old), "all have said what they know")
    assert "nothing to do" in finish(cluster, 2).out
    for number in (1, 2, 3):
        stay = [other for other in (1, 2, 3) if other != number]
        load = ReadingLoad(cluster, [*stay, *stay])
        load.go_on()
        restart(cluster, stay[0], number, NEXT)
        wait_for(lambda: behaviours(cluster, stay[0])[1][number] == new, "it has said what it knows")
        load.go_on()
        assert served_all(load.end(cluster.nodes[number]))
        assert behaviours(cluster, stay[0])[0] == old
        if number < 3:
            behind = ", ".join(str(other) for other in range(number + 1, 4))
            assert f"{behind} ha" in finish(cluster, number, code=1).err
            assert f"no newer program at: {behind}" in cluster.command(1, "status").out
    # It may go back until the end.
    restart(cluster, 1, 2, PANDO)
    wait_for(lambda: behaviours(cluster, 1)[1][2] == old, "it has said what it knows")
    assert "node 2 has not said" in finish(cluster, 3, code=1).err
    restart(cluster, 1, 2, NEXT)
    wait_for(lambda: behaviours(cluster, 1)[1][2] == new, "it has said what it knows")
    load = ReadingLoad(cluster, [1, 2, 3])
    load.go_on()
    assert f"behaviour {new} is in force; it was {old}" in finish(cluster, 2).out
    load.go_on()
    assert served_all(load.end(cluster.nodes[3]))
    assert "nothing to do" in finish(cluster, 1).out
    assert behaviours(cluster, 1) == (new, dict.fromkeys((1, 2, 3), new))
    for node in cluster.nodes.values():
        wait_for(lambda: shown(node, "Behaviour") == [str(new).encode()], "all apply by it")
        assert shown(node, "NewestBehaviours") == [f"{number} {new}".encode() for number in (1, 2, 3)]
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[2]) == entries(cluster.nodes[3])
    # An older program has no place any more, and spoils nothing.
    cluster.nodes.pop(3).end()
    must_be_newer(cluster, 3)
    cluster.start(3, program=NEXT)
    cluster.wait_for_safety(1)
    cluster.token("token4")
    (cluster.folder / "n4").mkdir()
    addresses = ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{free_port()}"]
    joins = ["--join", cluster.folder / "token4", "--data", cluster.folder / "n4/data"]
    refused = run(PANDO, "serve", *joins, *addresses, code=1).err
    assert f"behaviour {new}" in refused and "start it with the newer program" in refused
    assert set(cluster.roles(1)) == {1, 2, 3}
    bound(cluster.nodes[3]).add_s(*person("afterwards"))
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[3])


def test_an_older_program_that_comes_to_the_end_of_the_upgrade_stops_there(cluster):
    three(cluster)
    old, _ = behaviours(cluster, 1)
    for number in (1, 2, 3):
        restart(cluster, 1 if number > 1 else 2, number, NEXT)
        wait_for(lambda: behaviours(cluster, 1)[1][number] == old + 1, "it has said what it knows")
    # It is down, and has said it. Its own snapshot is of before.
    cluster.nodes.pop(3).end()
    assert "is in force" in finish(cluster, 1).out
    bound(cluster.nodes[1]).add_s(*person("meanwhile"))
    must_be_newer(cluster, 3)
    cluster.start(3, program=NEXT)
    cluster.wait_for_safety(1)
    assert [(f"cn=meanwhile,{PEOPLE}", {})] == bound(cluster.nodes[3]).search_s(PEOPLE, ldap.SCOPE_ONELEVEL, attrlist=["1.1"])
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[3])
