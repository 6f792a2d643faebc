"""What an operator does with a cluster, and what its clients notice of that: nothing at the nodes that stay."""

import collections
import subprocess
import threading

import ldap

from conftest import PANDO, PATIENCE, wait_for
from test_cluster import PEOPLE, bound, cluster, entries, free_port, person, three  # noqa: F401

# How often a writer has written before something happens.
SOME = 10


class Load:
    """Sessions that count entries up, each at its node, until they are told to stop. What they were answered is counted."""

    def __init__(self, cluster, nodes):
        self.results, self.last, self.stop = collections.Counter(), {}, threading.Event()
        names = [(f"l{number}", node) for number, node in enumerate(nodes)]
        for name, node in names:
            bound(cluster.nodes[node]).add_s(*person(name))
            self.last[name] = {0}
        self.threads = [threading.Thread(target=self.count, args=(cluster.nodes[node], name)) for name, node in names]
        [thread.start() for thread in self.threads]

    def count(self, node, name):
        session, number = bound(node), 0
        while not self.stop.is_set():
            number += 1
            try:
                self.act(session, f"cn={name},{PEOPLE}", number)
                self.results["done"] += 1
                self.last[name] = {number}
            except ldap.BUSY:
                self.results["busy"] += 1
            except ldap.UNAVAILABLE:
                self.results["unknown"] += 1
                self.last[name] = self.last[name] | {number}
            except ldap.SERVER_DOWN:
                self.results["cut"] += 1
                return
            except ldap.LDAPError as error:
                # Nothing that a single server would say.
                self.results[f"failed: {error}"] += 1

    def act(self, session, dn, number):
        """What each does again and again."""
        session.modify_s(dn, [(ldap.MOD_REPLACE, "sn", str(number).encode())])

    def go_on(self):
        """Waits until all have written again."""
        before = {name: max(numbers) for name, numbers in self.last.items()}
        more = lambda: all(max(self.last[name]) > before[name] + SOME for name in before)
        wait_for(more, "all write")

    def end(self, node):
        """What they were answered; what was acknowledged is there."""
        self.stop.set()
        [thread.join(PATIENCE) for thread in self.threads]
        session = bound(node)
        for name, numbers in self.last.items():
            [(dn, found)] = session.search_s(f"cn={name},{PEOPLE}", ldap.SCOPE_BASE)
            assert int(found["sn"][0]) in numbers
            session.delete_s(dn)
        print(dict(self.results))
        return self.results


def served_all(results):
    """No operation failed, was refused, or has an unknown outcome."""
    return set(results) == {"done"}


def test_nodes_are_restarted_one_after_the_other_and_clients_of_the_others_notice_nothing(cluster):
    three(cluster)
    for number in (1, 2, 3):
        stay = [other for other in (1, 2, 3) if other != number]
        cluster.command(stay[0], "move-leader", number)
        load = Load(cluster, [*stay, *stay])
        load.go_on()
        cluster.command(stay[0], "drain", number)
        assert cluster.leader(stay[0]) != number
        wait_for(lambda: "is drained" in cluster.command(number, "ready", code=None).err, "it says no")
        assert [node["drained"] for node in cluster.status(stay[1])["nodes"] if node["id"] == number] == [True]
        # Who is connected still is served.
        bound(cluster.nodes[number]).search_s(PEOPLE, ldap.SCOPE_BASE)
        assert "cannot go on" in cluster.command(number, "drain", stay[0], code=1).err
        assert "is drained" in cluster.command(stay[0], "move-leader", number, code=1).err
        cluster.nodes.pop(number).end()
        load.go_on()
        cluster.start(number)
        cluster.wait_for_safety(stay[0])
        wait_for(lambda: cluster.command(number, "ready", code=None).code == 0, "it serves again")
        load.go_on()
        assert served_all(load.end(cluster.nodes[number]))
    assert not any(node["drained"] for node in cluster.status(1)["nodes"])
    cluster.command(1, "drain", 2)
    cluster.command(1, "drain", 2, "--undo")
    cluster.command(1, "move-leader", 2)
    assert "cannot go on" not in cluster.command(1, "drain", 3).err
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[2]) == entries(cluster.nodes[3])


def test_a_leader_that_ends_lets_another_one_lead_first(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    load = Load(cluster, [2, 3])
    load.go_on()
    cluster.nodes.pop(1).end()
    load.go_on()
    assert served_all(load.end(cluster.nodes[2]))
    assert "leads" in cluster.nodes[2].log


def replace(cluster, at, old, new):
    """A node joins in place of another one, and takes it."""
    cluster.command(at, "replace", old, "-o", cluster.folder / f"token{new}")
    assert "already" in cluster.command(at, "replace", old, code=1).err
    cluster.begin(new, "--join", cluster.folder / f"token{new}")
    wait_for(lambda: old not in cluster.roles(at), "the old one is gone")
    cluster.wait_for_safety(at)
    assert cluster.roles(at)[new] in ("leader", "follower")


def test_a_node_takes_the_place_of_one_that_is_dead(cluster):
    three(cluster)
    cluster.kill(3)
    wait_for(lambda: cluster.roles(1)[3] == "down", "it is noticed")
    assert "heard of" in cluster.command(1, "remove", 2, "--dead", code=1).err
    assert "there would be 2 votes" in cluster.command(1, "remove", 3, "--dead", code=1).err
    cluster.command(1, "replace", 3)
    status = cluster.command(2, "status").out
    assert status.count("is to be replaced") == 1
    cluster.command(1, "replace", 3, "--undo")
    replace(cluster, 1, old=3, new=4)
    assert set(cluster.roles(1)) == {1, 2, 4}
    assert entries(cluster.nodes[4]) == entries(cluster.nodes[1])


def test_nodes_that_run_are_replaced_under_load_and_clients_of_the_others_notice_nothing(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 3)
    load = Load(cluster, [1, 2, 1, 2])
    load.go_on()
    # The one that leads.
    replace(cluster, 1, old=3, new=4)
    load.go_on()
    cluster.kill(3)
    cluster.join(5, at=cluster.leader(1))
    cluster.command(1, "move-leader", 4)
    wait_for(lambda: cluster.roles(1).get(5) == "learner", "it has joined")
    # It removes itself, when the learner can have its vote.
    wait_for(lambda: cluster.command(1, "remove", 4, code=None).code == 0, "it is removed")
    load.go_on()
    assert set(cluster.roles(1)) == {1, 2, 5}
    assert served_all(load.end(cluster.nodes[2]))
    assert entries(cluster.nodes[5]) == entries(cluster.nodes[1])


def wait_for_replacement(cluster, old, token):
    """The command that returns when a node is replaced, once it has made the token."""
    command = [PANDO, "cluster", "replace", "--data", cluster.folder / "n1/data", str(old), "-o", token, "--wait"]
    waits = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(token.exists, "the token is there")
    assert waits.poll() is None
    return waits


def test_the_command_that_replaces_a_node_can_wait_for_it(cluster):
    three(cluster)
    waits = wait_for_replacement(cluster, 3, cluster.folder / "token4")
    cluster.command(2, "replace", 3, "--undo")
    _, said = waits.communicate(timeout=PATIENCE)
    assert said == "pando cluster: node 3: it was called off, or the token has expired, or the new node was removed\n"
    assert waits.returncode == 1
    waits = wait_for_replacement(cluster, 3, cluster.folder / "token5")
    cluster.begin(4, "--join", cluster.folder / "token5")
    assert waits.communicate(timeout=PATIENCE)[1] == "" and waits.returncode == 0
    assert set(cluster.roles(1)) == {1, 2, 4}


def test_five_nodes_become_three_in_one_step_and_clients_of_the_others_notice_nothing(cluster):
    three(cluster)
    for number in (4, 5):
        cluster.join(number)
    wait_for(lambda: set(cluster.roles(1).values()) == {"leader", "follower"}, "five vote")
    # The leader is one of those that go.
    cluster.command(1, "move-leader", 5)
    load = Load(cluster, [1, 2, 3])
    load.go_on()
    wait_for(lambda: cluster.status(1)["can_lose_one"], "all have caught up")
    cluster.command(2, "remove", 4, 5)
    load.go_on()
    assert served_all(load.end(cluster.nodes[3]))
    assert set(cluster.roles(1)) == {1, 2, 3} and "leader" in cluster.roles(1).values()
    cluster.wait_for_safety(1)
    # Three votes: two of them are a majority.
    cluster.kill(cluster.leader(1))
    node = next(iter(cluster.nodes.values()))

    def is_added():
        """Whether it is there: until another node leads, clients are refused, or the outcome is unknown."""
        try:
            bound(node).add_s(*person("later"))
        except (ldap.BUSY, ldap.UNAVAILABLE):
            return False
        except ldap.ALREADY_EXISTS:
            pass
        return True

    wait_for(is_added, "two go on")


def test_a_node_is_found_at_its_new_addresses(cluster):
    three(cluster)
    for number in (2, 3):
        cluster.nodes.pop(number).end()
    # Neither of these knows where the other one is, and no node leads.
    for number in (2, 3):
        cluster.addresses[number] = (f"ldap://127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}")
        listen, peer = cluster.addresses[number]
        cluster.start(number, "--listen", listen, "--peer", peer)
    cluster.wait_for_safety(1)
    known = lambda: {node["id"]: (node["address"], node["peer"]) for node in cluster.status(1)["nodes"]}
    wait_for(lambda: known() == cluster.addresses, "the new ones are known")
    cluster.token("token4", at=2)
    assert cluster.addresses[2][1] in (cluster.folder / "token4").read_text()
    # What the start said is known at the next one. Only a node that runs answers.
    cluster.nodes.pop(3).end()
    cluster.command(3, "status", "--json", code=1)
    cluster.start(3)
    cluster.wait_for_safety(1)
    assert cluster.nodes[3].url == cluster.addresses[3][0]
