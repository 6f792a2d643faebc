"""A11: slapd beside Pando. slapd has rule sets of its own, Pando what `pando access translate` makes of them."""

import os
import socket
import subprocess
import time
from pathlib import Path

import ldap
import pytest

from conftest import ADMIN, PANDO, PATIENCE, SECRET, SUFFIX, run

# .ci/packages takes it out of its package, which is not installed.
ROOT = Path(os.environ.get("OPENLDAP_SCHEMA", "/etc/ldap/schema")).parents[2]
SLAPD, SCHEMAS, MODULES = ROOT / "usr/sbin/slapd", ROOT / "etc/ldap/schema", ROOT / "usr/lib/ldap"
LIBRARIES = ":".join(str(path) for path in (ROOT / "usr/lib").glob("*-linux-gnu*"))

PEOPLE, GROUPS, EXTRA = f"ou=People,{SUFFIX}", f"ou=Groups,{SUFFIX}", f"ou=Extra,{SUFFIX}"
ANN, BOB, CID, BOSS = (f"uid={uid},{PEOPLE}" for uid in ("ann", "bob", "cid", "boss"))
STAFF, UNIQUE = f"cn=staff,{GROUPS}", f"cn=unique,{GROUPS}"
CHILD = f"uid=child,{ANN}"
WHO = (None, ANN, BOB, CID, BOSS)
ENTRIES = (SUFFIX, PEOPLE, ANN, BOB, CID, CHILD, STAFF)


def person(dn, *more):
    uid = dn.split(",")[0][4:]
    lines = ["objectClass: inetOrgPerson", f"uid: {uid}", f"cn: {uid}", "sn: S", f"userPassword: {SECRET}", "title: t"]
    return f"dn: {dn}\n" + "\n".join([*lines, *more]) + "\n\n"


LDIF = (
    f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"
    + "".join(f"dn: {dn}\nobjectClass: organizationalUnit\nou: {dn[3:].split(',')[0]}\n\n" for dn in (PEOPLE, GROUPS, EXTRA))
    + person(ANN, f"manager: {BOB}", "description: one")
    + person(BOB, "description: two", "employeeType: admin")
    + person(CID, f"manager: {BOSS}")
    + person(BOSS)
    + person(CHILD)
    + f"dn: {STAFF}\nobjectClass: groupOfNames\ncn: staff\nmember: {ANN}\nowner: {BOB}\n\n"
    + f"dn: {UNIQUE}\nobjectClass: groupOfUniqueNames\ncn: unique\nuniqueMember: {CID}\n\n"
)

# A bind is needed by all, so each set begins with who may try a password.
LOGIN = "access to attrs=userPassword by anonymous auth by * none"
SETS = [
    [],
    ["access to * by * read"],
    ["access to * by users read"],
    ["access to * by * none"],
    ["access to * by * disclose"],
    ["access to * by * search"],
    ["access to * by * compare"],
    ["access to * by users search by * disclose"],
    ["access to * by users write"],
    ["access to * by * write"],
    ["access to * by self write by users read"],
    ["access to * by self write by anonymous none by * read"],
    ["access to * by self read"],
    [f'access to * by dn.exact="{BOSS}" write by users read'],
    [f'access to * by dn.exact="{BOSS}" manage by * search'],
    [f'access to * by dn.base="{ANN}" none by users read'],
    [f'access to * by dn.one="{PEOPLE}" read'],
    [f'access to * by dn.subtree="{PEOPLE}" read'],
    [f'access to * by dn.children="{ANN}" read by users search'],
    [f'access to * by dn.regex="^[^,]+,{PEOPLE}$" read'],
    [f'access to dn.base="{SUFFIX}" by * search', "access to * by users read"],
    [f'access to dn.exact="{ANN}" by * none', "access to * by users read"],
    [f'access to dn.one="{PEOPLE}" by users read'],
    [f'access to dn.subtree="{PEOPLE}" by users read'],
    [f'access to dn.subtree="{PEOPLE}" by users write', "access to * by * read"],
    [f'access to dn.children="{PEOPLE}" by users read', "access to * by * search"],
    [f'access to dn.subtree="{PEOPLE}" by dn.exact="{BOSS}" write by users read', "access to * by * read"],
    [f'access to dn.regex="^uid=[^,]+,{PEOPLE}$" by users read', "access to * by * search"],
    [f'access to dn.regex="^[^,]+,{PEOPLE}$" attrs=title by * none', "access to * by users read"],
    [f'access to dn.regex="(.+,)?{PEOPLE}$" by users read'],
    [f'access to dn.regex=".+,{PEOPLE}$" by users read', "access to * by * search"],
    [f'access to dn.regex="^(uid=[^,]+),{PEOPLE}$" by dn.exact,expand="$1,{PEOPLE}" write by * read', "access to * by * read"],
    ["access to filter=(employeeType=admin) by * none", "access to * by users read"],
    ["access to filter=(objectClass=person) by self write by * read", "access to * by * read"],
    ["access to filter=(|(uid=ann)(uid=bob)) attrs=description by users read", "access to attrs=description by * none", "access to * by * read"],
    ["access to attrs=title by * none", "access to * by users read"],
    ["access to attrs=title by self write by * none", "access to * by users read"],
    ["access to attrs=title,description by self write by users read", "access to * by * search"],
    ["access to attrs=title by users search", "access to * by * read"],
    ["access to attrs=title by users compare", "access to * by * read"],
    ["access to attrs=@organizationalPerson by users read", "access to * by * search"],
    ["access to attrs=entry by users read", "access to attrs=title by * read"],
    ["access to attrs=entry by * search", "access to * by * read"],
    ["access to attrs=entry,objectClass,cn by * read", "access to * by * none"],
    [f'access to attrs=member val="{ANN}" by * none', "access to * by users read"],
    ["access to attrs=member by users selfwrite", "access to * by users read"],
    ["access to attrs=member by dnattr=owner write by users read", "access to * by users read"],
    ["access to * by dnattr=manager write by users read"],
    [f'access to * by group="{STAFF}" write by users read'],
    [f'access to * by group.exact="{STAFF}" read'],
    [f'access to * by group/groupOfUniqueNames/uniqueMember.exact="{UNIQUE}" read'],
    [f'access to * by group="cn=gone,{GROUPS}" read by users search'],
    ["access to * by peername.ip=127.0.0.1 read"],
    ["access to * by peername.ip=10.0.0.0%255.0.0.0 read by users search"],
    ["access to * by ssf=128 write by users read"],
    ["access to * by self.level{-1} write by users read"],
    ["access to * by self.level{1} read"],
    ["access to * by users =rscd"],
    ["access to * by users =sd"],
    ["access to attrs=title by users =w", "access to * by users read"],
    ["access to attrs=title by users =a", "access to * by users read"],
    ["access to attrs=description by users =z", "access to * by users read"],
    ["access to attrs=title by users +rscd", "access to * by users read"],
    [f'access to * by dn.exact="{BOSS}" write by * break', "access to * by users read"],
    ["access to attrs=title by users read break", "access to * by users write"],
    ["access to * by users read by * none break", "access to * by * search"],
    ['access to * by set="this/manager & user" write by users read'],
    [f'access to dn.base="{EXTRA}" attrs=children by users write', f'access to dn.subtree="{EXTRA}" by users write', "access to * by users read"],
    [f'access to dn.subtree="{EXTRA}" attrs=entry,children by dn.exact="{ANN}" write', "access to * by users read"],
    # What is not carried over is listed; then less is allowed, never more.
    ["access to * by domain=example.com write by users read"],
    [f'access to dn.regex="^uid=a.*,{PEOPLE}$" by * none', "access to * by users read"],
    ['access to * by set="user/uid & [ann]" write by users read'],
]


class Slapd:
    """slapd with one rule set, on a port of the system's choice. `before`: lines of its configuration before that of the database; `level`: what
    it writes to its file `log`; `also`: another URL on which it listens."""

    def __init__(self, folder, rules, before=(), level="0", also=""):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "db").mkdir(parents=True)
        load = f"modulepath {MODULES}\nmoduleload back_mdb\n"
        includes = "".join(f"include {SCHEMAS}/{name}.schema\n" for name in ("core", "cosine", "inetorgperson"))
        self.conf = conf = folder / "slapd.conf"
        conf.write_text(
            f"{includes}{load}" + "".join(f"{line}\n" for line in before) + f"pidfile {folder}/pid\ndatabase mdb\nsuffix {SUFFIX}\nrootdn {ADMIN}\nrootpw {SECRET}\n"
            f"directory {folder}/db\n" + "\n".join(rules) + "\n"
        )
        self.url = f"ldap://127.0.0.1:{self.port}"
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [SLAPD, "-f", str(conf), "-h", f"{self.url} {also}", "-d", level],
            stderr=self.log.open("wb"),
            stdout=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES},
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < end, "slapd does not listen"
        (folder / "content.ldif").write_text(LDIF)
        run("ldapadd", "-x", "-H", self.url, "-D", ADMIN, "-w", SECRET, "-f", folder / "content.ldif")

    def tool(self, name, *arguments):
        """What one of its tools prints: `passwd`, `cat` and their like."""
        # That which hashes a password reads no configuration.
        configured = [] if name == "passwd" else ["-f", self.conf]
        return run(SLAPD, "-T", name, *configured, *arguments, env={"LD_LIBRARY_PATH": LIBRARIES}).out

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def bound(url, who):
    connection = ldap.initialize(url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    if who:
        connection.simple_bind_s(who, SECRET)
    return connection


# slapd answers updates of anonymous clients so, whatever its rules are.
DENIED = (ldap.INSUFFICIENT_ACCESS, ldap.NO_SUCH_OBJECT, ldap.NO_SUCH_ATTRIBUTE, ldap.STRONG_AUTH_REQUIRED)


def verdict(what, *arguments):
    """What an operation comes to: what it returned, or that it was denied."""
    try:
        return what(*arguments)
    except DENIED:
        return "denied"
    except ldap.LDAPError as error:
        return type(error).__name__


def read(connection, dn, scope=ldap.SCOPE_BASE, filter="(objectClass=*)"):
    """Entries and attributes that are returned, with values."""
    found = connection.search_s(dn, scope, filter, ["*"])
    # Passwords are stored in another form, and superclasses are listed.
    shown = lambda name, values: [b"x"] if name in ("userPassword", "objectClass") else sorted(values)
    return sorted((dn.lower(), sorted((name, shown(name, entry[name])) for name in entry)) for dn, entry in found if dn)


def compare(connection, dn, name, value):
    return connection.compare_s(dn, name, value)


def done(act, undo):
    """Whether a change is made; one that is made is taken back by the administrator."""

    def both():
        act()
        undo()
        return "done"

    return both


def verdicts(url):
    """All verdicts of a server: identities x entries x operations."""
    admin, found = connect_admin(url), {}
    for who in WHO:
        connection = bound(url, who)
        for dn in ENTRIES:
            found[who, dn, "read"] = verdict(read, connection, dn)
            for name, value in (("cn", b"ann"), ("title", b"t"), ("description", b"one"), ("userPassword", b"x")):
                found[who, dn, f"compare {name}"] = verdict(compare, connection, dn, name, value)
        for filter in ("(title=t)", "(description=*)", "(!(title=x))", "(uid=a*)"):
            found[who, SUFFIX, filter] = verdict(read, connection, SUFFIX, ldap.SCOPE_SUBTREE, filter)
        for dn in (ANN, BOB, CHILD):
            title, none = (ldap.MOD_ADD, "title", b"new"), (ldap.MOD_DELETE, "title", b"new")
            changes = {
                "add value": ([title], [none]),
                "delete value": ([(ldap.MOD_DELETE, "title", b"t")], [(ldap.MOD_ADD, "title", b"t")]),
                "replace": ([(ldap.MOD_REPLACE, "title", b"r")], [(ldap.MOD_REPLACE, "title", b"t")]),
            }
            for name, (act, undo) in changes.items():
                both = done(lambda act=act, dn=dn: connection.modify_s(dn, act), lambda undo=undo, dn=dn: admin.modify_s(dn, undo))
                found[who, dn, name] = verdict(both)
        for member in (ANN, BOB, CID):
            there = member == ANN
            act, undo = (ldap.MOD_DELETE, ldap.MOD_ADD) if there else (ldap.MOD_ADD, ldap.MOD_DELETE)
            change = lambda kind, member=member: [(kind, "member", member.encode())]
            if there:
                admin.modify_s(STAFF, [(ldap.MOD_ADD, "member", b"cn=other")])
            both = done(
                lambda act=act, change=change: connection.modify_s(STAFF, change(act)),
                lambda undo=undo, change=change: admin.modify_s(STAFF, change(undo)),
            )
            found[who, STAFF, f"member {member}"] = verdict(both)
            if there:
                admin.modify_s(STAFF, [(ldap.MOD_DELETE, "member", b"cn=other")])
        for parent in (PEOPLE, EXTRA, ANN):
            new = f"uid=new,{parent}"
            entry = [("objectClass", b"account"), ("uid", b"new"), ("description", b"d")]
            both = done(lambda new=new: connection.add_s(new, entry), lambda new=new: admin.delete_s(new))
            found[who, parent, "add"] = verdict(both)
            admin.add_s(new, entry)
            both = done(lambda new=new: connection.delete_s(new), lambda new=new: admin.add_s(new, entry))
            found[who, parent, "delete"] = verdict(both)
            admin.delete_s(new)
        connection.unbind_s()
    admin.unbind_s()
    return found


def connect_admin(url):
    connection = ldap.initialize(url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.simple_bind_s(ADMIN, SECRET)
    return connection


def more(pando, slapd):
    """Does one verdict give more than another?"""
    order = lambda one: {"denied": 0}.get(one, 1) if isinstance(one, str) else 1
    if isinstance(pando, list) and isinstance(slapd, list):
        there = {dn: {name: values for name, values in entry} for dn, entry in slapd}
        return any(
            dn not in there or any(not set(values) <= set(there[dn].get(name, ())) for name, values in entry)
            for dn, entry in pando
        )
    if isinstance(pando, list):
        return bool(pando)
    return order(pando) > order(slapd)


def short(one):
    """A verdict in few words: of a search what is returned, by name."""
    if not isinstance(one, list):
        return one
    return {dn.split(",")[0]: " ".join(f"{name}" for name, _ in entry) for dn, entry in one}


def plain(one):
    """A search that finds nothing and one that is denied are the same: the one leads to the other by what is disclosed. An entry without
    attributes is none.
    """
    return [] if one == "denied" else [found for found in one if found[1]] if isinstance(one, list) else one


def is_known(key, slapd, pando):
    """Is it one of the differences that docs/access.md lists? Pando asks for `disclose` on the entry, for a compare too. And every entry has an
    object class, so `(objectClass=*)` is true for those who may not search for it as well.
    """
    if key[2] == "read":
        return slapd == [] and all("objectClass" not in dict(entry) for _, entry in pando)
    return key[2].startswith("compare") and isinstance(slapd, bool) and pando == "denied"


def explained(folder, pando, got):
    """A10: `pando access test` agrees with what the server did."""
    rows = []
    for (who, dn, what), verdict_of in got.items():
        word = "deny" if verdict_of == "denied" else "allow"
        if what.startswith("compare") and word == "allow":
            rows.append(f'allow compare "{who or "anonymous"}" "{dn}/{what.split()[1]}"')
        elif what == "read" and isinstance(verdict_of, list) and verdict_of:
            attributes = [name for name, _ in verdict_of[0][1]]
            for name in ("cn", "title", "description", "userPassword", "member"):
                if name in attributes:
                    rows.append(f'allow read "{who or "anonymous"}" "{dn}/{name}"')
                elif attributes and not (name == "member" or name == "description" or dn in (SUFFIX, PEOPLE, STAFF)):
                    rows.append(f'deny read "{who or "anonymous"}" "{dn}/{name}"')
        elif what in ("add value", "delete value"):
            rows.append(f'{word} {what.split()[0]} "{who or "anonymous"}" "{dn}/title=t"')
    assert rows
    (folder / "table").write_text("\n".join(rows) + "\n")
    (folder / "pw").write_text(SECRET + "\n")
    remote = ["--url", pando.url, "--bind-dn", ADMIN, "--password-file", folder / "pw"]
    run(PANDO, "access", "test", folder / "table", *remote)


@pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
def test_a11_slapd_and_pando_give_the_same_verdicts(tmp_path, server):
    (tmp_path / "content.ldif").write_text(LDIF)
    pando = server(ldif=tmp_path / "content.ldif")
    config = connect_admin(pando.url)
    wrong = []
    for number, rules in enumerate(SETS):
        folder = tmp_path / f"set{number}"
        rules = [LOGIN, *rules] if rules else []
        slapd = Slapd(folder, rules)
        try:
            expected = verdicts(slapd.url)
        finally:
            slapd.end()
        translated = run(PANDO, "access", "translate", "--from", "openldap", folder / "slapd.conf", code=None)
        texts = [line.encode() for line in translated.out.splitlines() if not line.startswith("#")]
        config.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoAccessRule", texts or None)])
        is_listed = translated.code == 1
        assert translated.code in (0, 1), translated
        got = verdicts(pando.url)
        for key, value in expected.items():
            mine = got[key]
            is_less = plain(mine) != plain(value) and not is_listed
            if (more(plain(mine), plain(value)) or is_less) and not is_known(key, value, mine):
                wrong.append((rules, f"{key}: slapd {short(value)}, pando {short(mine)}"))
        if number % 8 == 0:
            explained(tmp_path, pando, got)
    config.unbind_s()
    print(f"{len(SETS)} sets, {len(expected)} verdicts each, {len(wrong)} differ")
    by_set = {}
    for rules, text in wrong:
        by_set.setdefault("\n".join(rules), []).append(text[:300])
    # A few of each set say enough.
    lines = [line for rules, texts in by_set.items() for line in (f"{rules}: {len(texts)}", *texts[:4])]
    assert not wrong, "\n".join(lines)
