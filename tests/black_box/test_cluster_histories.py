"""What concurrent clients see of the nodes of a cluster fits together, whatever happens to these: pando-histories and Porcupine judge."""

import os
import time

import pytest

from conftest import chances
from nemesis import Disturbed, Nemesis
from recorded import PLAYED, Clients
from test_cluster import CONTAINER
from test_histories import pytestmark as needs_histories
from test_porcupine import porcupine

# For how long the nodes are disturbed.
SECONDS = float(os.environ.get("PANDO_NEMESIS_SECONDS", "90"))

pytestmark = needs_histories
__all__ = ["porcupine"]


@pytest.fixture
def cluster(tmp_path):
    """Three nodes, which could lose one; all are ended after the test."""
    cluster = Disturbed(tmp_path)
    cluster.first("--suffix", PLAYED, "--snapshot-after", "1048576")
    cluster.join(2)
    cluster.join(3)
    cluster.wait_for_safety(1)
    cluster.nodes[1].modify(CONTAINER, "-a")
    yield cluster
    cluster.end()


def test_nodes_links_and_disks_that_are_disturbed(cluster, porcupine, tmp_path):
    chance = chances("nemesis")
    clients = Clients(cluster, tmp_path / "recorded", chance.getrandbits(32))
    nemesis = Nemesis(cluster, chance)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        clients.say("play")
        nemesis.round()
        clients.say("stop")
        clients.cut()
        nemesis.say("the same on all nodes")
    print(clients.end())
    clients.judge(porcupine, tmp_path)
