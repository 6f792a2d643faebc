"""Three servers, one directory: what was answered survives the loss of one, and each of them takes any request."""

import json
import signal
import socket
import stat
import subprocess
import threading
import time
from urllib.parse import quote

import ldap
import pytest
from certificates import Authority
from ldap.controls.readentry import PostReadControl, PreReadControl

from conftest import PANDO, PATIENCE, SECRET, Server, connect, run, wait_for, wait_until

SUFFIX = "dc=com"
ROOT = f"cn=admin,{SUFFIX}"
PEOPLE = f"ou=people,{SUFFIX}"
# Seconds for which a leader keeps all entries in memory for a node that it does not hear of any more, and some.
FORGOTTEN = 6
CONTAINER = f"dn: {SUFFIX}\nobjectClass: domain\ndc: com\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n"


def free_port():
    """A port that was free a moment ago: the others must know it before the server has it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Node(Server):
    """A node of a cluster."""

    def __init__(self, folder, *arguments, env=None, program=PANDO):
        super().__init__(arguments, folder, storage=("--data", folder / "data"), env=env, program=program)
        self.admin = ["-x", "-H", self.url, "-D", ROOT, "-w", SECRET]


class Cluster:
    """Its nodes, by their numbers, each with a folder of its own."""

    def __init__(self, folder):
        self.folder, self.nodes, self.addresses = folder, {}, {}
        (folder / "root.password").write_text(SECRET + "\n")
        (folder / "root.password").chmod(0o600)

    def first(self, *arguments):
        """Makes node 1, of its directory if it has one."""
        root = ["--root-dn", ROOT, "--root-password-file", self.folder / "root.password"]
        self.begin(1, "--suffix", SUFFIX, *root, "--init-cluster", *arguments)

    def begin(self, number, *arguments):
        """The first start of a node."""
        (self.folder / f"n{number}").mkdir(exist_ok=True)
        self.addresses[number] = (f"ldap://127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}")
        listen, peer = self.addresses[number]
        self.start(number, "--listen", listen, "--peer", peer, *arguments)

    def join(self, number, at=1):
        self.token(f"token{number}", at)
        self.begin(number, "--join", self.folder / f"token{number}")

    def start(self, number, *arguments, program=PANDO):
        self.nodes[number] = Node(self.folder / f"n{number}", *arguments, program=program)

    def token(self, name, at=1):
        self.command(at, "token", "-o", self.folder / name)
        assert stat.S_IMODE((self.folder / name).stat().st_mode) == 0o600

    def command(self, at, name, *arguments, code=0):
        return run(PANDO, "cluster", name, "--data", self.folder / f"n{at}/data", *arguments, code=code)

    def status(self, at):
        return json.loads(self.command(at, "status", "--json").out)

    def roles(self, at):
        return {node["id"]: node["role"] for node in self.status(at)["nodes"]}

    def wait_for_safety(self, at):
        wait_for(lambda: self.status(at)["can_lose_one"], "all nodes catch up")

    def leader(self, at):
        leads = lambda: [number for number, role in self.roles(at).items() if role == "leader"]
        return wait_for(leads, "a node leads")[0]

    def kill(self, number):
        self.nodes.pop(number).kill()

    def end(self):
        for node in self.nodes.values():
            node.process.send_signal(signal.SIGTERM)
        for node in self.nodes.values():
            node.end()


@pytest.fixture
def cluster(tmp_path):
    """None yet; all of it ends with the test."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


def three(cluster, *arguments):
    """Makes a cluster of three, which could lose one."""
    cluster.first(*arguments)
    cluster.join(2)
    cluster.join(3)
    cluster.wait_for_safety(1)
    cluster.nodes[1].modify(CONTAINER, "-a")
    return cluster


def bound(node):
    return connect(node, ROOT, SECRET)


def entries(node, base=SUFFIX):
    """Everything in the directory, as a node says it."""
    found = bound(node).search_s(base, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["*", "+"])
    return {dn: {name: sorted(values) for name, values in attributes.items()} for dn, attributes in found}


def person(name):
    attributes = [("objectClass", [b"person"]), ("cn", [name.encode()]), ("sn", [b"0"])]
    return f"cn={name},{PEOPLE}", attributes


def test_each_node_takes_any_request(cluster):
    three(cluster)
    connections = {number: bound(node) for number, node in cluster.nodes.items()}
    for number, connection in connections.items():
        connection.add_s(*person(f"of{number}"))
        # What one node has answered, all others show.
        for other in connections.values():
            assert other.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, f"(cn=of{number})", ["sn"]) == [
                (f"cn=of{number},{PEOPLE}", {"sn": [b"0"]})
            ]
    for number, connection in connections.items():
        connection.modify_s(f"cn=of1,{PEOPLE}", [(ldap.MOD_REPLACE, "sn", str(number).encode())])
        assert connection.compare_s(f"cn=of1,{PEOPLE}", "sn", str(number).encode())
    with pytest.raises(ldap.ALREADY_EXISTS):
        connections[3].add_s(*person("of1"))
    connections[2].delete_s(f"cn=of3,{PEOPLE}")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connections[3].delete_s(f"cn=of3,{PEOPLE}")
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[2]) == entries(cluster.nodes[3])


def test_transactions_and_reads_of_updates_at_a_node_that_does_not_lead(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    two = cluster.nodes[2]
    adds = "".join(
        f"dn: cn={name},{PEOPLE}\nchangetype: add\nobjectClass: person\ncn: {name}\nsn: 0\n\n" for name in "ab"
    )
    two.modify(adds, "-E", "txn=commit")
    assert len(bound(cluster.nodes[3]).search_s(PEOPLE, ldap.SCOPE_ONELEVEL)) == 2
    # All of it or nothing, and an answer that says which update stood against it.
    change = f"dn: cn=a,{PEOPLE}\nchangetype: modify\nreplace: sn\nsn: 1\n\n"
    refused = two.modify(change + adds, "-E", "txn=commit", code=None)
    assert refused.code != 0 and "lready exists" in refused.said
    two.modify(change, "-E", "txn=abort")
    [(_, found)] = bound(cluster.nodes[3]).search_s(f"cn=a,{PEOPLE}", ldap.SCOPE_BASE)
    assert found["sn"] == [b"0"]
    # What stands before and behind an update is what is read in its place of the log, as the client may read it.
    session, controls = bound(two), [PreReadControl(True, ["sn"]), PostReadControl(True, ["sn"])]
    for number in range(1, 20):
        message = session.modify_ext(
            f"cn=a,{PEOPLE}", [(ldap.MOD_REPLACE, "sn", str(number).encode())], serverctrls=controls
        )
        *_, answered = session.result3(message, all=1, timeout=PATIENCE)
        values = {control.controlType: control.entry["sn"] for control in answered}
        assert values == {
            PreReadControl.controlType: [str(number - 1).encode()],
            PostReadControl.controlType: [str(number).encode()],
        }


def age_of_transactions(node):
    [(_, found)] = bound(node).search_s("cn=config", ldap.SCOPE_BASE, attrlist=["pandoTxnAgeMax"])
    return found["pandoTxnAgeMax"][0]


def test_a_setting_and_a_password_are_the_same_on_all_nodes(cluster):
    three(cluster)
    two = bound(cluster.nodes[2])
    two.add_s(f"cn=bo,{PEOPLE}", [("objectClass", [b"person"]), ("cn", [b"bo"]), ("sn", [b"b"]), ("userPassword", [b"first"])])
    assert connect(cluster.nodes[3], f"cn=bo,{PEOPLE}", "first").whoami_s() == f"dn:cn=bo,{PEOPLE}"
    two.passwd_s(f"cn=bo,{PEOPLE}", "first", "second")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(cluster.nodes[3], f"cn=bo,{PEOPLE}", "first")
    connect(cluster.nodes[1], f"cn=bo,{PEOPLE}", "second")
    cluster.command(1, "move-leader", 1)
    change = [(ldap.MOD_REPLACE, "pandoTxnAgeMax", b"7000")]
    two.modify_s("cn=config", change)
    assert all(age_of_transactions(node) == b"7000" for node in cluster.nodes.values())
    # Each is made of what the one before has come to, wherever that was.
    for number, value in ((1, b"6000"), (3, b"5000"), (2, b"7000")):
        bound(cluster.nodes[number]).modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", value)])
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        two.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", b"much")])
    # Changes have the same numbers at each node, whichever was asked.
    two.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoChangelogKeep", b"1MiB")])
    for number, name in ((1, "p"), (3, "q"), (2, "r")):
        bound(cluster.nodes[number]).add_s(*person(name))
    bound(cluster.nodes[3]).delete_s(person("q")[0])
    logs = [dict(bound(node).search_s("cn=changelog", ldap.SCOPE_SUBTREE)) for node in cluster.nodes.values()]
    assert logs[0] == logs[1] == logs[2] and len(logs[0]) == 5, logs
    usns = [bound(node).search_s(PEOPLE, ldap.SCOPE_SUBTREE, attrlist=["entryUSN"]) for node in cluster.nodes.values()]
    assert sorted(usns[0]) == sorted(usns[1]) == sorted(usns[2])
    # A limit holds at each, whichever was asked to change it.
    two.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoLimitsSize", b"1")])
    for node in cluster.nodes.values():
        with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
            connect(node, f"cn=bo,{PEOPLE}", "second").search_s(PEOPLE, ldap.SCOPE_SUBTREE)
    # It is the cluster's, and not that of one start: node 3 has the last change, for it answers with it.
    assert age_of_transactions(cluster.nodes[3]) == b"7000"
    listen, peer = cluster.addresses[3]
    cluster.nodes.pop(3).end()
    node = ["--data", cluster.folder / "n3/data", "--listen", listen, "--peer", peer]
    assert "the same on all nodes" in run(PANDO, "serve", *node, "--txn-age-max", 5000, code=1).err
    cluster.start(3)
    assert age_of_transactions(cluster.nodes[3]) == b"7000"


def test_another_node_leads_at_once_when_it_is_asked_to(cluster):
    three(cluster)
    session = bound(cluster.nodes[1])
    for to in (3, 2, 1):
        cluster.command(1, "move-leader", to)
        assert cluster.leader(2) == to
        session.add_s(*person(f"under{to}"))
    assert cluster.command(1, "move-leader", 9, code=1).err.count("node 9 has no vote") == 1
    assert "can be lost" in cluster.command(3, "status").out
    cluster.command(2, "ready")


class Writers:
    """Sessions that count entries up at a node until they are told to stop."""

    def __init__(self, node, names):
        self.counted, self.unknown, self.stop = {name: 0 for name in names}, [], threading.Event()
        self.threads = [threading.Thread(target=self.count, args=(node, name)) for name in names]
        [thread.start() for thread in self.threads]

    def count(self, node, name):
        session = bound(node)
        number = 0
        while not self.stop.is_set():
            number += 1
            change = [(ldap.MOD_REPLACE, "sn", str(number).encode())]
            try:
                session.modify_s(f"cn={name},{PEOPLE}", change)
                self.counted[name] = number
            except ldap.BUSY:
                number -= 1
            except ldap.UNAVAILABLE:
                # It may have been done, or not.
                self.unknown.append((name, number))

    def end(self):
        self.stop.set()
        [thread.join(PATIENCE) for thread in self.threads]
        return self.counted


def test_a_killed_leader_loses_nothing_and_another_takes_over(cluster):
    three(cluster)
    names = [f"w{n}" for n in range(4)]
    for name in names:
        bound(cluster.nodes[1]).add_s(*person(name))
    cluster.command(1, "move-leader", 1)
    writers = Writers(cluster.nodes[2], names)
    wait_for(lambda: min(writers.counted.values()) > 20, "they write")
    before = dict(writers.counted)
    cluster.kill(1)
    # The sessions at a living node go on.
    wait_for(lambda: all(writers.counted[name] > before[name] + 20 for name in names), "they write again")
    counted = writers.end()
    assert cluster.leader(2) in (2, 3)
    # What was acknowledged is there; of the last update of each nobody may have known.
    unknown = {}
    for name, number in writers.unknown:
        unknown.setdefault(name, set()).add(number)
    for number in (2, 3):
        for name in names:
            [(_, found)] = bound(cluster.nodes[number]).search_s(f"cn={name},{PEOPLE}", ldap.SCOPE_BASE)
            assert int(found["sn"][0]) in {counted[name]} | unknown.get(name, set())
    cluster.start(1)
    cluster.wait_for_safety(3)
    assert entries(cluster.nodes[1]) == entries(cluster.nodes[2]) == entries(cluster.nodes[3])
    bound(cluster.nodes[1]).add_s(*person("again"))


def test_without_a_majority_nothing_is_read_or_written_and_all_comes_back(cluster):
    three(cluster)
    session = bound(cluster.nodes[1])
    session.add_s(*person("before"))
    cluster.kill(2)
    cluster.kill(3)
    # Until it has noticed, an update is one of unknown outcome.
    wait_for(lambda: "leader" not in cluster.roles(1).values(), "it leads no more")
    for asked in (
        lambda: session.search_s(PEOPLE, ldap.SCOPE_BASE),
        lambda: session.delete_s(f"cn=before,{PEOPLE}"),
    ):
        with pytest.raises(ldap.BUSY) as refused:
            asked()
        assert "server" in str(refused.value)
    assert cluster.command(1, "status").out.endswith("; this node knows of no leader, and nothing of the others\n")
    cluster.start(3)
    # An election may take longer than a read waits.
    look = lambda: cluster.nodes[3].search("-b", PEOPLE, "(cn=before)", "dn", code=None)
    wait_for(lambda: look().dns == [f"cn=before,{PEOPLE}"], "they agree")
    session.delete_s(f"cn=before,{PEOPLE}")


def test_a_node_that_was_away_for_long_starts_again_with_a_snapshot(cluster):
    three(cluster, "--snapshot-after", "1048576")
    cluster.command(1, "move-leader", 1)
    cluster.nodes.pop(3).end()
    forgotten = time.monotonic() + FORGOTTEN
    session = bound(cluster.nodes[1])
    session.add_s(*person("big"))
    # More than the leader keeps in memory for those that are behind.
    for number in range(90):
        value = str(number % 10).encode() * 1_000_000
        session.modify_s(f"cn=big,{PEOPLE}", [(ldap.MOD_REPLACE, "description", value)])
    wait_until(forgotten)
    session.add_s(*person("last"))
    cluster.start(3)
    cluster.wait_for_safety(1)
    assert "goes on with a snapshot from another one" in cluster.nodes[3].log
    assert entries(cluster.nodes[3]) == entries(cluster.nodes[1])
    cluster.nodes.pop(3).end()
    cluster.start(3)
    cluster.wait_for_safety(1)
    assert entries(cluster.nodes[3]) == entries(cluster.nodes[1])


def test_a_node_takes_the_place_of_another(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    refused = cluster.command(2, "remove", 3, code=1).err
    assert "join another node first" in refused
    cluster.join(4, at=2 if cluster.leader(2) == 2 else 1)
    wait_for(lambda: cluster.roles(1).get(4) == "learner", "it has joined")
    bound(cluster.nodes[4]).add_s(*person("of4"))
    cluster.kill(3)
    wait_for(lambda: cluster.command(2, "remove", 3, code=None).code == 0, "it has caught up")
    assert cluster.roles(1) == {1: "leader", 2: "follower", 4: "follower"}
    cluster.wait_for_safety(4)
    assert entries(cluster.nodes[4]) == entries(cluster.nodes[1])
    # The one that was taken out is refused, and nothing else happens.
    listen, _ = cluster.addresses[3]
    with open(cluster.folder / "n3/log", "w") as log:
        stranger = subprocess.Popen([PANDO, "serve", "--data", cluster.folder / "n3/data"], stdout=log, stderr=log)
        wait_for(lambda: "of no member" in cluster.nodes[1].log, "it is refused")
        stranger.kill()
        stranger.wait(PATIENCE)
    bound(cluster.nodes[2]).add_s(*person("after"))


def test_a_node_takes_the_place_of_the_first_one_which_alone_is_in_the_snapshot(cluster):
    three(cluster)
    cluster.kill(1)
    leader = cluster.leader(2)
    cluster.join(4, at=leader)
    wait_for(lambda: cluster.command(leader, "remove", 1, code=None).code == 0, "the new one has caught up")
    cluster.wait_for_safety(4)
    assert entries(cluster.nodes[4]) == entries(cluster.nodes[2]) == entries(cluster.nodes[3])


def test_a_directory_that_was_served_alone_becomes_the_first_node(cluster, tmp_path):
    root = ["--root-dn", ROOT, "--root-password-file", tmp_path / "root.password"]
    (tmp_path / "n1").mkdir()
    alone = Node(tmp_path / "n1", "--suffix", SUFFIX, *root, "--listen", "ldap://127.0.0.1:0")
    alone.modify(CONTAINER, "-a")
    before = entries(alone)
    alone.end()
    cluster.first()
    assert entries(cluster.nodes[1]) == before
    # The same start again changes nothing, and neither does one without anything.
    number, [listen, peer] = 1, cluster.addresses[1]
    cluster.nodes.pop(1).end()
    cluster.start(number, "--listen", listen, "--peer", peer, "--init-cluster")
    assert entries(cluster.nodes[1]) == before
    cluster.nodes.pop(1).end()
    cluster.start(1)
    assert cluster.nodes[1].url == listen and entries(cluster.nodes[1]) == before
    cluster.join(2)
    assert entries(cluster.nodes[2]) == before


def test_a_large_group_of_a_directory_that_was_served_alone_is_whole_on_every_node(cluster, tmp_path):
    """Its members are found by normal forms of their names, and clients of each node are shown the same schema."""
    root = ["--root-dn", ROOT, "--root-password-file", tmp_path / "root.password"]
    (tmp_path / "n1").mkdir()
    alone = Node(tmp_path / "n1", "--suffix", SUFFIX, *root, "--schema", "rfc2307bis", "--listen", "ldap://127.0.0.1:0")
    alone.modify(CONTAINER, "-a")
    names = [f"uid=p{number},{PEOPLE}" for number in range(3000)]
    members = "".join(f"member: {name}\n" for name in names)
    alone.modify(f"dn: cn=all,{SUFFIX}\nobjectClass: groupOfMembers\n{members}", "-a")
    alone.end()
    cluster.first()
    cluster.join(2)
    shown = set()
    for node in cluster.nodes.values():
        connection = connect(node, ROOT, SECRET)
        for name in (names[0], names[-1]):
            assert connection.compare_s(f"cn=all,{SUFFIX}", "member", name.encode()), node.url
            assert connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, f"(member={name})", ["1.1"]), node.url
        shown.add(node.search("-b", "cn=Subschema", "-s", "base", "(objectClass=*)", "attributeTypes", "objectClasses").out)
    assert len(shown) == 1 and "2.25." not in shown.pop()
    # One member goes by its name, as it does in a group that was made here.
    connection.modify_s(f"cn=all,{SUFFIX}", [(ldap.MOD_DELETE, "member", [names[7].encode()])])
    assert not connection.compare_s(f"cn=all,{SUFFIX}", "member", names[7].encode())


def test_a_token_is_used_once_and_for_its_own_cluster(cluster, tmp_path):
    cluster.first()
    cluster.join(2)

    def refused(number, token):
        (tmp_path / f"n{number}").mkdir()
        peer, data = f"127.0.0.1:{free_port()}", tmp_path / f"n{number}/data"
        command = [PANDO, "serve", "--data", data, "--listen", "ldap://127.0.0.1:0", "--peer", peer, "--join", token]
        return run(*command, code=1).err

    at_node = "pando serve: --join: the node refuses: "
    assert refused(5, tmp_path / "token2").endswith(f"{at_node}the token was used: it has become node 2\n")
    cluster.token("token6")
    text = (tmp_path / "token6").read_text()
    (tmp_path / "damaged").write_text(text.replace("expires 1", "expires 2"))
    assert refused(6, tmp_path / "damaged").endswith(f"{at_node}the token is damaged: its code is not that of its content\n")
    # Of another cluster with the same port: its node has another CA.
    (tmp_path / "other").mkdir()
    other = Cluster(tmp_path / "other")
    try:
        other.first()
        other.token("token")
        elsewhere = (tmp_path / "other/token").read_text().replace(other.addresses[1][1], cluster.addresses[1][1])
    finally:
        other.end()
    (tmp_path / "foreign").write_text(elsewhere)
    stranger = f"pando serve: --join: no node answers; {cluster.addresses[1][1]}: invalid peer certificate: UnknownIssuer\n"
    assert refused(7, tmp_path / "foreign").endswith(stranger)
    wait_for(lambda: cluster.roles(1) == {1: "leader", 2: "learner"}, "the leader hears of it")


def test_garbage_at_the_port_of_nodes_ends_that_connection_only(cluster):
    cluster.first()
    node = cluster.nodes[1]
    host, port = cluster.addresses[1][1].split(":")
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 400, b""):
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stranger:
            stranger.sendall(sent)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(4096):
                pass
    node.modify(CONTAINER, "-a")
    assert "panic" not in node.log
    cluster.join(2)


def test_a_node_listens_again_where_it_did(cluster, tmp_path):
    """A later start names nothing but its directory, also of a node that is reached elsewhere."""
    (tmp_path / "n1").mkdir()
    urls, (port, other) = [f"ldap://127.0.0.1:{free_port()}" for _ in range(2)], (free_port(), free_port())
    socket_file = quote(str(tmp_path / "ldapi"), safe="")
    root = ["--suffix", SUFFIX, "--root-dn", ROOT, "--root-password-file", cluster.folder / "root.password", "--init-cluster"]
    listen = ["--listen", urls[0], "--listen", f"ldapi://{socket_file}", "--listen", urls[1]]
    reached = ["--advertise", "ldap://192.0.2.7:389", "--peer", f"127.0.0.1:{port}", "--peer-advertise", f"localhost:{port}"]
    cluster.start(1, *root, *listen, *reached)
    for more in ([], ["--init-cluster"], ["--peer", f"127.0.0.1:{other}", "--peer-advertise", f"localhost:{other}"]):
        cluster.nodes[1].end()
        cluster.start(1, *more)
        assert cluster.nodes[1].url == urls[0]
        for url in (*urls, f"ldapi://{socket_file}"):
            assert run("ldapwhoami", "-x", "-H", url, "-D", ROOT, "-w", SECRET).out.strip() == f"dn:{ROOT}"
        assert [node["address"] for node in cluster.status(1)["nodes"]] == ["ldap://192.0.2.7:389"]
    # One that this start names is where it is reached, too, if it does not say otherwise.
    cluster.nodes[1].end()
    cluster.start(1, "--listen", urls[1])
    wait_for(lambda: [node["address"] for node in cluster.status(1)["nodes"]] == [urls[1]], "the node has announced it")


def test_a_node_that_listened_by_tls_does_not_listen_in_the_clear(cluster, tmp_path):
    (tmp_path / "n1").mkdir()
    certificate, key = Authority(tmp_path / "ca").sign("server")
    config, url = tmp_path / "pando.toml", f"ldaps://127.0.0.1:{free_port()}"
    listener = ["[[listener]]", f'url = "{url}"', 'name = "secure"']
    config.write_text("\n".join(["[tls]", f'certificate = "{certificate}"', f'key = "{key}"', *listener, ""]))
    node = [PANDO, "serve", "--data", tmp_path / "n1/data"]
    first = [*node, "--config", config, "--suffix", SUFFIX, "--peer", f"127.0.0.1:{free_port()}", "--init-cluster"]
    process = subprocess.Popen(first, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout.readline() == f"ready {url}\n"
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert f"`{url}` needs `tls.certificate` and `tls.key`" in run(*node, code=2).err


def test_what_makes_no_node_is_refused(cluster, tmp_path):
    serve = [PANDO, "serve", "--data", tmp_path / "data", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"]
    said = lambda code, *arguments: run(*serve, *arguments, code=code).err
    assert "--peer is missing" in said(2, "--init-cluster")
    assert "is not HOST:PORT" in said(2, "--peer", "nowhere", "--init-cluster")
    elsewhere = "an address that is reached from elsewhere must be named by"
    assert f"--peer: {elsewhere} --peer-advertise" in said(2, "--peer", "0.0.0.0:4891", "--init-cluster")
    own = ["--peer", f"127.0.0.1:{free_port()}"]
    for kind in (["--init-cluster"], ["--join", tmp_path / "token"]):
        assert f"--listen: {elsewhere} --advertise" in said(2, *own, *kind, "--listen", "ldap://0.0.0.0:0389")
    for flag, wide in (("--advertise", "ldap://0.0.0.0:389"), ("--peer-advertise", "[::]:4891")):
        assert f"{flag}: `{wide}` says nothing of where this node is reached" in said(2, *own, "--init-cluster", flag, wide)
    assert "--advertise: `ldaps://h:636` is not ldap://HOST:PORT" in said(2, *own, "--init-cluster", "--advertise", "ldaps://h:636")
    assert "belongs to no cluster" in said(1, "--peer", f"127.0.0.1:{free_port()}")
    first = ["--peer", f"127.0.0.1:{free_port()}", "--init-cluster"]
    assert "always" in said(2, *first, "--sync", "none")
    assert "exit" in said(2, *first, "--on-log-failure", "read-only")
    assert "--import" in said(1, *first, "--import", "/dev/null")
    said = run(PANDO, "cluster", "status", "--data", tmp_path / "nowhere", code=1).err
    assert "not the directory of a node" in said
