"""What only a node of a cluster refuses, each with its text: commands and starts, as docs/cluster.md lists them, and what clients are answered."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading

import ldap
import pytest

from conftest import PANDO, PATIENCE, run, stop_all_threads, wait_for
from test_cluster import PEOPLE, ROOT, SUFFIX, Node, bound, cluster, free_port, person, three  # noqa: F401

NO_MAJORITY = "no majority of the cluster's servers answers: what is here may be out of date"
LEADERLESS = "no server leads the cluster: nothing was changed; try again"
LEADER_LOST = "another server took over while this was being written: the outcome is unknown"
UNKNOWN = "the log failed while this was being written: the outcome is unknown"
OTHER_CHANGE = "another change of the settings is being written; try again"
LATE = "it was asked for, and not done within ten seconds: look at `pando cluster status`"


def said(cluster, at, *command):
    """What a command says that is refused, without the address of the node that says it."""
    err = cluster.command(at, *command, code=1).err.strip()
    return err.removeprefix(f"pando cluster: {cluster.addresses[at][1]}: ")


def answer(error, attempt):
    """The text of an answer of this kind."""
    with pytest.raises(error) as refused:
        attempt()
    return refused.value.args[0]["info"]


def join(cluster, number, token, *arguments):
    """The command of a node that joins with a token."""
    (cluster.folder / f"n{number}").mkdir(exist_ok=True)
    own = ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{free_port()}"]
    return [str(part) for part in [PANDO, "serve", "--data", cluster.folder / f"n{number}/data", *own, "--join", cluster.folder / token, *arguments]]


def test_a_leader_that_no_node_can_follow_stays(cluster):
    cluster.first()
    too_few = "the cluster cannot go on without node 1: too few of the 1 nodes that vote have caught up, are not drained and would be left"
    assert said(cluster, 1, "drain", 1) == too_few
    assert said(cluster, 1, "remove", 1) == "no node that votes would be left"
    cluster.join(2)
    cluster.nodes[1].modify(f"dn: {SUFFIX}\nobjectClass: domain\ndc: com\n", "-a")
    assert bound(cluster.nodes[2]).compare_s(SUFFIX, "dc", "com")
    assert said(cluster, 2, "move-leader", 2) == "node 2 has no vote"
    # A learner could get its vote, but another node that votes has to lead before.
    stays = "no other node that votes has caught up: none can lead"
    wait_for(lambda: said(cluster, 1, "remove", 1) == stays, "the learner has caught up")


def test_a_node_that_cannot_listen_for_others_does_not_join(cluster):
    cluster.first()
    cluster.token("token")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (cluster.folder / "n2").mkdir()
        own = ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{port}"]
        err = run(PANDO, "serve", "--data", cluster.folder / "n2/data", *own, "--join", cluster.folder / "token", code=1).err
        assert f"--peer 127.0.0.1:{port}: Address already in use" in err
    assert list(cluster.roles(1)) == [1]
    # The token is not used up.
    cluster.begin(2, "--join", cluster.folder / "token")


def test_commands_are_refused_that_would_end_the_cluster(cluster):
    cluster.first()
    cluster.token("early")
    cluster.join(2)
    cluster.join(3)
    cluster.wait_for_safety(1)
    for command in ("drain", "replace"):
        assert said(cluster, 2, command, 9) == "node 9 is no member"
    this_one = f"pando cluster: {cluster.folder}/n2/data: this is the node that is to go: name another one with --data, or leave out --wait"
    assert said(cluster, 2, "replace", 2, "--wait") == this_one
    assert said(cluster, 2, "remove", 1, 2, 3) == "no node that votes would be left"
    even = "without node 3 there would be 2 votes: join another node first, which takes its place"
    assert said(cluster, 2, "remove", 3) == even
    assert said(cluster, 2, "remove", 3, "--dead") == "node 3 is heard of: it is not dead"
    # The token names node 1 alone, as it was when it was made. That could lead again, so the join asks it for ten seconds.
    cluster.command(1, "move-leader", 2)
    elsewhere = f"node 2 ({cluster.addresses[2][1]}) leads the cluster, and this is node 1\n"
    refused = run(*join(cluster, 4, "early"), code=1).err
    assert refused.count(f"no node takes this one yet: it asks again. {elsewhere}") == 1
    assert refused.endswith(f"pando serve: --join: the node refuses: {elsewhere}")
    cluster.command(1, "move-leader", 1)
    at_two = cluster.addresses[2][1]
    refused = run(*join(cluster, 4, "early", "--peer-advertise", at_two), code=1).err
    assert refused.endswith(f"{at_two} is the address of node 2: give this one another, or remove node 2 first\n"), refused
    assert said(cluster, 1, "move-leader", 9) == "node 9 has no vote"
    cluster.command(1, "drain", 3)
    assert said(cluster, 1, "move-leader", 3) == "node 3 is drained: `pando cluster drain 3 --undo` ends that"
    assert cluster.command(3, "ready", code=1).err.endswith(": the node is drained\n")
    cluster.command(1, "drain", 3, "--undo")
    cluster.command(1, "replace", 3, "-o", cluster.folder / "token5")
    assert said(cluster, 2, "replace", 3) == "node 3 is to be replaced already: `pando cluster replace 3 --undo` ends that"
    cluster.command(1, "replace", 3, "--undo")

    cluster.kill(3)
    wait_for(lambda: cluster.roles(1)[3] == "down", "it is noticed")
    assert said(cluster, 1, "drain", 3) == "node 3 is down"
    assert said(cluster, 1, "remove", 1, 2) == "without node 1 and 2 no majority of the nodes that vote would be there"
    cluster.kill(2)
    wait_for(lambda: "leader" not in cluster.roles(1).values(), "it leads no more")
    assert said(cluster, 1, "move-leader", 1) == "no node leads the cluster now: try again"
    assert cluster.command(1, "ready", code=1).err.endswith(": the node knows of no leader\n")
    assert said(cluster, 1, "remove", 3) == LATE


def test_a_node_joins_while_another_leader_is_elected(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    cluster.token("token4")
    # The token names it first. The other two say for about a second that it leads.
    cluster.kill(1)
    cluster.begin(4, "--join", cluster.folder / "token4")
    assert "pando serve: this is node 4 of the cluster\n" in cluster.nodes[4].log
    wait_for(lambda: cluster.roles(2).get(4) == "learner", "the new leader hears of it")


def test_a_node_that_is_to_take_the_place_of_another_is_not_replaced_itself(cluster):
    three(cluster)
    cluster.command(1, "replace", 3, "-o", cluster.folder / "token4")
    cluster.kill(2)
    with open(cluster.folder / "n4.log", "wb") as log:
        new = subprocess.Popen(join(cluster, 4, "token4"), stdout=log, stderr=subprocess.PIPE)
    # It has joined, and ends before it has fetched anything: it cannot catch up.
    for line in new.stderr:
        if b"this is node 4 of the cluster" in line:
            break
    new.kill()
    new.wait(PATIENCE)
    new.stderr.close()
    new.stdout and new.stdout.close()
    assert said(cluster, 1, "replace", 4) == "node 4 is to take the place of node 3: remove it instead"
    # Nor does it become node 1 of another cluster.
    cluster_of_its_own = [part for part in join(cluster, 4, "token4") if part != "--join" and not part.endswith("token4")]
    other = run(*cluster_of_its_own, "--init-cluster", "--suffix", SUFFIX, code=1).err
    assert "pando serve: --init-cluster: this directory belongs to a node that joins another cluster" in other


def test_starts_that_make_no_node_are_refused(cluster, tmp_path):
    root = ["--root-dn", ROOT, "--root-password-file", tmp_path / "root.password"]
    own = lambda: ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{free_port()}"]
    serve = lambda name, *more, code: run(PANDO, "serve", "--data", tmp_path / name / "data", *own(), *more, code=code).err
    memory = run(PANDO, "serve", "--memory", "--suffix", SUFFIX, *own(), "--init-cluster", code=1).err
    assert "--peer: a node of a cluster needs --data" in memory
    cluster.first()
    cluster.token("token")
    (tmp_path / "alone").mkdir()
    alone = Node(tmp_path / "alone", "--suffix", SUFFIX, *root, "--listen", "ldap://127.0.0.1:0")
    alone.modify(f"dn: {SUFFIX}\nobjectClass: domain\ndc: com\n", "-a")
    alone.end()
    entries = serve("alone", "--join", tmp_path / "token", code=1)
    assert "--join: this directory has entries: a node that joins begins with none" in entries
    # As it is when the power fails while it is made a node.
    shutil.copytree(tmp_path / "n1/data/cluster", tmp_path / "alone/data/cluster")
    assert "it is not a node yet: start it with --init-cluster again" in serve("alone", code=1)
    # A node stays what it is. Its directory has the key of the CA, so it is for its owner.
    cluster.kill(1)
    (tmp_path / "n1/data").chmod(0o755)
    cluster.start(1)
    assert f"chmod -R go= {tmp_path}/n1/data" in cluster.nodes[1].log
    cluster.kill(1)
    sync = "--sync: a node of a cluster syncs what it answers: leave it at `always`"
    assert sync in serve("n1", "--sync", "none", code=2)
    fails = "a node of a cluster that cannot write its log must not answer as one that has everything: leave it at `exit`"
    assert fails in serve("n1", "--on-log-failure", "read-only", code=2)
    imports = "--import: fill the directory first, then make it a node; or load into the cluster"
    assert imports in serve("n1", "--import", "/dev/null", code=1)
    same = "a setting of the directory is the same on all nodes: change it over LDAP, in cn=config, and take it out of this start"
    assert f"the settings: `txn-age-max`: {same}" in serve("n1", "--txn-age-max", 5000, code=1)
    everywhere = "it is the same on all nodes. Leave it out of this start; definitions are added over LDAP, to the subschema, and all else takes a new cluster, made of an export"
    for key, made, other in (("suffix", SUFFIX, "dc=org"), ("schema", "the standard one", "dvtds"), ("schema-check", "on", "off")):
        differs = f"`{key}` is {made} in this data directory, but {other} is configured: {everywhere}"
        assert differs in serve("n1", f"--{key}", other, code=2)
    more = tmp_path / "more.ldif"
    more.write_text(f"dn: ou=more,{SUFFIX}\nobjectClass: organizationalUnit\nou: more\n")
    offline = run(PANDO, "import", "--data", tmp_path / "n1/data", "--add", more, code=1).err
    assert "it belongs to a replica of a cluster, and cannot be replayed by itself" in offline


def test_a_file_that_is_no_token_is_refused_with_what_is_wrong_with_it(cluster, tmp_path):
    cluster.first()
    cluster.token("token")
    text = (tmp_path / "token").read_text()
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["cluster", "ca", "expires", "id", "address", "mac"]
    own = lines[5]
    damaged = {
        "it is too long": text + own * 200,
        "it does not begin as tokens do": "a token",
        "its cluster is missing": "\n".join(lines[:1]),
        "its CA is missing": text.replace(lines[2] + "\n", ""),
        "its end is missing": text.replace(lines[3] + "\n", ""),
        "its number is missing": text.replace(lines[4] + "\n", ""),
        "its code is missing": "\n".join(lines[:5]),
        "it has no addresses, or too many": text.replace(own, "\n".join([own] * 9)),
        "one of its addresses is none": text.replace(own, "address 127.0.0.1"),
        "its cluster is none": text.replace(lines[1], "cluster 0"),
        "its CA is none": text.replace(lines[2], "ca 0"),
        "its end is no time": text.replace(lines[3], "expires soon"),
        "its number is none": text.replace(lines[4], "id 0"),
        "its code is none": text.replace(lines[6], "mac 0"),
        "it is not as Pando writes it": text.replace("\n", "\r\n"),
    }
    file = tmp_path / "damaged"
    refused = lambda: run(*join(cluster, 2, "damaged"), code=1).err
    for what, given in damaged.items():
        file.write_bytes(given.encode())
        assert refused() == f"pando serve: {file}: the token is damaged: {what}\n"
    file.write_text(text.replace("pando join token 1", "pando join token 2"))
    assert refused() == f"pando serve: {file}: the token is of another version of Pando\n"
    file.unlink()
    assert refused() == f"pando serve: {file}: No such file or directory (os error 2)\n"


@pytest.mark.parametrize("is_named", [False, True], ids=["recorded", "named"])
def test_a_directory_that_does_not_sync_what_it_answers_is_made_no_node_before_it_does(cluster, tmp_path, is_named):
    root = ["--root-dn", ROOT, "--root-password-file", tmp_path / "root.password"]
    (tmp_path / "n1").mkdir()
    alone = Node(tmp_path / "n1", "--suffix", SUFFIX, *root, "--listen", "ldap://127.0.0.1:0", "--sync", "none")
    alone.modify(f"dn: {SUFFIX}\nobjectClass: domain\ndc: com\n", "-a")
    alone.end()
    if is_named:
        cluster.first("--sync", "always")
    else:
        own = ["--listen", f"ldap://127.0.0.1:{free_port()}", "--peer", f"127.0.0.1:{free_port()}"]
        refused = run(PANDO, "serve", "--data", tmp_path / "n1/data", *own, "--init-cluster", code=1).err
        assert "a node of a cluster syncs what it answers: give `--sync always` with this start" in refused
        # It is what it was.
        alone = Node(tmp_path / "n1", "--listen", "ldap://127.0.0.1:0")
        assert bound(alone).compare_s(SUFFIX, "dc", "com")
        alone.end()
        cluster.first("--sync", "always")
    assert bound(cluster.nodes[1]).compare_s(SUFFIX, "dc", "com")
    cluster.kill(1)
    cluster.start(1)
    cluster.join(2)
    assert bound(cluster.nodes[2]).compare_s(SUFFIX, "dc", "com")


@contextlib.contextmanager
def stand_still(cluster, *numbers):
    """Nodes of which nothing is heard meanwhile."""
    pids = [cluster.nodes[number].pid for number in numbers]
    try:
        for pid in pids:
            stop_all_threads(pid)
        yield
    finally:
        [os.kill(pid, signal.SIGCONT) for pid in pids]


def test_what_clients_are_answered_without_a_majority(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    one, two = bound(cluster.nodes[1]), bound(cluster.nodes[2])
    one.add_s(*person("a"))
    dn, _ = person("a")
    change = [(ldap.MOD_REPLACE, "sn", [b"1"])]
    # A leader that hears nobody, and has an update in its log.
    with stand_still(cluster, 2, 3):
        assert answer(ldap.UNAVAILABLE, lambda: one.modify_s(dn, change)) == LEADER_LOST
        assert answer(ldap.BUSY, lambda: one.search_s(PEOPLE, ldap.SCOPE_BASE)) == NO_MAJORITY
        assert answer(ldap.BUSY, lambda: bound(cluster.nodes[1])) == NO_MAJORITY
        assert answer(ldap.BUSY, lambda: one.modify_s(dn, change)) == LEADERLESS
    cluster.leader(1)
    cluster.wait_for_safety(1)
    cluster.command(1, "move-leader", 1)
    # An update that was sent to a leader of which nothing is heard any more.
    with stand_still(cluster, 1, 3):
        assert answer(ldap.UNAVAILABLE, lambda: two.modify_s(dn, change)) == UNKNOWN
        assert answer(ldap.BUSY, lambda: two.modify_s(dn, change)) == LEADERLESS


def test_of_two_changes_of_settings_at_a_time_one_is_busy(cluster):
    three(cluster)
    texts, over = [], threading.Event()

    def change(number, attribute):
        session = bound(cluster.nodes[number])
        value = 100
        while not over.is_set():
            value += 1
            try:
                session.modify_s("cn=config", [(ldap.MOD_REPLACE, attribute, str(value).encode())])
            except ldap.BUSY as busy:
                texts.append(busy.args[0]["info"])

    threads = [threading.Thread(target=change, args=pair) for pair in ((2, "pandoTxnOpenMax"), (3, "pandoTxnUpdatesMax"))]
    [thread.start() for thread in threads]
    try:
        wait_for(lambda: texts, "two changes meet")
    finally:
        over.set()
        [thread.join(PATIENCE) for thread in threads]
    assert set(texts) == {OTHER_CHANGE}


def test_a_node_that_was_removed_is_no_member(cluster):
    three(cluster)
    cluster.join(4)
    wait_for(lambda: cluster.roles(1).get(4) == "learner", "it has joined")
    bound(cluster.nodes[4]).add_s(*person("a"))
    cluster.command(1, "remove", 4)
    # It knows it, or, when its links have heard of it, takes no commands either.
    ready = wait_for(lambda: cluster.command(4, "ready", code=None).err, "it may not serve")
    assert ready.endswith(("the node is no member\n", "the node knows of no leader\n", "the other end has gone\n"))
    wait_for(lambda: "the other end has gone" in cluster.command(4, "ready", code=1).err, "its links have heard of it")
    cluster.nodes.pop(4).end()
    data = cluster.folder / "n4/data"
    refused = run(PANDO, "cluster", "recover", "--data", data, "--accept-loss", "--lost", "1,2,3", "--yes", code=1).err
    assert refused.endswith("/n4/data: node 4 was removed from the cluster: recover a node that was a member\n")
