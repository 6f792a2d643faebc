"""A5, C11: a rule for the members of a group of a million: how long a bind and a search of a member and of another take, and how soon somebody who is
taken out of the group loses the right, in a session that is open; and how long the searches of others take while members come and go, and while
a rule is changed.

usage: tests/measure/large_group.py [MEMBERS], with the interpreter of target/venv; PANDO names the binary.
"""

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import ldap

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from conftest import PEOPLE, SUFFIX, connect, start  # noqa: E402

GROUP = f"cn=all,ou=Groups,{SUFFIX}"
WORD = "ada's password"
TRIES = 20
SECONDS = 8
CHANGES_A_SECOND = 100
RULE_CHANGES_A_SECOND = 5


def timed(act):
    begin = time.perf_counter()
    outcome = act()
    return 1000 * (time.perf_counter() - begin), outcome


def median(act):
    times, outcomes = zip(*(timed(act) for _ in range(TRIES)))
    assert len(set(map(str, outcomes))) == 1, outcomes
    return sorted(times)[TRIES // 2], outcomes[0]


class Others:
    """Searches of a session, one after the other, for some seconds."""

    def __init__(self, here):
        self.session, self.times = connect(here, f"uid=bruno,{PEOPLE}", "bruno's password"), []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.search)
        self.thread.start()

    def search(self):
        while not self.is_over.is_set():
            self.times.append(timed(lambda: self.session.search_s(f"uid=ada,{PEOPLE}", ldap.SCOPE_BASE, attrlist=["1.1"]))[0])

    def end(self):
        self.is_over.set()
        self.thread.join()
        return statistics.median(self.times), statistics.quantiles(self.times, n=100)[98], len(self.times) / SECONDS


def beside(here, what, rate, act):
    """Prints how long searches take while `act` is called at a rate."""
    others, begin, done = Others(here), time.perf_counter(), 0
    while (now := time.perf_counter() - begin) < SECONDS:
        if done < now * rate:
            act(done)
            done += 1
        else:
            time.sleep(min(0.01, 1 / max(rate, 1)))
    half, most, searches = others.end()
    print(f"searches of others beside {what}: {half:.3f} ms, p99 {most:.3f} ms, {searches:.0f}/s; {done} changes")


def load(here, admin):
    """Changes of the group, and of a rule, beside searches."""
    name = lambda number: f"uid=v{number // 2},{PEOPLE}".encode()
    kinds = (ldap.MOD_ADD, ldap.MOD_DELETE)
    rule = b"other: all attrs=mail; users; allow=write"
    beside(here, "nothing", 0, None)
    beside(here, "changes of an entry", CHANGES_A_SECOND, lambda at: admin.modify_s(f"uid=ada,{PEOPLE}", [(ldap.MOD_REPLACE, "employeeNumber", str(at).encode())]))
    beside(here, "changes of the group", CHANGES_A_SECOND, lambda at: admin.modify_s(GROUP, [(kinds[at % 2], "member", name(at))]))
    beside(here, "changes of a rule", RULE_CHANGES_A_SECOND, lambda at: admin.modify_s("cn=config", [(kinds[at % 2], "pandoAccessRule", rule)]))


def main(members):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = "".join(f"member: uid=u{number},{PEOPLE}\n" for number in range(members - 1))
        people = (Path(__file__).parents[1] / "black_box/data/people.ldif").read_text()
        (folder / "d.ldif").write_text(f"{people.rstrip()}\n\ndn: {GROUP}\nobjectClass: groupOfNames\ncn: all\nmember: uid=ada,{PEOPLE}\n{names}")
        rule = f'group: all attrs=title; group="!{GROUP}"; deny=see rank=5'
        (folder / "pando.toml").write_text('[passwords]\nrenew = "off"\n')
        seconds, here = timed(lambda: start(folder, "--config", folder / "pando.toml", "--access-rule", rule, ldif=str(folder / "d.ldif")))
        admin = connect(here)
        print(f"a group of {members}: started in {seconds / 1000:.1f} s")
        sessions = {}
        for who, word, sees in (("ada", WORD, True), ("bruno", "bruno's password", False)):
            dn = f"uid={who},{PEOPLE}"
            milliseconds, _ = median(lambda: connect(here, dn, word).whoami_s())
            session = sessions[who] = connect(here, dn, word)
            read = lambda: "title" in session.search_s(f"uid=ada,{PEOPLE}", ldap.SCOPE_BASE, attrlist=["title"])[0][1]
            searched, is_seen = median(read)
            assert is_seen == sees, who
            print(f"{who}: connection, bind and who am I {milliseconds:.2f} ms, search {searched:.3f} ms, {'a member' if sees else 'none'}")
        member = [b"uid=ada," + PEOPLE.encode()]
        for change, sees in ((ldap.MOD_DELETE, False), (ldap.MOD_ADD, True)):
            modified, _ = timed(lambda: admin.modify_s(GROUP, [(change, "member", member)]))
            searched, found = timed(lambda: sessions["ada"].search_s(member[0].decode(), ldap.SCOPE_BASE, attrlist=["title"])[0][1])
            assert ("title" in found) == sees, "the right goes with the membership, in the session that is open"
            print(f"{'out of' if change == ldap.MOD_DELETE else 'into'} the group: modify {modified:.2f} ms, the member's next search {searched:.2f} ms")
        load(here, admin)
        here.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
