"""A5: a rule for the members of a group of a million: how long a bind and a search of a member and of another take, and how soon somebody who is
taken out of the group loses the right, in a session that is open.

usage: tests/measure/large_group.py [MEMBERS], with the interpreter of target/venv; PANDO names the binary.
"""

import sys
import tempfile
import time
from pathlib import Path

import ldap

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from conftest import PEOPLE, SUFFIX, connect, start  # noqa: E402

GROUP = f"cn=all,ou=Groups,{SUFFIX}"
WORD = "ada's password"
TRIES = 20


def timed(act):
    begin = time.perf_counter()
    outcome = act()
    return 1000 * (time.perf_counter() - begin), outcome


def median(act):
    times, outcomes = zip(*(timed(act) for _ in range(TRIES)))
    assert len(set(map(str, outcomes))) == 1, outcomes
    return sorted(times)[TRIES // 2], outcomes[0]


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
        here.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
