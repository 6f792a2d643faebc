"""Settings of one server that are changed while it runs: in force at once, recorded beside the directory, and in no copy of it."""

import json
import os
import select
import threading
import time
from pathlib import Path

import ldap
import pytest

from conftest import ADMIN, FOLLOWER, PANDO, PATIENCE, PEOPLE, SECRET, connect, run, wait_for
from test_cluster import bound, cluster, three  # noqa: F401
from test_cn_config import change, changes, config, shown

CONFIG = "cn=config"
NODE = "cn=node,cn=config"
# For each key that is documented as changeable at the node other values than it has by default.
CHANGED = {
    "on-log-failure": ["read-only"],
    "snapshot-after": ["1048576"],
    "snapshot-interval": ["60"],
    "log.access": ["all"],
    "log.audit-on-failure": ["read-only"],
    "log.values": ["none"],
    "log.rotate-bytes": ["1048576"],
    "log.rotate-seconds": ["86400"],
    "log.keep-files": ["7"],
    "log.keep-seconds": ["3600"],
}


def documented(ending):
    lines = (Path(__file__).parents[2] / "docs/configuration.md").read_text().splitlines()
    return {line.split("`")[1]: line.split("`")[-2] for line in lines if line.endswith(f", {ending} |")}


def of_node(here):
    """The changes of the server's own settings, as it shows them."""
    [(_, entry)] = connect(here).search_s(NODE, ldap.SCOPE_BASE, attrlist=["pandoConfigChange"])
    return [json.loads(value) for value in entry.get("pandoConfigChange", [])]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def wait_for_line(path, **wanted):
    """Waits until a log has such a line."""
    end = time.monotonic() + PATIENCE
    while True:
        found = [line for line in lines_of(path) if all(line.get(key) == value for key, value in wanted.items())]
        if found:
            return found[0]
        assert time.monotonic() < end, (wanted, path.exists() and path.read_text())
        select.select([], [], [], 0.02)


@pytest.fixture
def logged(keep, tmp_path):
    """`logged(...)` starts a server whose access log is off and would be a file."""
    path, file = tmp_path / "access.log", tmp_path / "pando.toml"

    def begin(text="", **settings):
        file.write_text(f'[log]\naccess-file = "{path}"\naccess = "off"\n{text}')
        return keep("--config", file, **settings)

    begin.path = path
    return begin


def test_each_key_that_is_changeable_at_the_node_is_changed_by_the_command(keep):
    keys = documented("changeable at the node")
    assert list(keys) == list(CHANGED)
    here = keep()
    record = keep.data / "settings-of-node"
    before = config(here, "get").out
    # A node of a cluster may not have this value.
    changed = {key: values for key, values in CHANGED.items() if not (FOLLOWER and key == "on-log-failure")}
    for key, values in changed.items():
        old = shown(here, keys[key])
        dry = config(here, "set", key, *values, "--dry-run")
        assert "nothing was changed" in dry.err and shown(here, keys[key]) == old, key
        assert not record.exists() or key not in record.read_text().split("[flags]")[0], key
        done = config(here, "set", key, *values)
        assert (done.out, done.err) == (dry.out, ""), key
        assert shown(here, keys[key]) == values, key
        assert key in record.read_text()
        config(here, "set", key, "--configured")
        assert shown(here, keys[key]) == old, key
    assert config(here, "get").out == before
    assert [line["key"] for line in of_node(here)] == [key for key in changed for _ in range(2)]
    assert changes(here) == [], "the directory has none of it"


def test_the_access_log_is_switched_on_and_off(logged):
    """Connections that are there before have lines too, with who they are."""
    here = logged(ldif="people.ldif")
    early = connect(here)
    early.search_s(PEOPLE, ldap.SCOPE_BASE)
    assert not logged.path.exists()
    config(here, "set", "log.access", "all")
    late = connect(here)
    late.search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=late)")
    assert wait_for_line(logged.path, op="search", filter="(ou=late)")["dn"] == ADMIN

    def early_has_a_line():
        early.search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=early)")
        select.select([], [], [], 0.05)
        return [line for line in lines_of(logged.path) if line.get("filter") == "(ou=early)"]

    line = wait_for(early_has_a_line)[0]
    assert line["dn"] == ADMIN and line["peer"].startswith("127.0.0.1:")
    config(here, "set", "log.access", "off")
    wait_for_line(logged.path, op="bind", code=0)
    early.search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=unseen)")
    connect(here).search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=unseen)")
    config(here, "set", "log.access", "all")
    early.search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=again)")
    assert wait_for_line(logged.path, op="search", filter="(ou=again)")["dn"] == ADMIN
    config(here, "set", "log.values", "none")

    def without_value():
        late.search_s(PEOPLE, ldap.SCOPE_BASE, "(ou=hidden)")
        return [line for line in lines_of(logged.path) if line.get("filter") == "(ou=<value>)"]

    wait_for(without_value)
    here.end()
    text = logged.path.read_text()
    assert "unseen" not in text and SECRET not in text


def test_the_log_goes_on_and_off_under_load(logged):
    """What comes in the middle of requests and answers leaves no line that is none, and no request without its answer."""
    here = logged(ldif="people.ldif")
    stop, failed = threading.Event(), []

    def work():
        try:
            client = connect(here)
            while not stop.is_set():
                pending = [client.search(PEOPLE, ldap.SCOPE_SUBTREE, "(objectClass=*)") for _ in range(20)]
                assert all(client.result(message)[0] == ldap.RES_SEARCH_RESULT for message in pending)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    admin = connect(here)
    for value in [b"all", b"off", b"sample", b"all", b"off", b"all"]:
        admin.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLogAccess", value)])
        seen = len(lines_of_or_part(logged.path))
        if value == b"all":
            wait_for(lambda: len(lines_of_or_part(logged.path)) > seen + 100)
    stop.set()
    for thread in threads:
        thread.join()
    assert failed == []
    here.end()
    lines = lines_of(logged.path)
    assert {line["op"] for line in lines} <= {"open", "bind", "search", "modify", "unbind", "close", "lost"}
    assert all(line["dn"] == ADMIN and line["code"] == 0 for line in lines if line["op"] == "search" and "code" in line)


def lines_of_or_part(path):
    return path.read_text().split("\n")[:-1] if path.exists() else []


def test_a_change_outlives_a_kill_until_the_file_says_something_else(logged):
    here = logged()
    config(here, "set", "log.access", "all")
    config(here, "set", "log.keep-files", "7")
    here.kill()
    for _ in range(2):
        here = logged()
        assert shown(here, "pandoLogAccess") == ["all"] and shown(here, "pandoLogKeepFiles") == ["7"]
        wait_for_line(logged.path, op="bind")
        here.kill()
        logged.path.unlink()
    # A file that says something else of a key counts for that key.
    here = logged("keep-files = 3\n")
    assert shown(here, "pandoLogAccess") == ["all"] and shown(here, "pandoLogKeepFiles") == ["3"]
    assert "`log.keep-files` was changed to 7 while the server ran, and is 3 from now on" in here.log
    last = of_node(here)[-1]
    assert (last["key"], last["from"], last["to"], last["was-set"]) == ("log.keep-files", ["7"], ["3"], True)
    assert last["by"] == "a start with another file or other flags"
    here.end()
    # It counts from then on, and so does a key that leaves the file.
    here = logged()
    assert shown(here, "pandoLogKeepFiles") == ["0"] and "was changed to" not in here.log
    here.end()


def test_undo_and_history_tell_the_two_lists_apart(keep):
    here = keep()
    config(here, "set", "log.keep-files", "7")
    config(here, "set", "txn-age-max", "5000")
    client = connect(here)
    client.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLogKeepFiles", b"8"), (ldap.MOD_REPLACE, "pandoLogValues", b"hash")])
    lines = config(here, "history", "--node").out.splitlines()
    assert [line for line in lines if line[0] in "-+"] == [
        '- log.keep-files = "0"', '+ log.keep-files = "7"', '- log.keep-files = "7"', '+ log.keep-files = "8"',
        '- log.values = "all"', '+ log.values = "hash"',
    ]
    assert [line.split()[0] + line.split()[-1] for line in lines if line[0] not in "-+"] == [f"1{ADMIN}", f"2{ADMIN}", f"2{ADMIN}"]
    assert "log." not in config(here, "history").out and "txn-age-max" in config(here, "history").out
    assert config(here, "diff", "--from", "1", "--node", code=1).out == (
        '- log.values = "all"\n+ log.values = "hash"\n- log.keep-files = "7"\n+ log.keep-files = "8"\n'
    )
    assert "changed since" in config(here, "undo", "1", "--node", code=1).err
    dry = config(here, "undo", "--node", "--dry-run")
    assert "nothing was changed" in dry.err and shown(here, "pandoLogKeepFiles") == ["8"]
    assert config(here, "undo", "--node").out == dry.out
    assert shown(here, "pandoLogKeepFiles") == ["7"] and shown(here, "pandoLogValues") == ["all"]
    config(here, "undo", "1", "--node")
    assert shown(here, "pandoLogKeepFiles") == ["0"]
    config(here, "undo")
    assert shown(here, "pandoTxnAgeMax") == ["60000"]
    assert [line["number"] for line in of_node(here)] == [1, 2, 2, 3, 3, 4]
    here.end()
    assert len(of_node(keep())) == 6, "it outlives the process"


@pytest.mark.parametrize("attribute, values, code, text", [
    ("pandoLogAccess", ["loud"], 19, "none of"),
    ("pandoLogKeepFiles", ["many"], 19, "is not a number"),
    ("pandoLogKeepFiles", ["1", "2"], 19, "one value"),
    ("pandoLogFormat", ["openldap"], 53, "restart"),
])
def test_refusals_say_why(fresh, attribute, values, code, text):
    assert text in change(fresh, attribute, *values, code=code).said
    assert of_node(fresh) == []


def test_a_request_is_about_this_server_or_about_the_directory(fresh):
    client = connect(fresh)
    for other in ("pandoTxnAgeMax", "olcDbIndex", "description"):
        value = b"cn:eq" if other == "olcDbIndex" else b"5000"
        with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="pandoLogKeepFiles"):
            client.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLogKeepFiles", b"8"), (ldap.MOD_REPLACE, other, value)])
    assert shown(fresh, "pandoLogKeepFiles") == ["0"] and shown(fresh, "pandoTxnAgeMax") == ["60000"]
    with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="made in cn=config"):
        client.modify_s(NODE, [(ldap.MOD_REPLACE, "pandoLogKeepFiles", b"8")])


def test_only_the_root_dn_sees_and_changes_them(fresh):
    ada = connect(fresh, f"uid=ada,{PEOPLE}", "ada's password")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        ada.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLogKeepFiles", b"8")])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        ada.search_s(NODE, ldap.SCOPE_BASE)


def test_a_file_that_cannot_be_opened_refuses_the_change(keep, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text(f'[log]\naccess-file = "{tmp_path}/none/access.log"\naccess = "off"\n')
    here = keep("--config", file)
    for dry_run in (["--dry-run"], []):
        refused = config(here, "set", "log.access", "all", *dry_run, code=1)
        assert "log.access-file" in refused.err
    assert shown(here, "pandoLogAccess") == ["off"]
    assert not (keep.data / "settings-of-node").exists()


def test_a_reader_of_a_fifo_sees_no_end_when_the_log_is_switched_on(logged):
    os.mkfifo(logged.path)
    fifo = os.open(logged.path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        here = logged()
        config(here, "set", "log.access", "all", "--dry-run")
        watch = select.poll()
        watch.register(fifo, select.POLLIN)
        assert watch.poll(0) == [], "nobody has written or gone"
        config(here, "set", "log.access", "all")
        read, end = b"", time.monotonic() + PATIENCE
        while b'"op":"search"' not in read:
            assert time.monotonic() < end, read
            shown(here, "pandoLogAccess")
            for _, events in watch.poll(20):
                assert not events & select.POLLHUP, "the log goes on"
                read += os.read(fifo, 1 << 16)
        here.end()
    finally:
        os.close(fifo)


def test_a_client_that_always_has_a_request_on_its_way_is_logged(logged):
    here = logged(ldif="people.ldif")
    client = connect(here)
    ask = lambda: client.search(PEOPLE, ldap.SCOPE_SUBTREE, "(!(ou=late))")  # noqa: E731
    asked = [ask() for _ in range(50)]
    config(here, "set", "log.access", "all")
    end = time.monotonic() + PATIENCE
    while not any(line.get("filter") == "(!(ou=late))" for line in lines_of(logged.path)):
        assert time.monotonic() < end
        asked.append(ask())
        client.result(asked.pop(0))


def test_in_memory_a_change_holds_as_long_as_the_process(server):
    here = server()
    change(here, "pandoLogKeepFiles", 7)
    assert shown(here, "pandoLogKeepFiles") == ["7"] and of_node(here)[0]["to"] == ["7"]


def test_a_backup_has_none_of_it(keep, tmp_path):
    here = keep()
    config(here, "set", "log.keep-files", "7")
    here.end()
    run(PANDO, "backup", "--data", keep.data, "--to", tmp_path / "backups")
    kept = [path for path in (tmp_path / "backups").rglob("*") if path.is_file()]
    assert kept and not any(path.name == "settings-of-node" or b"log.keep-files" in path.read_bytes() for path in kept)


def test_a_damaged_record_is_not_guessed_at(keep, tmp_path):
    here = keep()
    config(here, "set", "log.keep-files", "7")
    here.end()
    record = keep.data / "settings-of-node"
    whole = record.read_text()
    for damaged in (whole.replace('"7"', '"8"'), whole[: len(whole) // 2]):
        record.write_text(damaged)
        tool = run(PANDO, "serve", "--data", keep.data, "--listen", "ldap://127.0.0.1:0", code=1)
        assert "settings-of-node" in tool.err and "damaged" in tool.err
    record.unlink()
    assert shown(keep(), "pandoLogKeepFiles") == ["0"], "file and flags count again"


def test_a_node_of_a_cluster_has_its_own(cluster):
    three(cluster)
    two = bound(cluster.nodes[2])
    two.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoLogKeepFiles", b"7")])

    def held(number, attribute="pandoLogKeepFiles", dn=CONFIG):
        [(_, entry)] = bound(cluster.nodes[number]).search_s(dn, ldap.SCOPE_BASE, attrlist=[attribute])
        return entry.get(attribute, [])

    assert [held(number) for number in (1, 2, 3)] == [[b"0"], [b"7"], [b"0"]]
    assert [len(held(number, "pandoConfigChange", NODE)) for number in (1, 2, 3)] == [0, 1, 0]
    # What a node of a cluster may not do is refused here as at a start.
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match="leave it at `exit`"):
        two.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoOnLogFailure", b"read-only")])
    # A change of the directory is everywhere, whoever takes it.
    two.modify_s(CONFIG, [(ldap.MOD_REPLACE, "pandoTxnAgeMax", b"5000")])
    wait_for(lambda: all(held(number, "pandoTxnAgeMax") == [b"5000"] for number in (1, 2, 3)))
    cluster.kill(2)
    cluster.start(2)
    assert [held(number) for number in (1, 2, 3)] == [[b"0"], [b"7"], [b"0"]]
