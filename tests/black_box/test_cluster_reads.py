"""How a cluster answers reads, by its settings: with a lease of the leader, and where no majority answers."""

import ldap
from ldap.controls import ResponseControl

from conftest import wait_for
from test_cluster import CONTAINER, PEOPLE, ROOT, SUFFIX, bound, cluster, person, three  # noqa: F401


class Age(ResponseControl):
    """How old what was read may be."""

    controlType = "2.25.240669603016538496343604518522877881210"


def set_to(connection, attribute, value):
    connection.modify_s("cn=config", [(ldap.MOD_REPLACE, attribute, value.encode())])


def setting(node, attribute):
    [(_, attributes)] = bound(node).search_s("cn=config", ldap.SCOPE_BASE, attrlist=[attribute])
    return attributes[attribute]


def search(connection):
    """What a search of people finds, and how old that may be: no answer says that it is, or milliseconds."""
    request = connection.search_ext(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=person)", ["sn"])
    _, found, _, controls = connection.result3(request, resp_ctrl_classes={Age.controlType: Age})
    # A BER INTEGER: tag, length, number.
    return found, [int.from_bytes(control.encodedControlValue[2:], "big") for control in controls]


def test_a_leader_answers_by_its_lease_and_all_nodes_have_the_setting(cluster):
    three(cluster, "--reads", "lease")
    leader = bound(cluster.nodes[1])
    others = [bound(cluster.nodes[number]) for number in (2, 3)]
    for count in range(30):
        # What the leader or another node has answered, the leader shows at once, and so do the others.
        [leader, *others][count % 3].add_s(*person(f"of{count}"))
        for connection in [leader, *others]:
            found, ages = search(connection)
            assert (len(found), ages) == (count + 1, [])
    for node in cluster.nodes.values():
        assert setting(node, "pandoReads") == [b"lease"]
    set_to(leader, "pandoReads", "quorum")
    for node in cluster.nodes.values():
        wait_for(lambda node=node: setting(node, "pandoReads") == [b"quorum"], "the setting is in force")
    leader.add_s(*person("last"))
    assert len(search(leader)[0]) == 31
    # Another node leads by its lease, when the first is gone.
    set_to(leader, "pandoReads", "lease")
    cluster.kill(1)
    connection = others[0]
    for count in range(20):
        connection.modify_s(f"cn=last,{PEOPLE}", [(ldap.MOD_REPLACE, "sn", str(count).encode())])
        for other in others:
            assert (f"cn=last,{PEOPLE}", {"sn": [str(count).encode()]}) in search(other)[0]


def test_without_a_majority_reads_are_busy_or_old(cluster):
    three(cluster)
    bound(cluster.nodes[1]).add_s(*person("user"))
    set_to(bound(cluster.nodes[cluster.leader(1)]), "pandoWithoutQuorum", "read")
    wait_for(lambda: setting(cluster.nodes[3], "pandoWithoutQuorum") == [b"read"], "the setting is in force")
    connection = bound(cluster.nodes[3])
    assert search(connection) == ([(f"cn=user,{PEOPLE}", {"sn": [b"0"]})], [])
    cluster.kill(1)
    cluster.kill(2)
    # Also one that has just come can bind.
    for _ in range(3):
        found, [age] = search(bound(cluster.nodes[3]))
        assert found == [(f"cn=user,{PEOPLE}", {"sn": [b"0"]})]
        assert 0 < age < 60_000
    # So clients may be sent to it.
    cluster.command(3, "ready")
    try:
        connection.modify_s(f"cn=user,{PEOPLE}", [(ldap.MOD_REPLACE, "sn", b"1")])
        raise AssertionError("there is no majority")
    except (ldap.BUSY, ldap.UNAVAILABLE):
        # The latter if it led.
        pass
    [(_, monitor)] = connection.search_s("cn=Age,cn=Log,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitoredInfo"])
    assert int(monitor["monitoredInfo"][0]) > 0
    cluster.start(2)
    cluster.leader(3)
    wait_for(lambda: search(bound(cluster.nodes[3]))[1] == [], "a majority answers again")
    set_to(bound(cluster.nodes[cluster.leader(3)]), "pandoWithoutQuorum", "refuse")
    wait_for(lambda: setting(cluster.nodes[3], "pandoWithoutQuorum") == [b"refuse"], "the setting is in force")
    cluster.kill(2)
    for attempt in (lambda: search(connection), lambda: bound(cluster.nodes[3])):
        try:
            attempt()
            raise AssertionError("there is no majority")
        except ldap.BUSY:
            pass
    assert "the node knows of no leader" in cluster.command(3, "ready", code=1).err
