"""Passwords at a node that does not lead: what policies ask for is in each entry, however soon it follows its policy."""

import ldap
import pytest

from conftest import connect
from test_cluster import PEOPLE, bound, cluster, three  # noqa: F401

ROUNDS = 20


def policy(name, **values):
    given = [("objectClass", [b"device", b"pwdPolicy"]), ("cn", name.encode()), ("pwdAttribute", b"userPassword")]
    return f"cn={name},{PEOPLE}", [*given, *((key, value.encode()) for key, value in values.items())]


def user(name, policy, word):
    return f"cn={name},{PEOPLE}", [
        ("objectClass", b"person"), ("cn", name.encode()), ("sn", b"s"), ("userPassword", word), ("pwdPolicySubentry", policy.encode())
    ]


def test_a_policy_holds_for_users_that_are_added_right_behind_it(cluster):
    three(cluster)
    cluster.command(1, "move-leader", 1)
    # A rule, so that users may change their passwords.
    here, elsewhere = bound(cluster.nodes[2]), bound(cluster.nodes[3])
    here.modify_s("cn=config", [(ldap.MOD_ADD, "pandoAccessRule", b"own: all; self; allow=write")])
    for number in range(ROUNDS):
        # Made by the session itself, or by one of another node.
        maker = (here, elsewhere)[number % 2]
        dn, attributes = policy(f"p{number}", pwdMustChange="TRUE", pwdMinAge="1000", pwdAllowUserChange="TRUE")
        maker.add_s(dn, attributes)
        name, attributes = user(f"u{number}", dn, b"a first word")
        here.add_s(name, attributes)
        [(_, added)] = here.search_s(name, ldap.SCOPE_BASE, attrlist=["pwdChangedTime"])
        assert added.get("pwdChangedTime"), f"round {number}: it is not known how old the password is"
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            connect(cluster.nodes[2], name, "a first word").modify_s(name, [(ldap.MOD_REPLACE, "userPassword", b"a second word")])
        here.modify_s(name, [(ldap.MOD_REPLACE, "userPassword", b"a third word")])
        [(_, reset)] = here.search_s(name, ldap.SCOPE_BASE, attrlist=["pwdReset"])
        assert reset.get("pwdReset") == [b"TRUE"], f"round {number}: it need not be changed"
