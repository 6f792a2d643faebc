"""The audit log of a node that does not lead: who asked for what its clients changed, each change once over a kill, and no change while it cannot be written."""

import json

import ldap
import pytest

from conftest import wait_for
from test_cluster import PEOPLE, ROOT, bound, cluster, person, three  # noqa: F401

REFUSED = "log.audit-file cannot be written: nothing is changed until it can"


def with_audit(cluster, number, more=""):
    """Starts a node again, with an audit log."""
    folder = cluster.folder / f"n{number}/audit"
    folder.mkdir(exist_ok=True)
    config = cluster.folder / f"n{number}/pando.toml"
    config.write_text(f'[log]\naudit-file = "{folder}/audit.log"\n{more}')
    cluster.nodes.pop(number).end()
    cluster.start(number, "--config", config)
    cluster.wait_for_safety(1)
    return folder / "audit.log"


def lines(path):
    # The last line may be half written.
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def changes(path):
    return [line for line in lines(path) if line["op"] not in ("begin", "snapshot")]


def test_who_asked_is_known_at_the_node_that_was_asked_and_each_change_is_there_once(cluster):
    three(cluster)
    audit = with_audit(cluster, 2)
    cluster.command(1, "move-leader", 1)
    leader, here = bound(cluster.nodes[1]), bound(cluster.nodes[2])
    here.add_s(*person("here"))
    leader.add_s(*person("elsewhere"))
    here.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", b"40000")])
    leader.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", b"50000")])
    cluster.nodes[2].modify(
        "".join(f"dn: cn={name},{PEOPLE}\nchangetype: modify\nreplace: sn\nsn: 1\n\n" for name in ("here", "elsewhere")), "-E", "txn=commit"
    )
    wait_for(lambda: len(changes(audit)[-6:]) == 6 and changes(audit)[-1].get("entry") == f"cn=elsewhere,{PEOPLE}", "all are reported")
    told = [(line["op"], line.get("entry", ""), "peer" in line, line.get("dn"), line.get("recovered", False)) for line in changes(audit)[-6:]]
    assert told == [
        ("add", f"cn=here,{PEOPLE}", True, ROOT, False),
        ("add", f"cn=elsewhere,{PEOPLE}", False, ROOT, True),
        ("modify", "cn=config", True, ROOT, False),
        ("settings", "", False, None, True),
        ("modify", f"cn=here,{PEOPLE}", True, ROOT, False),
        ("modify", f"cn=elsewhere,{PEOPLE}", True, ROOT, False),
    ]
    # What was applied behind the last snapshot is applied again by the next start, and is in the file already.
    before = lines(audit)
    cluster.kill(2)
    cluster.start(2, "--config", cluster.folder / "n2/pando.toml")
    cluster.wait_for_safety(1)
    bound(cluster.nodes[2]).add_s(*person("later"))
    wait_for(lambda: lines(audit)[-1].get("entry") == f"cn=later,{PEOPLE}", "it is reported")
    assert lines(audit)[:-1] == before
    assert "changes that are not in the log" not in cluster.nodes[2].log


def test_a_node_changes_nothing_for_its_clients_while_its_audit_log_cannot_be_written(cluster):
    three(cluster)
    audit = with_audit(cluster, 2, 'audit-on-failure = "read-only"\n')
    cluster.command(1, "move-leader", 1)
    leader, here = bound(cluster.nodes[1]), bound(cluster.nodes[2])
    here.add_s(*person("a"))
    dn, away = person("a")[0], audit.parent.with_name("away")
    wait_for(lambda: changes(audit)[-1:] and changes(audit)[-1]["entry"] == dn, "it is reported")
    audit.parent.rename(away)
    change = lambda session, value: session.modify_s(dn, [(ldap.MOD_REPLACE, "sn", [str(value).encode()])])
    count = iter(range(1_000_000))

    def is_refused():
        try:
            change(here, next(count))
        except ldap.UNWILLING_TO_PERFORM as refused:
            return refused.args[0]["info"]

    assert wait_for(is_refused, "it is noticed") == REFUSED
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        change(here, "b")
    # Those of other nodes go on, and are reported when it can be written.
    change(leader, "c")
    assert here.compare_s(dn, "sn", "c")
    away.rename(audit.parent)
    wait_for(lambda: not is_refused(), "it can be written")
    wait_for(lambda: "c" in [line["changes"][0]["values"][0] for line in changes(audit) if line["op"] == "modify"], "it is reported")
    assert not [line for line in lines(audit) if line["op"] == "lost"]
