"""Rules in entries (`pandoAccess`), rows A3 and X7: over restarts and crashes, explained, and such that came by an import."""

import ldap

from conftest import PANDO, PEOPLE, SECRET, SUFFIX, connect, run

USER, OTHER = f"uid=ada,{PEOPLE}", f"uid=bob,{PEOPLE}"
LDIF = f"""dn: {SUFFIX}
objectClass: domain
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
pandoAccess: phones: all attrs=telephoneNumber; users; allow=write

dn: ou=Closed,{SUFFIX}
objectClass: organizationalUnit
pandoAccess: hide: all attrs=phantomAttribute; users; deny=all
""" + "".join(f"\ndn: {dn}\nobjectClass: inetOrgPerson\ncn: A\nsn: B\nuserPassword: a long word\n" for dn in (USER, OTHER))


def may(client, dn, attribute="telephoneNumber"):
    try:
        client.modify_s(dn, [(ldap.MOD_REPLACE, attribute, [b"1"])])
        return True
    except ldap.INSUFFICIENT_ACCESS:
        return False


def test_a3_rules_of_entries_are_there_after_each_start(keep, tmp_path):
    ldif = tmp_path / "entries.ldif"
    ldif.write_text(LDIF)
    expected = {OTHER: True, SUFFIX: False}
    for attempt in range(3):
        here = keep(ldif=ldif if attempt == 0 else None)
        ada = connect(here, USER, "a long word")
        assert {dn: may(ada, dn) for dn in expected} == expected, attempt
        # Whose rule nobody understands is closed, but to the root DN.
        assert not ada.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(ou=Closed)", ["1.1"])
        assert here.search("-b", SUFFIX, "(ou=Closed)", "1.1").out.strip() == f"dn: ou=Closed,{SUFFIX}"
        # X7: no right is given by who has none to give.
        for dn in (PEOPLE, OTHER):
            assert not may(ada, dn, "pandoAccess")
        # It is no attribute that `+` brings.
        assert "pandoAccess" not in ada.search_s(PEOPLE, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
        # By the log the first time, by the snapshot the second.
        if attempt == 0:
            here.modify(f"dn: {SUFFIX}\nchangetype: modify\nadd: pandoAccess\npandoAccess: top: all attrs=telephoneNumber; users; allow=write rank=2\n")
            expected[SUFFIX] = True
            assert {dn: may(ada, dn) for dn in expected} == expected
            here.kill()
        else:
            here.end()


def test_a3_a_rule_of_an_entry_is_explained(server, tmp_path):
    ldif, password = tmp_path / "entries.ldif", tmp_path / "word"
    ldif.write_text(LDIF.replace("phantomAttribute", "mail"))
    password.write_text(SECRET + "\n")
    here = server(ldif=ldif)
    root = here.admin[here.admin.index("-D") + 1]
    said = run(PANDO, "access", "explain", "--url", here.url, "--bind-dn", root, "--password-file", password,
               "--who", USER, "--what", f"{OTHER}/telephoneNumber", "--right", "add")
    assert "allowed" in said.out and "phones" in said.out and f"pandoAccess of {PEOPLE}" in said.out, said
