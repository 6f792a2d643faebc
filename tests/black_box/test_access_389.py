"""A11 and P2: 389 Directory Server beside Pando. It has ACI of its own, Pando what `pando access translate` makes of them; and its users bind at
Pando with the passwords that it has stored.
"""

import time

import ldap
import pytest

from conftest import PANDO, SUFFIX, connect, run, wait_for
from ds389 import NS_SLAPD, Ds389
from test_compare import compare
from verdicts import (
    ANN, BOB, BOSS, CHILD, CID, EXTRA, GROUPS, LDIF, PEOPLE, STAFF, UNIQUE, Differences, connect_admin, explained, put_translated, verdicts,
)


def aci(targets, *permissions, at=SUFFIX):
    return at, f'{targets}(version 3.0; acl "of a test"; {" ".join(f"{one};" for one in permissions)})'


def user(name):
    return f'userdn="ldap:///{name}"'


def group(dn):
    return f'groupdn="ldap:///{dn}"'


ALL, SELF, ANYONE = user("all"), user("self"), user("anyone")
EVERY, SEE = '(targetattr="*")', "allow (read,search,compare)"
USERS_SEE = aci(EVERY, f"{SEE} {ALL}")
# Rule sets: each a list of ACI with the entries that they stand in.
SETS = [
    [aci(EVERY, f"{SEE} {ANYONE}")],
    [USERS_SEE],
    [aci(EVERY, f"allow (read) {ALL}")],
    [aci(EVERY, f"allow (read,search) {ALL}")],
    [aci(EVERY, f"allow (search) {ALL}")],
    [aci(EVERY, f"allow (compare) {ALL}")],
    [aci(EVERY, f"allow (all) {ANYONE}")],
    [aci(EVERY, f"allow (all) {user(BOSS)}"), USERS_SEE],
    [aci(EVERY, f"allow (read,search,compare,write) {SELF}")],
    [aci(EVERY, f"allow (write) {SELF}"), USERS_SEE],
    [aci('(targetattr="title")', f"allow (write) {SELF}"), USERS_SEE],
    [aci('(targetattr="title || description")', f"allow (write) {ALL}"), USERS_SEE],
    [aci('(targetattr!="title")', f"{SEE} {ALL}")],
    [aci('(targetattr!="title || userPassword")', f"{SEE} {ANYONE}")],
    [aci('(targetattr="cn || uid || objectClass")', f"{SEE} {ALL}")],
    [aci('(targetattr="title")', f"deny (read) {ALL}"), USERS_SEE],
    [aci('(targetattr="title")', f"deny (search) {ALL}"), USERS_SEE],
    [aci('(targetattr="title")', f"deny (compare) {ALL}"), USERS_SEE],
    [aci('(targetattr="title")', f"deny (all) {user(ANN)}"), aci(EVERY, f"allow (all) {ALL}")],
    [aci(EVERY, f"deny (write) {user(BOB)}"), aci(EVERY, f"allow (all) {ALL}")],
    [aci(EVERY, f"{SEE} {ALL}", at=PEOPLE)],
    [aci(EVERY, f"{SEE} {ALL}", at=ANN), aci(EVERY, f"{SEE} {ANYONE}", at=GROUPS)],
    [aci(EVERY, f"allow (all) {ALL}", at=PEOPLE), USERS_SEE],
    [aci(f'(target="ldap:///{PEOPLE}"){EVERY}', f"{SEE} {ALL}")],
    [aci(f'(target="ldap:///uid=*,{PEOPLE}"){EVERY}', f"{SEE} {ALL}")],
    [aci(f'(target="ldap:///uid=a*,{PEOPLE}"){EVERY}', f"{SEE} {ALL}")],
    [aci(f'(target!="ldap:///{ANN}"){EVERY}', f"{SEE} {ALL}")],
    [aci(EVERY, f"{SEE} {ALL}", at=CHILD)],
    [aci(f'(target="ldap:///{CHILD}"){EVERY}', f"allow (all) {ALL}", at=PEOPLE), USERS_SEE],
    [aci('(targetattr="userPassword")', f"deny (all) {ALL}"), aci(EVERY, f"{SEE} {ANYONE}")],
    [aci(f'(targetfilter="(employeeType=admin)"){EVERY}', f"{SEE} {ALL}")],
    [aci(f'(targetfilter="(|(uid=ann)(uid=bob))"){EVERY}', f"allow (read,search,compare,write) {ALL}")],
    [aci(f'(targetfilter!="(employeeType=admin)"){EVERY}', f"{SEE} {ALL}")],
    [aci(f'(targetfilter="(objectClass=person)"){EVERY}', f"deny (all) {user(BOB)}"), USERS_SEE],
    [aci(EVERY, f"{SEE} {group(STAFF)}")],
    [aci(EVERY, f"allow (all) {group(STAFF)}"), USERS_SEE],
    [aci(EVERY, f"{SEE} {group(UNIQUE)}")],
    [aci(EVERY, f"{SEE} {group(f'cn=gone,{GROUPS}')}")],
    [aci(EVERY, f'{SEE} groupdn!="ldap:///{STAFF}"')],
    [aci(EVERY, f"deny (all) {group(STAFF)}"), USERS_SEE],
    [aci(EVERY, f'{SEE} userdn="ldap:///{ANN} || ldap:///{BOB}"')],
    [aci(EVERY, f'{SEE} userdn!="ldap:///{ANN}"')],
    [aci(EVERY, f'{SEE} userdn="ldap:///uid=*,{PEOPLE}"')],
    [aci(EVERY, f'{SEE} userdn="ldap:///{PEOPLE}??sub?(employeeType=admin)"')],
    [aci(EVERY, f'{SEE} {user("parent")}')],
    [aci(EVERY, f'allow (all) {user("parent")}'), USERS_SEE],
    [aci(EVERY, f'{SEE} userattr="manager#USERDN"')],
    [aci(EVERY, f'allow (write) userattr="manager#USERDN"'), USERS_SEE],
    [aci('(targetattr="member")', f'allow (write) userattr="owner#USERDN"'), USERS_SEE],
    [aci('(targetattr="member")', f"allow (selfwrite) {ALL}"), USERS_SEE],
    [aci(EVERY, f"allow (add) {ALL}"), USERS_SEE],
    [aci(EVERY, f"allow (delete) {ALL}"), USERS_SEE],
    [aci("", f"allow (add,delete) {user(ANN)}", at=EXTRA), USERS_SEE],
    [aci('(targattrfilters="add=title:(title=new), del=title:(title=new)")(targetattr="title")', f"allow (write) {ALL}"), USERS_SEE],
    [aci(EVERY, f'{SEE} {ALL} and ip="127.0.0.1"')],
    [aci(EVERY, f'{SEE} {ALL} and ip="10.*"')],
    [aci(EVERY, f'{SEE} {ALL} and not ip="127.0.0.1"')],
    [aci(EVERY, f'{SEE} {ANYONE} and authmethod="simple"')],
    [aci(EVERY, f'allow (write) {ALL} and ssf>="128"'), USERS_SEE],
    [aci(EVERY, f'{SEE} ({user(ANN)} or {user(BOB)}) and not {group(STAFF)}')],
    [aci(EVERY, f"{SEE} {ALL}", f"deny (write) {ANYONE}")],
    # What is not carried over is listed; then less is allowed, never more.
    [aci(EVERY, f'{SEE} {ALL} and dayofweek="Mon,Tue,Wed,Thu,Fri,Sat,Sun"')],
    [aci(EVERY, f'deny (read) {ALL} and timeofday>="2500"'), USERS_SEE],
    [aci(EVERY, f'{SEE} userattr="parent[0,1].manager#USERDN"')],
]


# Who asks for what. Each is needed by some set, and each costs both servers.
WHO = (None, ANN, BOB, CID)
FEW = {"all_who": WHO, "entries": (SUFFIX, ANN, BOB, CHILD), "compared": ("title",), "changed": (ANN, CHILD), "parents": (EXTRA, ANN)}

# Seconds within which it goes by its rules.
LAG = 10


def put_aci(admin, rules, places):
    """Puts these rules in force, and no others. `places`: entries that have some."""
    by_entry = {}
    for dn, text in rules:
        by_entry.setdefault(dn, []).append(text.encode())
    for dn in places | set(by_entry):
        admin.modify_s(dn, [(ldap.MOD_REPLACE, "aci", by_entry.get(dn))])
    return set(by_entry)


def is_known(key, theirs, mine, rules):
    """Is it one of the differences that docs/access.md lists?"""
    _, dn, what = key
    if what.startswith("("):
        # Pando asks for rights on the base of a search.
        return mine == "denied" and all(found != SUFFIX for found, _ in theirs)
    if what.startswith("member"):
        # A denied write denies selfwrite, too.
        return theirs == "done" and mine == "denied" and any("deny (write)" in rule for rule in rules)
    # Searches of 389 do not see parents.
    return what == "read" and dn == CHILD and theirs == [] and any(user("parent") in rule for rule in rules)


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    if not NS_SLAPD.exists():
        pytest.skip("there is no 389 Directory Server; .ci/packages fetches it")
    running = Ds389(tmp_path_factory.mktemp("ds389"), LDIF)
    yield running
    running.end()


def test_a11_389_and_pando_give_the_same_verdicts(tmp_path, server, peer):
    (tmp_path / "content.ldif").write_text(LDIF)
    pando = server(ldif=tmp_path / "content.ldif")
    config, admin, differences, places = connect_admin(pando.url), connect_admin(peer.url), Differences("389", is_known), set()
    for number, rules in enumerate(SETS):
        places = put_aci(admin, rules, places)
        expected = verdicts(peer.url, **FEW)
        path = tmp_path / "aci.ldif"
        # An export begins with the suffix, whether it has rules or not.
        path.write_text("".join(f"dn: {dn}\n{text}\n\n" for dn, text in [(SUFFIX, "dc: example"), *((dn, f"aci: {text}") for dn, text in rules)]))
        is_listed = put_translated(config, path, "389")
        got, texts = verdicts(pando.url, **FEW), [f"{dn}: {text}" for dn, text in rules]
        # What it knows of clients that do not bind is a while behind a change of its rules.
        end = time.monotonic() + LAG
        while differences.of(texts, expected, got, is_listed) and time.monotonic() < end:
            expected.update(verdicts(peer.url, **{**FEW, "all_who": (None,)}))
        differences.compare(texts, expected, got, is_listed)
        if number % 8 == 0:
            explained(tmp_path, pando, got)
    put_aci(admin, [], places)
    differences.check()


# Schemes that it stores. The hash of DES and that of GOST match nothing here.
SCHEMES = (
    "CLEAR", "SHA", "SHA256", "SHA384", "SHA512", "SSHA", "SSHA256", "SSHA384", "SSHA512", "MD5", "SMD5", "CRYPT-MD5", "CRYPT-SHA256",
    "CRYPT-SHA512", "PBKDF2_SHA256", "PBKDF2", "PBKDF2-SHA1", "PBKDF2-SHA256", "PBKDF2-SHA512",
)
NEVER = ("CRYPT", "GOST_YESCRYPT")


def exported(admin, path):
    """All of its entries, by a task of the server."""
    task = f"cn={path.parent.name},cn=export,cn=tasks,cn=config"
    admin.add_s(task, [("objectClass", b"extensibleObject"), ("nsFilename", str(path).encode()), ("nsInstance", b"userRoot")])

    def is_over():
        # It takes the entry away a while after its end.
        [(_, entry)] = admin.search_s(task, ldap.SCOPE_BASE, attrlist=["nsTaskExitCode"])
        return entry.get("nsTaskExitCode")

    assert wait_for(is_over, "the export does not end") == [b"0"]
    return path


def binds(server, dn, word):
    try:
        connect(server, dn, word).unbind_s()
        return True
    except ldap.INVALID_CREDENTIALS:
        return False


def test_p2_users_of_389_bind_with_their_old_passwords(tmp_path, keep, peer):
    """Users with each scheme that it has bind there, are exported, imported, and bind here with the same password."""
    admin = connect_admin(peer.url)
    names = {scheme: f"uid={scheme},{EXTRA}" for scheme in SCHEMES + NEVER}
    for scheme, dn in names.items():
        admin.modify_s("cn=config", [(ldap.MOD_REPLACE, "passwordStorageScheme", scheme.encode())])
        admin.add_s(dn, [("objectClass", [b"account", b"simpleSecurityObject"]), ("userPassword", f"word of {scheme}".encode())])
        connect(peer, dn, f"word of {scheme}").unbind_s()
    ldif = exported(admin, tmp_path / "389.ldif")
    for dn in names.values():
        admin.delete_s(dn)
    run(PANDO, "import", "--data", keep.data, "--suffix", SUFFIX, "--operational", "map", ldif)
    here = keep()
    for scheme, dn in names.items():
        is_right = [binds(here, dn, word) for word in (f"word of {scheme}", f"word of {scheme}x")]
        assert is_right == [scheme not in NEVER, False], scheme


# What each of the two has for its own use.
OWN = [part for name in ("dsEntryDN", "entryCSN", "entryid", "nsUniqueId", "parentid") for part in ("--ignore", name)]


def test_389_and_what_it_was_exported_to(tmp_path, keep, peer):
    """An export is imported: both servers hold the same, with passwords, entryUUID, times and names."""
    ldif = exported(connect_admin(peer.url), tmp_path / "389.ldif")
    report = run(PANDO, "import", "--data", keep.data, "--suffix", SUFFIX, "--passwords", "keep", "--quiet", "--from", "389ds", ldif).out
    assert report.startswith("11 records\n") and "kept: entryUUID: 11\n" in report and "kept: userPassword" in report, report
    here = keep()
    assert compare(tmp_path, peer, here, "--operational", *OWN).said == "compared 11 entries with 11: the same\n"
    here.modify(f"dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: Other\n")
    assert compare(tmp_path, peer, here, "--wait", "0", code=1).out == f"differs: {ANN}\n  - sn: S\n  + sn: Other\n"
