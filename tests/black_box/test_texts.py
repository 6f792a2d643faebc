"""X11: what a client is told besides results has nothing in it that it may not read. What all other tests are told is looked through, too (texts.py)."""

import socket

import ldap
import ldap3
import pytest
from ldap.controls import LDAPControl
from ldap.controls.libldap import AssertionControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.simple import ProxyAuthzControl
from ldap.extop import ExtendedRequest

import texts
from ber import ldap_bind
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, run
from test_password_policy import put_policy

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "ada's password"
SHUT = f"ou={texts.CANARY}shut,{SUFFIX}"
MOVED = f"uid=moved,{PEOPLE}"
BELOW = f"uid={texts.CANARY}below,{SHUT}"
HIDDEN = ("description", "employeeNumber", "uidNumber")
# Ada may write what she may not read. Names of rules are not for users either.
RULES = [
    f"{texts.CANARY}hide: all attrs={','.join(HIDDEN)}; users; deny=see rank=5",
    f'{texts.CANARY}write: subtree="{PEOPLE}" attrs=entry,{",".join(HIDDEN)},title,mail,sn,uid,member,objectClass; dn="{ADA}"; allow=write,create,rename,move-out,move-in,proxy rank=3',
    f'{texts.CANARY}shut: subtree="{SHUT}" attrs=entry,**; users; deny=all rank=9',
]


@pytest.fixture
def here(server):
    begun = server(*(part for rule in RULES for part in ("--access-rule", rule)))
    admin = put_policy(begun, pwdCheckQuality=2, pwdMinLength=9, pwdSafeModify="TRUE")
    admin.modify_s(BRUNO, [(ldap.MOD_REPLACE, "description", [texts.CANARY.encode() + b"value"]), (ldap.MOD_REPLACE, "employeeNumber", [texts.CANARY.encode() + b"1"])])
    admin.add_s(MOVED, [("objectClass", [b"account"])])
    admin.add_s(SHUT, [("objectClass", [b"organizationalUnit"])])
    admin.add_s(BELOW, [("objectClass", [b"account"])])
    texts.received.clear()
    return begun


def requests(user):
    """What may be refused with a text about a value that is there, of an entry with hidden attributes and of a hidden entry."""
    person = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"])]
    changes = [(ldap.MOD_ADD, b"another"), (ldap.MOD_ADD, b""), (ldap.MOD_DELETE, b"another"), (ldap.MOD_DELETE, None), (ldap.MOD_INCREMENT, b"1"),
               (ldap.MOD_INCREMENT, b"x"), (ldap.MOD_REPLACE, b"\xff"), (ldap.MOD_REPLACE, b"999999999999999999999")]
    controls = [AssertionControl(True, "(description=*)"), PreReadControl(True, [*HIDDEN, "userPassword"]), PostReadControl(True, [*HIDDEN, "userPassword"]),
                ProxyAuthzControl(True, f"dn:{BELOW}".encode()), LDAPControl("1.3.6.1.4.1.42.2.27.9.5.2", True, encodedControlValue=f"dn:{BRUNO}".encode())]
    for dn in (BRUNO, SHUT, BELOW, f"uid=none,{BELOW}", f"uid=none,{BRUNO}", f"uid=none,{SUFFIX}"):
        for name in (*HIDDEN, "userPassword", "objectClass", "sn", "uid", "entryUUID", "pwdHistory", "nonsense"):
            yield lambda dn=dn, name=name: user.compare_s(dn, name, b"another")
            for kind, value in changes:
                yield lambda dn=dn, change=(kind, name, None if value is None else [value]): user.modify_s(dn, [change])
        for control in controls:
            yield lambda dn=dn, control=control: user.modify_ext_s(dn, [(ldap.MOD_REPLACE, "title", [b"t"])], serverctrls=[control])
            yield lambda dn=dn, control=control: user.search_ext_s(dn, ldap.SCOPE_SUBTREE, "(description=an*)", serverctrls=[control])
        yield lambda dn=dn: user.add_s(dn, person)
        yield lambda dn=dn: user.add_s(f"uid=new,{dn}", person)
        yield lambda dn=dn: user.rename_s(MOVED, "uid=moved", dn)
        yield lambda dn=dn: user.rename_s(dn, "uid=ada", PEOPLE)
        yield lambda dn=dn: user.rename_s(dn, "description=x")
        yield lambda dn=dn: user.passwd_s(dn, "wrong", "another word")
        yield lambda dn=dn: user.delete_s(dn)
    for dn in ("cn=config", "cn=Monitor", "cn=Subschema", "", SUFFIX, PEOPLE):
        yield lambda dn=dn: user.modify_s(dn, [(ldap.MOD_ADD, "pandoAccessRule", [b"nonsense"])])
        yield lambda dn=dn: user.compare_s(dn, "pandoAccessRule", b"x")
        yield lambda dn=dn: user.delete_s(dn)
    # Passwords that are not taken are in no text, and neither is the one that there is.
    for old, new in ((WORD, texts.CANARY + "x"), ("wrong", "a long enough word"), (WORD, ""), (None, texts.CANARY)):
        yield lambda old=old, new=new: user.passwd_s(None, old, new)
    yield lambda: user.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [texts.CANARY.encode()])])
    yield lambda: user.modify_s(ADA, [(ldap.MOD_DELETE, "userPassword", [texts.CANARY.encode() + b"word"]), (ldap.MOD_ADD, "userPassword", [b"long enough"])])
    yield lambda: user.extop_s(ExtendedRequest("1.3.6.1.4.1.4203.1.11.1", b"\x30\x03" + texts.CANARY.encode()))


def test_x11_refusals_tell_no_value(here):
    """By python-ldap, ldap3, raw octets and a tool: what comes back is looked at, and is many different texts."""
    user = connect(here, ADA, WORD)
    failed = 0
    for request in requests(user):
        try:
            request()
        except ldap.LDAPError:
            failed += 1
    connect(here).modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    other = ldap3.Connection(ldap3.Server("127.0.0.1", here.port), ADA, WORD, auto_bind=True)
    other.compare(BRUNO, "userPassword", "x")
    other.modify(BRUNO, {"description": [(ldap3.MODIFY_DELETE, ["another"])]})
    run("ldapmodify", "-x", "-H", here.url, "-D", ADA, "-w", WORD, code=None, stdin=f"dn: {BRUNO}\nchangetype: modify\ndelete: employeeNumber\nemployeeNumber: another\n")
    with socket.create_connection(("127.0.0.1", here.port), PATIENCE) as client:
        # People type passwords as names.
        for name in (texts.CANARY.encode(), b"\xff" + texts.CANARY.encode()):
            client.sendall(ldap_bind(name, b"wrong"))
            client.recv(1 << 16)
    assert not texts.leaks()
    said = {text for _, text in texts.received if text}
    print("\n".join(sorted(said)))
    assert failed > 300 and len(said) > 40, (failed, len(said))
    assert {client for client, text in texts.received if text} == {"python-ldap", "a socket", "a tool"}


def test_x11_what_is_told_is_found(here):
    """The root DN may read all: texts for it may have values, so the search for secrets has something to find."""
    with pytest.raises(ldap.LDAPError):
        connect(here, ADMIN, SECRET).delete_s(SHUT + "," + SHUT)
    assert [text for _, text in texts.leaks()] == [SHUT]
    texts.received.clear()
