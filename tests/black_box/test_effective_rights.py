"""Get effective rights, as ldapsearch, python-ldap and UnboundID's SDK ask for them."""

import base64
import time

import ldap
import pytest
from ldap.controls import LDAPControl

from ber import tlv
from conftest import ADMIN, DATA, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, run
from test_unboundid import JAR

OID = "1.3.6.1.4.1.42.2.27.9.5.2"
ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "ada's password"
RULES = [
    f'boss: base="{BRUNO}"; dn="{ADA}"; allow=manage',
    f'bruno: subtree="{PEOPLE}" attrs=entry,title; dn="{BRUNO}"; allow=write,rename',
]


def ldapsearch(server, value, *attributes, base=BRUNO, code=0):
    """A base search with the control as ada; `value` is what stands behind the OID."""
    return run("ldapsearch", "-x", "-LLL", "-o", "ldif-wrap=no", "-H", server.url, "-D", ADA, "-w", WORD, "-E", value, "-b", base, "-s", "base",
               "(objectClass=*)", *attributes, code=code)


def test_a9_get_effective_rights(server):
    here = server(*(part for rule in RULES for part in ("--access-rule", rule)))
    # The bare text, and the same as octets.
    for value in (f"!{OID}=:dn:{BRUNO}", f"!{OID}=::" + base64.b64encode(f"dn:{BRUNO}".encode()).decode()):
        out = ldapsearch(here, value, "title", "userPassword").out
        assert "entryLevelRights: vn\n" in out and "attributeLevelRights: title:rscwo, userPassword:wo\n" in out, out
    # About others one needs `manage`: critical, and not.
    refused = ldapsearch(here, f"!{OID}=:dn:{BRUNO}", "title", base=ADA, code=50)
    assert "manage on the entry" in refused.said and "entryLevelRights" not in refused.said
    out = ldapsearch(here, f"{OID}=:dn:{BRUNO}", "title", base=ADA).out
    assert "entryLevelRights: 50\n" in out and "attributeLevelRights: *:50\n" in out
    # About oneself everybody asks, and an attribute that is not there is shown.
    out = ldapsearch(here, f"!{OID}=:dn:{ADA}", "pager", "userPassword", base=ADA).out
    assert "attributeLevelRights: pager:rsc, userPassword:wo\n" in out and "pager: " not in out

    client = connect(here, ADA, WORD)
    subject = f"dn:{BRUNO}".encode()
    listed = bytes([4, len(subject)]) + subject + b"\x30\x07\x04\x05pager"
    for value, shown in ((bytes([4, len(subject)]) + subject, "title:rscwo"), (bytes([0x30, len(listed)]) + listed, "pager:rsc, title:rscwo")):
        asked = LDAPControl(OID, True, encodedControlValue=value)
        message = client.search_ext(BRUNO, ldap.SCOPE_BASE, "(objectClass=*)", ["title", "aclRights", "aclRightsInfo"], serverctrls=[asked])
        _, [(_, entry)], _, controls, _, _ = client.result4(message, resp_ctrl_classes={OID: LDAPControl})
        assert [(control.controlType, control.encodedControlValue) for control in controls] == [(OID, b"\x30\x03\x0a\x01\x00")]
        assert entry["attributeLevelRights"] == [shown.encode()]
        assert entry["aclRights;entryLevel"] == [b"add:0,delete:0,read:1,write:1,proxy:0"]
        assert any(value.startswith(b"title: read=allow(users)") and b" add=allow(bruno)" in value for value in entry["aclRightsInfo"])
    asked = LDAPControl(OID, True, encodedControlValue=b"\x30\x03\x04\x05d")
    with pytest.raises(ldap.PROTOCOL_ERROR):
        client.result3(client.search_ext(BRUNO, ldap.SCOPE_BASE, serverctrls=[asked]))
    assert OID in here.search("-b", "", "-s", "base", "supportedControl").out

    if JAR:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", JAR, DATA / "EffectiveRights.java", here.port]
        out = run(*command, ADMIN, SECRET, BRUNO, ADA, "title", "member", timeout=120).out
        assert out == "entry read write\ntitle search read compare write\nmember search read compare\n", out


def test_x12_effective_rights_of_the_largest_size(server, tmp_path):
    """As many names as may be asked for, with about as many rules as there may be, on many entries: on one thread others are served in between. One name
    more is refused (the CVE-2013-4485 class).
    """
    config = tmp_path / "pando.toml"
    subjects = [f'dn = "uid=u{number},{PEOPLE}"' for number in range(1000)]
    rules = [f'[[access.rule]]\nname = "r{number}"\nto = {{ subtree = "{PEOPLE}", filter = "(uid=u{number})", attrs = ["title"] }}\nby = [{{ {subject} }}]\n'
             'allow = ["write"]\n' for number, subject in enumerate(subjects)]
    config.write_text("threads = 1\n" + "\n".join(rules))
    lines = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n", f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n"]
    lines += [f"dn: uid=u{number},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: u\nsn: u\ntitle: t\n" for number in range(300)]
    (tmp_path / "d.ldif").write_text("\n".join(lines))
    here = server("--config", config, ldif=tmp_path / "d.ldif")
    client, other = connect(here), connect(here, None)

    def asked(names):
        subject, listed = f"dn:uid=u7,{PEOPLE}".encode(), b"".join(tlv(4, name) for name in names)
        control = LDAPControl(OID, True, encodedControlValue=tlv(0x30, tlv(4, subject), tlv(0x30, listed)))
        return client.search_ext(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=*)", ["1.1", "attributeLevelRights"], serverctrls=[control])

    names = [b"x-none-%03d" % number for number in range(251)] + [b"title", b"cn", b"sn", b"uid", b"mail"]
    message, entries, longest = asked(names), 0, 0
    while entries is not None:
        begin = time.monotonic()
        other.search_s("", ldap.SCOPE_BASE, attrlist=["1.1"])
        longest = max(longest, time.monotonic() - begin)
        kind, found = client.result(message, all=0, timeout=0)
        while kind == ldap.RES_SEARCH_ENTRY:
            [(dn, entry)] = found
            assert (b"title:rscwo" in entry["attributeLevelRights"][0]) == dn.startswith("uid=u7,"), entry
            entries += 1
            kind, found = client.result(message, all=0, timeout=0)
        if kind == ldap.RES_SEARCH_RESULT:
            break
    assert entries == 300 and longest < PATIENCE / 20, (entries, longest)
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        client.result(asked([*names, b"ou"]))
