"""slapd as a consumer of 10,000 changes, while either server is killed and started again."""

import contextlib
import os
import subprocess

import ldap
import pytest

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, chances, connect, lasting_port, wait_for
from test_access_slapd import LIBRARIES, MODULES, SCHEMAS, SLAPD
from test_compare import compare

pytestmark = pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
CHANGES = int(os.environ.get("PANDO_CHANGES", "10000"))
# So many are sent before their answers are waited for.
FLIGHT = 100
# About so many entries are there. Then as many are deleted as are added.
ENTRIES = 400


def state(connection):
    """The CSN of the last change, and how many entries there are."""
    found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["contextCSN"])
    return [attributes["contextCSN"] for _, attributes in found if "contextCSN" in attributes], len(found)


class Consumer:
    """slapd that copies a suffix of a server. It can be killed, and started again over what it has."""

    def __init__(self, folder, url):
        self.url, self.folder, self.log = f"ldap://127.0.0.1:{lasting_port()}", folder, folder / "slapd.log"
        (folder / "db").mkdir(parents=True)
        includes = "".join(f"include {SCHEMAS}/{name}.schema\n" for name in ("core", "cosine", "inetorgperson", "nis"))
        (folder / "slapd.conf").write_text(
            f"{includes}modulepath {MODULES}\nmoduleload back_mdb\npidfile {folder}/pid\ndatabase mdb\nsuffix {SUFFIX}\nrootdn {ADMIN}\n"
            f"rootpw {SECRET}\ndirectory {folder}/db\ndbnosync\nindex entryUUID,entryCSN eq\n"
            f'syncrepl rid=001 provider={url} type=refreshAndPersist searchbase="{SUFFIX}" bindmethod=simple binddn="{ADMIN}" '
            f'credentials={SECRET} retry="1 +" attrs="*,+" schemachecking=off\n'
        )
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(
            [SLAPD, "-f", str(self.folder / "slapd.conf"), "-h", self.url, "-d", "sync"],
            stderr=self.log.open("ab"), stdout=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES},
        )

    def state(self):
        """What it has reached; nothing while it does not answer, or has nothing."""
        try:
            connection = ldap.initialize(self.url)
            connection.simple_bind_s(ADMIN, SECRET)
            return state(connection)
        except (ldap.SERVER_DOWN, ldap.NO_SUCH_OBJECT):
            return None

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)


@pytest.fixture
def consumer_of(tmp_path):
    """`consumer_of(url)` starts one, which is ended after the test."""
    running = []

    def begin(url):
        running.append(Consumer(tmp_path / "slapd", url))
        return running[-1]

    yield begin
    for each in running:
        each.kill()


class Changes:
    """Random changes of entries below two superiors, one of which is renamed with all that is below it."""

    def __init__(self):
        self.chosen, self.number = chances("changes"), 0
        self.unit = f"ou=unit,{SUFFIX}"
        # An RDN, a superior and a description each.
        self.entries = []

    def send(self, connection):
        """One change. It is taken as done: answers come in order, and none is a refusal."""
        self.number += 1
        many = len(self.entries) > ENTRIES
        what = self.chosen.choice("ammmrdd" if many else "aaammmmrrd") if self.entries else "a"
        superior = self.chosen.choice((PEOPLE, self.unit))
        if what == "a":
            rdn = f"cn=p{self.number}"
            self.entries.append((rdn, superior, None))
            return connection.add(f"{rdn},{superior}", [("objectClass", [b"person"]), ("sn", [b"x"])])
        at = self.chosen.randrange(len(self.entries))
        rdn, before, description = self.entries.pop(at)
        dn = f"{rdn},{before}"
        if what == "d":
            return connection.delete(dn)
        if what == "m":
            text = str(self.number).encode()
            self.entries.insert(at, (rdn, before, text))
            return connection.modify(dn, [(ldap.MOD_REPLACE, "description", text)])
        self.entries.append((f"cn=r{self.number}", superior, description))
        return connection.rename(dn, f"cn=r{self.number}", superior)

    def make(self, server, count):
        """So many changes, the last of which renames a superior with all that is below."""
        connection = connect(server)
        for begin in range(1, count, FLIGHT):
            for message in [self.send(connection) for _ in range(min(FLIGHT, count - begin))]:
                connection.result(message)
        self.number += 1
        unit = f"ou=unit{self.number}"
        connection.rename_s(self.unit, unit)
        before, self.unit = self.unit, f"{unit},{SUFFIX}"
        self.entries = [(rdn, self.unit if superior == before else superior, text) for rdn, superior, text in self.entries]

    def cut_off(self, server):
        """Changes of which so many are always on their way, and a kill behind the last. Returns how many were answered, and what each change left."""
        connection = connect(server)
        count, states, messages, answered = self.chosen.randrange(FLIGHT, 5 * FLIGHT), [list(self.entries)], [], 0
        for _ in range(count):
            messages.append(self.send(connection))
            states.append(list(self.entries))
            if len(messages) - answered > FLIGHT // 2:
                connection.result(messages[answered])
                answered += 1
        server.kill()
        with contextlib.suppress(ldap.SERVER_DOWN):
            for message in messages[answered:]:
                connection.result(message)
                answered += 1
        assert answered < count, "nothing was on its way"
        return answered, states

    def adopt(self, server, answered, states):
        """Takes what is there: it is what one of the changes left, and none before the last that was answered."""
        connection, there = connect(server), []
        for superior in (PEOPLE, self.unit):
            found = connection.search_s(superior, ldap.SCOPE_ONELEVEL, "(&(sn=x)(|(cn=p*)(cn=r*)))", ["description"])
            there += [(dn.split(",", 1)[0], superior, values.get("description", [None])[0]) for dn, values in found]
        same = [number for number, entries in enumerate(states) if set(entries) == set(there)]
        assert same and same[-1] >= answered, f"{answered} of {len(states) - 1} changes were answered, and there is what is left by {same}"
        print(f"{answered} of {len(states) - 1} changes were answered, {same[-1]} are there")
        self.entries = states[same[-1]]


def test_slapd_follows_ten_thousand_changes(keep, consumer_of, tmp_path):
    url = f"ldap://127.0.0.1:{lasting_port()}"
    server = keep("--listen", url, ldif="people.ldif")
    connect(server).add_s(f"ou=unit,{SUFFIX}", [("objectClass", [b"organizationalUnit"])])
    consumer = consumer_of(url)
    changes = Changes()

    def agree():
        expected = state(connect(server))
        wait_for(lambda: consumer.state() == expected, f"slapd has something else: {consumer.log.read_text()[-2000:]}")
        same = compare(tmp_path, server, consumer, "--operational", "--wait", "0")
        assert same.said.endswith(": the same\n"), same

    for turn in ("both are there", "the consumer is killed", "the consumer is away", "the server is killed with changes on their way", "the server ends"):
        if turn == "the consumer is away":
            agree()
            consumer.kill()
        changes.make(server, CHANGES // 10)
        if turn == "the consumer is killed":
            consumer.kill()
            consumer.begin()
        elif turn == "the server is killed with changes on their way":
            answered, states = changes.cut_off(server)
            server = keep("--listen", url)
            changes.adopt(server, answered, states)
        elif turn == "the server ends":
            server.end()
            server = keep("--listen", url)
        changes.make(server, CHANGES // 10)
        if turn == "the consumer is away":
            consumer.begin()
    agree()
