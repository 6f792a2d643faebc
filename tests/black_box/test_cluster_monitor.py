"""What is seen of a cluster: by clients, in the root DSE; by monitors, in `cn=Groups,cn=Monitor` and contextCSN; by its nodes, of each other."""

import shutil
import signal

import ldap

from conftest import ADMIN, PEOPLE, SECRET, SUFFIX, connect, stop_all_threads, wait_for
from test_cluster import PEOPLE as CLUSTER_PEOPLE
from test_cluster import SUFFIX as CLUSTER_SUFFIX
from test_cluster import bound, cluster, person, three  # noqa: F401

GROUPS = "cn=Groups,cn=Monitor"


def root_dse(node):
    attributes = bound(node).search_s("", ldap.SCOPE_BASE, attrlist=["altServer"])[0][1]
    return sorted(value.decode() for value in attributes.get("altServer", []))


def shown(connection):
    """What the monitor says, by the names of the entries."""
    found = connection.search_s(GROUPS, ldap.SCOPE_ONELEVEL, attrlist=["monitoredInfo", "monitorCounter"])
    return {dn.split(",")[0][3:]: sorted(v.decode() for values in entry.values() for v in values) for dn, entry in found}


def csn(connection, dn, name="contextCSN"):
    values = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0][1].get(name)
    return values and values[0].decode()


def test_what_the_nodes_of_a_cluster_show(cluster):
    three(cluster)
    urls = {number: address for number, (address, _) in cluster.addresses.items()}
    for number, node in cluster.nodes.items():
        assert root_dse(node) == sorted(urls[other] for other in urls if other != number), number
    connections = {number: bound(node) for number, node in cluster.nodes.items()}
    before = csn(connections[1], CLUSTER_SUFFIX)
    # An update by a node that does not lead is the last change at every node, as soon as it is answered.
    dn = f"ou=people,{CLUSTER_SUFFIX}"
    connections[2].modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"1"])])
    after = csn(connections[3], dn, "entryCSN")
    assert after > before
    assert [csn(connection, CLUSTER_SUFFIX) for connection in connections.values()] == 3 * [after]

    lines = [f"{number} {'leader' if number == 1 else 'follower'} lag 0 seconds 0.0 {urls[number]}" for number in urls]
    # An update is answered when a majority has it, and what the third node lacks is its lag.
    wait_for(lambda: shown(connections[1])["Replicas"] == lines, "the nodes have caught up")
    leads, follows = shown(connections[1]), shown(connections[2])
    assert follows["Replicas"] == [f"1 leader lag - seconds - {urls[1]}", lines[1], f"3 unknown lag - seconds - {urls[3]}"]
    same = ("Term", "Leader", "Voters", "Learners", "Joint")
    assert {name: leads[name] for name in same} == {name: follows[name] for name in same}
    assert (leads["Voters"], leads["Learners"], leads["Leader"], leads["Joint"]) == (["1", "2", "3"], [], ["1"], ["FALSE"])
    assert (leads["Node"], follows["Node"]) == (["1"], ["2"])
    assert (leads["Role"], follows["Role"]) == (["leader"], ["follower"])
    assert (leads["CanLoseOne"], follows["CanLoseOne"]) == (["TRUE"], ["unknown"])
    assert int(leads["Commit"][0]) >= int(leads["Applied"][0]) > 0

    cluster.kill(3)
    wait_for(lambda: shown(connections[1])["CanLoseOne"] == ["FALSE"], "the leader notices that a node is away")
    connections[1].modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"2"])])
    assert [csn(connections[number], CLUSTER_SUFFIX) for number in (1, 2)] == 2 * [csn(connections[1], dn, "entryCSN")]
    assert [line for line in shown(connections[1])["Replicas"] if line.startswith("3 down lag ")]
    # It is an alternative as long as it is a member.
    assert urls[3] in root_dse(cluster.nodes[1])


def test_what_a_server_alone_shows(keep):
    rule = "no-csn: all attrs=contextCSN; users; deny=all rank=5"
    here = keep("--access-rule", rule, ldif="people.ldif")
    root = connect(here, ADMIN, SECRET)
    assert "altServer" not in root.search_s("", ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
    said = shown(root)
    assert (said["Role"], said["Leader"], said["Voters"], said["CanLoseOne"]) == (["alone"], ["0"], [], ["unknown"])
    values = [csn(root, SUFFIX)]
    user = f"uid=newcomer,{PEOPLE}"
    root.add_s(user, [("objectClass", b"inetOrgPerson"), ("cn", b"A"), ("sn", b"B"), ("userPassword", b"a long word")])
    values.append(csn(root, SUFFIX))
    assert values[1] == csn(root, user, "entryCSN") and values[0] < values[1]
    # Topmost entries have it alone, for those who name it, and a filter finds it there.
    assert csn(root, PEOPLE) is None
    assert "contextCSN" not in root.search_s(SUFFIX, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
    assert [dn for dn, _ in root.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(contextCSN={values[1]})", ["1.1"])] == [SUFFIX]
    # A rule hides it like any other attribute.
    reader = connect(here, user, "a long word")
    assert csn(reader, SUFFIX) is None and csn(reader, SUFFIX, "entryCSN")
    # It is the same after a crash.
    values = csn(root, SUFFIX)
    here.kill()
    assert csn(connect(keep(), ADMIN, SECRET), SUFFIX) == values


def acknowledged(cluster, by, of):
    """The last entry that a node has on its disk of what another one has acknowledged."""
    path = cluster.folder / f"n{by}/data/cluster/seen"
    lines = [line.split() for line in path.read_text().splitlines() if line.startswith(f"node {of} ")]
    return int(lines[0][-1]) if lines else 0


def test_a_disk_that_was_set_back_is_refused_also_after_all_have_started(cluster):
    three(cluster)
    data, image = cluster.folder / "n3/data", cluster.folder / "image"
    # The usual image: of the run that goes on.
    stop_all_threads(cluster.nodes[3].pid)
    shutil.copytree(data, image)
    cluster.nodes[3].process.send_signal(signal.SIGCONT)
    session = bound(cluster.nodes[1])
    session.add_s(*person("later"))
    last = int(shown(session)["Applied"][0])
    for by in (1, 2):
        wait_for(lambda: acknowledged(cluster, by, 3) >= last, "what was acknowledged is on the disks of others")
    for number in (3, 1, 2):
        cluster.kill(number)
    cluster.start(1)
    cluster.start(2)
    data.rename(cluster.folder / "sound")
    image.rename(data)
    cluster.start(3)
    refused = "it started from an earlier state of its data directory: it lacks what it has acknowledged"
    for by in (1, 2):
        wait_for(lambda: refused in cluster.nodes[by].log, "the image is refused")
    assert cluster.roles(cluster.leader(1))[3] == "down"
    assert not cluster.status(1)["can_lose_one"]
    assert bound(cluster.nodes[2]).compare_s(f"cn=later,{CLUSTER_PEOPLE}", "sn", "0")
    # Its own disk is taken.
    cluster.kill(3)
    data.rename(image)
    (cluster.folder / "sound").rename(data)
    cluster.start(3)
    cluster.wait_for_safety(1)
    assert bound(cluster.nodes[3]).compare_s(f"cn=later,{CLUSTER_PEOPLE}", "sn", "0")


def test_certificates_are_renewed_at_half_of_their_time(cluster):
    # Those that node 1 issues are past their half at once: they begin an hour before they are made.
    cluster.first("--certificate-valid", "600")
    cluster.join(2)
    cluster.join(3)
    days = lambda: {node["id"]: node["certificate_days"] for node in cluster.status(1)["nodes"]}
    wait_for(lambda: days() == {1: 364, 2: 364, 3: 364}, "the nodes renew their certificates")
    for number in (2, 3):
        wait_for(lambda: "the certificate of this node was renewed" in cluster.nodes[number].log, "it is in use")
        folder = cluster.folder / f"n{number}/data/cluster"
        assert (folder / "node.pem").read_text() == (folder / "node.next.pem").read_text()
    cluster.wait_for_safety(1)
    assert "ends in" not in cluster.command(2, "status").out
    # Commands and links go by them, also after starts.
    for number in (3, 2, 1):
        cluster.nodes.pop(number).end()
        cluster.start(number)
    for number in (1, 2, 3):
        cluster.wait_for_safety(number)
