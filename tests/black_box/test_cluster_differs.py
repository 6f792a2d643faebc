"""A node whose directory is known to be wrong serves nobody, and is made anew with the snapshot of another, with its number and its vote."""

from conftest import wait_for
from test_cluster import PEOPLE, bound, cluster, entries, person, three  # noqa: F401
from test_cluster_monitor import shown


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_node_that_differs_serves_nobody_and_is_made_anew(cluster):
    three(cluster)
    leader = bound(cluster.nodes[1])
    for number in range(20):
        leader.add_s(*person(f"p{number}"))
    applied = int(shown(bound(cluster.nodes[3]))["Applied"][0])
    current = cluster.folder / "n3/data/current"
    generation = int(current.read_text().split("\n")[0].split()[2])
    cluster.kill(3)
    # What the node writes down when it finds itself in the minority.
    text = f"snapshot = {generation}\nentry = {applied}\n"
    differs = cluster.folder / "n3/data/differs"
    differs.write_text(f'{text}checksum = "{crc32c(text.encode()):08x}"\n')
    # From here on nobody has all entries in memory that the node lacks; the leader must make a snapshot for it.
    leader.add_s(*person("later"))
    cluster.start(3)
    wait_for(lambda: not differs.exists(), "the node is made anew")
    assert int(current.read_text().split("\n")[0].split()[2]) == generation + 1
    cluster.wait_for_safety(1)
    wait_for(lambda: shown(bound(cluster.nodes[3]))["Standing"] == ["serves"], "the node serves again")
    cluster.command(3, "ready")
    status = cluster.status(1)
    assert [(node["id"], node["rebuilt"]) for node in status["nodes"]] == [(1, False), (2, False), (3, False)]
    assert not status["doubted"]
    assert entries(cluster.nodes[3]) == entries(cluster.nodes[1])
    # With its vote: it makes a majority with one of the others.
    cluster.kill(2)
    bound(cluster.nodes[3]).add_s(*person("last"))
    assert f"cn=last,{PEOPLE}" in entries(cluster.nodes[1])
