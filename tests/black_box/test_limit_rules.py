"""Rules that limit what clients take of the server: by user, group and network; which index an unindexed search lacks."""

import re
import shlex
import time

import ldap
import ldap3
import pytest
from ldap.controls.libldap import SimplePagedResultsControl

from conftest import ADMIN, PANDO, PEOPLE, SUFFIX, connect, run, start, wait_for

ADA = (f"uid=ada,{PEOPLE}", "ada's password")
BRUNO = (f"uid=bruno,{PEOPLE}", "bruno's password")
COUNT = 10_100
BONN = "(l=Bonn)"

FILE = f"""
anonymous = "read"

[limits]
size = 9

[[limits.rule]]
name = "machine"
by = {{ peer = "127.0.0.2/32" }}
size = 2

[[limits.rule]]
name = "ada"
by = [{{ dn = "{ADA[0]}" }}]
size = 0
page = 7
unindexed = "refuse"

[[limits.rule]]
name = "group"
by = [{{ group = "cn=limited,ou=groups,{SUFFIX}" }}]
size = 4

[[limits.rule]]
name = "strangers"
by = {{ anonymous = true }}
size = 3
look-through = 50
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    many = folder / "many.ldif"
    with many.open("w") as out:
        for number in range(COUNT):
            town = "Bonn" if number % 2000 == 0 else "Ulm"
            out.write(f"dn: uid=p{number},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: P\nsn: P\nl: {town}\n\n")
    file = folder / "pando.toml"
    file.write_text(FILE)
    here = start(folder, "--config", file, "--import", many, ldif="people.ldif")
    yield here
    here.end()


def found(connection, filter_text="(objectClass=*)", **controls):
    """How many entries a search brings, its error if it ends with one, and the text of that."""
    message = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, filter_text, ["1.1"], **controls)
    entries = []
    try:
        while True:
            kind, data = connection.result(message, all=0)
            if kind == ldap.RES_SEARCH_RESULT:
                return len(entries), None, ""
            entries += data
    except ldap.LDAPError as error:
        return len(entries), type(error), error.args[0].get("info", "")


def test_l1_by_user_group_and_network(limited):
    """L1: the first rule that fits decides; `limits.size` is for those whom no rule names."""
    too_many = ldap.SIZELIMIT_EXCEEDED
    admin, ada, stranger = connect(limited), connect(limited, *ADA), connect(limited, None)
    admin.modify_s(BRUNO[0], [(ldap.MOD_REPLACE, "userPassword", [BRUNO[1].encode()])])
    bruno = connect(limited, *BRUNO)
    assert found(admin)[:2] == (COUNT + 9, None)
    assert found(ada)[:2] == (COUNT + 9, None)
    # Nobody knows who is in a group that is not there.
    assert found(bruno)[:2] == (4, too_many)
    group = f"cn=limited,ou=groups,{SUFFIX}"
    admin.add_s(group, [("objectClass", b"groupOfNames"), ("member", ADA[0].encode())])
    assert found(bruno)[:2] == (9, too_many)
    assert found(stranger)[:2] == (3, too_many)
    admin.modify_s(group, [(ldap.MOD_ADD, "member", [BRUNO[0].encode()])])
    assert found(bruno)[:2] == (4, too_many), "at once"
    other = ldap3.Connection(ldap3.Server(limited.url), *ADA, auto_bind=True, source_address="127.0.0.2")
    other.search(SUFFIX, "(objectClass=*)")
    assert (other.result["result"], len(other.entries)) == (4, 2)
    other.unbind()


def test_l1_pages_and_candidates(limited):
    """L1: a page is cut to the limit; a client that has not bound looks at so many entries."""
    ada, stranger = connect(limited, *ADA), connect(limited, None)
    for asked, given in [(6, 6), (7, 7), (8, 7), (2**31 - 1, 7)]:
        control = SimplePagedResultsControl(True, asked, b"")
        message = ada.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["1.1"], serverctrls=[control])
        _, entries, _, controls = ada.result3(message)
        assert len(entries) == given and controls[0].cookie, asked
    entries, code, text = found(stranger, BONN)
    assert (code, "looked" in text or "look at" in text) == (ldap.ADMINLIMIT_EXCEEDED, True) and entries <= 1


def test_l1_an_unindexed_search_names_the_index_and_works_with_it(limited):
    """L1: the text of a refused search has the command that adds the index that it lacks."""
    ada = connect(limited, *ADA)
    entries, code, text = found(ada, BONN)
    assert (entries, code) == (0, ldap.UNWILLING_TO_PERFORM)
    command = re.search(r"no index answers \(l=Bonn\); to add one: (pando index build .*)", text).group(1)
    assert command == "pando index build --url URL l:eq"
    # A secret is named in no text.
    assert "userPassword" not in found(ada, "(userPassword=x)")[2]
    password = limited.folder / "password"
    words = [limited.url if word == "URL" else word for word in shlex.split(command)[1:]]
    run(PANDO, *words, "--bind-dn", ADMIN, "--password-file", password)
    assert found(ada, BONN)[:2] == (6, None)
    # A rule is changed for a session that is open.
    admin = connect(limited)
    values = admin.search_s("cn=config", ldap.SCOPE_BASE, attrlist=["pandoLimitsRule"])[0][1]["pandoLimitsRule"]
    assert [value.split(b":")[0] for value in values] == [b"machine", b"ada", b"group", b"strangers"]
    admin.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoLimitsRule", [b"all: anyone; size=5"])])
    assert found(ada, BONN)[:2] == (5, ldap.SIZELIMIT_EXCEEDED)
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match="did you mean `size`"):
        admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoLimitsRule", [b"x: users; sise=5"])])


def test_l1_a_client_that_is_too_fast_is_not_read(limited):
    """L1: requests beyond the rate, and answers beyond the bytes of a second, wait; no other client does."""
    admin, ada = connect(limited), connect(limited, *ADA)

    def takes(rule, requests):
        """Seconds that requests take. Another client is answered meanwhile."""
        admin.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoLimitsRule", [rule])])
        began = time.monotonic()
        messages = [ada.search_ext(*request) for request in requests]
        assert len(admin.search_s(SUFFIX, ldap.SCOPE_BASE)) == 1
        assert ada.result(messages[-1], timeout=0) == (None, None), "it waits"
        assert all(ada.result(message)[1] for message in messages)
        # What comes together may be run together. The next one waits until all of it is made up for.
        ada.search_ext_s(*one)
        return time.monotonic() - began

    # The first second's worth is at hand, and nobody waits for what the last ones took.
    one = (ADA[0], ldap.SCOPE_BASE, "(objectClass=*)", ["1.1"])
    assert takes(b"a: users; rate=100", 200 * [one]) > 0.6
    everything = (SUFFIX, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["1.1"])
    assert takes(b"a: users; bytes-per-second=192KiB size=0", [everything]) > 0.6


def test_l1_limits_in_the_monitor_and_the_log(server):
    """L1: `cn=Limits,cn=Monitor` counts what clients have reached; the log has a line for a limit and an address in ten seconds."""
    here = server()
    admin, ada = connect(here), connect(here, *ADA)

    def counts():
        entries = admin.search_s("cn=Limits,cn=Monitor", ldap.SCOPE_ONELEVEL, "(monitorCounter=*)", ["monitorCounter"])
        return {dn.split(",")[0][3:]: int(entry["monitorCounter"][0]) for dn, entry in entries}

    paged = SimplePagedResultsControl(True, 100, b"")
    for rule, controls in [("size=1", []), ("look-through=1", []), ("page=1", [paged]), ("rate=2", [])]:
        admin.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoLimitsRule", [f"a: users; {rule}".encode()])])
        for _ in range(3):
            found(ada, "(sn=*)", serverctrls=controls)
    expected = {"size": 3, "look-through": 3, "page": 3, "rate": 1, "time": 0, "unindexed": 0, "searches": 0, "bytes-per-second": 0}
    # It is brought up to date once a second at most.
    wait_for(lambda: {limit: count for limit, count in counts().items() if limit in expected} == expected)
    wait_for(lambda: 'limit="rate"' in here.log)
    for limit in expected:
        lines = [line for line in here.log.splitlines() if f'limit="{limit}"' in line]
        ends = f"peer=127.0.0.1 count={expected[limit]}"
        assert len(lines) == (expected[limit] > 0) and all(line.endswith(ends) for line in lines), lines
