"""The change log of good-ldap-changelog-04, read by clients: over a kill and an end of the server, and by whom."""

import ldap
from ldap.controls.libldap import SimplePagedResultsControl

from conftest import ADMIN, PEOPLE, SECRET, connect, run

LOG = "cn=changelog"
COPIER = f"uid=ada,{PEOPLE}"
RULES = (
    "--access-rule", f'copier: all attrs=entry,*,+; dn="{COPIER}"; allow=see',
    "--access-rule", f'copier-log: subtree="{LOG}"; dn="{COPIER}"; allow=see',
)


def bounds(client):
    [(_, entry)] = client.search_s("", ldap.SCOPE_BASE, attrlist=["changelog", "firstChangeNumber", "lastChangeNumber"])
    assert entry["changelog"] == [LOG.encode()]
    return int(entry["firstChangeNumber"][0]), int(entry["lastChangeNumber"][0])


def changes(client, since):
    """Number, type and target of all changes from a number on, by pages of two."""
    found, cookie = [], b""
    while True:
        page = SimplePagedResultsControl(True, size=2, cookie=cookie)
        message = client.search_ext(LOG, ldap.SCOPE_ONELEVEL, f"(changeNumber>={since})", serverctrls=[page])
        _, entries, _, controls = client.result3(message)
        found += [
            (int(entry["changeNumber"][0]), entry["changeType"][0].decode(), entry["targetDN"][0].decode()) for _, entry in entries
        ]
        cookie = controls[0].cookie
        if not cookie:
            return sorted(found)


def test_the_change_log_is_read_from_where_it_was_left(keep):
    here = keep("--changelog-keep", "1MiB", *RULES, ldif="people.ldif")
    root = connect(here)
    first, last = bounds(root)
    assert first == last + 1, "what was imported is in no log"
    bo, al = f"cn=bo,{PEOPLE}", f"cn=al,{PEOPLE}"
    root.add_s(bo, [("objectClass", [b"person"]), ("sn", [b"b"]), ("userPassword", [b"a long secret"])])
    root.modify_s(bo, [(ldap.MOD_REPLACE, "description", [b"some\nlines"])])
    root.rename_s(bo, "cn=al", delold=1)
    root.delete_s(al)
    told = changes(root, first)
    assert [change[1:] for change in told] == [("add", bo), ("modify", bo), ("modrdn", bo), ("delete", al)]
    assert bounds(root) == (first, told[-1][0])
    text = here.search("-b", LOG, "-s", "one", "(changeType=modify)", "changes").out
    assert "changes::" in text, "lines are in base64"
    everything = here.search("-b", LOG, "(objectClass=*)", "*", "+").out
    assert "userPassword" not in everything and "secret" not in everything
    # Whom a rule lets read everything, and nobody else.
    copier = connect(here, COPIER, "ada's password")
    told.append((bounds(root)[1], "modify", COPIER))
    assert changes(copier, told[2][0]) == told[2:], "the bind has stored the password anew"
    other = run("ldapsearch", "-x", "-H", here.url, "-b", LOG, code=None)
    assert other.code != 0 and "changeNumber" not in other.out
    # A start finds the changes in the log, under the same numbers.
    here.kill()
    here = keep()
    root = connect(here)
    assert changes(root, first) == told
    (begin, last) = bounds(root)
    assert begin <= told[0][0] and last == told[-1][0]
    # Behind an end the snapshot has them, under the same numbers.
    here.end()
    here = keep()
    root = connect(here)
    assert changes(root, begin) == told
    first, last = bounds(root)
    assert first <= told[0][0] and last >= told[-1][0]
    root.modify_s(COPIER, [(ldap.MOD_REPLACE, "description", [b"later"])])
    [(number, kind, target)] = changes(root, last + 1)
    assert number > last and (kind, target) == ("modify", COPIER) and bounds(root) == (first, number)
