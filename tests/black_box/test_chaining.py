"""Requests that the server asks another one, slapd, for its clients."""

import os
import subprocess

import ldap
import pytest

from conftest import ADMIN, PATIENCE, SECRET, SUFFIX, connect, wait_for
from test_access_slapd import LIBRARIES, SLAPD, Slapd
from verdicts import ANN, BOB, LDIF, PEOPLE, person

pytestmark = pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
LEAF = f"ou=Leaf,{SUFFIX}"
ZOE = f"uid=zoe,{SUFFIX}"
MONITOR = "cn=Servers,cn=Chaining,cn=Monitor"
DEVICE = [("objectClass", [b"device"]), ("cn", [b"new"])]


class Leaf(Slapd):
    """slapd, of which Zoe is the one that writes. It can be ended and started again at its port."""

    def __init__(self, folder):
        super().__init__(folder, [f'access to * by dn.exact="{ZOE}" write by anonymous auth by * read'])

    def begin(self):
        self.process = subprocess.Popen(
            self.process.args, stderr=self.log.open("ab"), stdout=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES},
        )
        wait_for(lambda: self.has_entry(PEOPLE))

    def has_entry(self, dn):
        try:
            return bool(connect(self).search_s(dn, ldap.SCOPE_BASE, attrlist=["1.1"]))
        except (ldap.SERVER_DOWN, ldap.NO_SUCH_OBJECT):
            return False

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)


@pytest.fixture
def leaf(tmp_path):
    begun = Leaf(tmp_path / "slapd")
    yield begun
    begun.kill()


@pytest.fixture
def front(server, leaf, tmp_path):
    """A server whose `ou=Leaf` is the people of slapd. Zoe may write there, and nobody else but the administrator."""
    password, config, content = tmp_path / "chain.password", tmp_path / "front.toml", tmp_path / "front.ldif"
    password.write_text(SECRET + "\n")
    config.write_text(
        f'[[chaining]]\nurl = "{leaf.url}"\ntls = "off"\nbind-dn = "{ADMIN}"\npassword-file = "{password}"\nproxied = "on"\n'
    )
    content.write_text(LDIF + person(ZOE))
    rule = f'leaf: base="{LEAF}" attrs=entry,*; dn="{ZOE}"; allow=read,search,compare,add,delete,create,remove,rename,move-out,move-in'
    begun = server("--config", config, "--access-rule", rule, ldif=content)
    connect(begun).add_s(LEAF, [("objectClass", [b"referral", b"extensibleObject"]), ("ref", [f"{leaf.url}/{PEOPLE}".encode()])])
    return begun


def client(front, who=ZOE):
    connection = connect(front, who)
    connection.set_option(ldap.OPT_REFERRALS, 0)
    return connection


def shown(front):
    """Numbers of the leaf."""
    [(_, attributes)] = connect(front).search_s(MONITOR, ldap.SCOPE_BASE, attrlist=["monitoredInfo"])
    words = attributes["monitoredInfo"][0].decode().split()
    return dict(zip(words[1::2], map(int, words[2::2])))


def test_compares_and_updates_are_made_by_the_other_server(front, leaf):
    zoe, there = client(front), connect(leaf)
    ann = f"uid=ann,{LEAF}"
    assert zoe.compare_s(ann, "title", b"t") and not zoe.compare_s(ann, "title", b"u")
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        zoe.compare_s(ann, "mail", b"x")
    zoe.add_s(f"cn=new,{LEAF}", DEVICE)
    zoe.modify_s(f"cn=new,{LEAF}", [(ldap.MOD_REPLACE, "description", [b"one"])])
    zoe.rename_s(f"cn=new,{LEAF}", "cn=newer", ann)
    [(_, entry)] = there.search_s(f"cn=newer,{ANN}", ldap.SCOPE_BASE, attrlist=["*", "creatorsName", "modifiersName"])
    assert (entry["description"], entry["cn"]) == ([b"one"], [b"newer"])
    # It was done in her name, for which that server has rules of its own.
    assert entry["creatorsName"] == entry["modifiersName"] == [ZOE.encode()]
    zoe.delete_s(f"cn=newer,{ann}")
    assert not leaf.has_entry(f"cn=newer,{ANN}")
    # What it refuses, in the names of this server.
    for act, error in (
        (lambda: zoe.delete_s(f"cn=gone,{ann}"), ldap.NO_SUCH_OBJECT),
        (lambda: zoe.delete_s(ann), ldap.NOT_ALLOWED_ON_NONLEAF),
        (lambda: zoe.add_s(ann, [("objectClass", [b"account"]), ("uid", [b"ann"])]), ldap.ALREADY_EXISTS),
        (lambda: zoe.modify_s(ann, [(ldap.MOD_ADD, "title", [b"t"])]), ldap.TYPE_OR_VALUE_EXISTS),
    ):
        with pytest.raises(error) as caught:
            act()
        if error is ldap.NO_SUCH_OBJECT:
            assert caught.value.args[0]["matched"].lower() == ann.lower()
    # Neither who has no right at the object, nor what would span two servers, is sent.
    wait_for(lambda: shown(front)["asked"] == 11)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        client(front, ANN).modify_s(f"uid=bob,{LEAF}", [(ldap.MOD_REPLACE, "title", [b"u"])])
    with pytest.raises(ldap.AFFECTS_MULTIPLE_DSAS):
        zoe.rename_s(f"uid=bob,{LEAF}", "uid=bob", PEOPLE)
    # Who may read everything reads there, too.
    assert client(front, ANN).compare_s(f"uid=bob,{LEAF}", "title", b"t")
    wait_for(lambda: shown(front)["asked"] > 11)
    assert shown(front)["asked"] == 12


def test_references_below_the_base_are_followed(front, leaf):
    zoe = client(front)
    found = zoe.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=bob)", ["description"])
    # The entries of slapd have their names, which are those of entries here in this case.
    assert sorted(found) == [(BOB, {"description": [b"two"]})] * 2
    assert len(zoe.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=*)", ["1.1"])) == 5 + 5 + 1
    leaf.kill()
    found = zoe.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=bob)", ["description"])
    assert [names for dn, names in found if dn is None] == [[f"{leaf.url}/{PEOPLE}??sub"]]
    assert [dn for dn, _ in found if dn] == [BOB]


def test_connections_are_kept_and_broken_ones_noticed(front, leaf):
    zoe = client(front)
    for number in range(5):
        zoe.modify_s(f"uid=bob,{LEAF}", [(ldap.MOD_REPLACE, "title", [str(number).encode()])])
    # The monitor is brought up to date once a second.
    wait_for(lambda: shown(front) == {"asked": 5, "failed": 0, "connections": 1, "reused": 4, "idle": 1})
    leaf.kill()
    with pytest.raises(ldap.UNAVAILABLE) as caught:
        zoe.delete_s(f"uid=cid,{LEAF}")
    assert "unknown" not in caught.value.args[0]["info"]
    leaf.begin()
    zoe.delete_s(f"uid=cid,{LEAF}")
    assert not leaf.has_entry(f"uid=cid,{PEOPLE}")
    wait_for(lambda: [shown(front)[name] for name in ("failed", "connections", "idle")] == [1, 2, 1])
