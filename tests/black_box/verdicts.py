"""Verdicts of a server: what it lets whom do with which entries. Peers have rule sets of their own, Pando what `pando access translate` makes of
them.
"""

import ldap

from conftest import ADMIN, PANDO, PATIENCE, SECRET, SUFFIX, run

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
    # 389's rules are user attributes of entries.
    return sorted((dn.lower(), sorted((name, shown(name, entry[name])) for name in entry if name != "aci")) for dn, entry in found if dn)


def compare(connection, dn, name, value):
    return connection.compare_s(dn, name, value)


def done(act, undo):
    """Whether a change is made; one that is made is taken back by the administrator."""

    def both():
        act()
        undo()
        return "done"

    return both


VALUES = {"cn": b"ann", "title": b"t", "description": b"one", "userPassword": b"x"}


def verdicts(url, all_who=WHO, entries=ENTRIES, compared=tuple(VALUES), changed=(ANN, BOB, CHILD), parents=(PEOPLE, EXTRA, ANN)):
    """All verdicts of a server: identities x entries x operations."""
    admin, found = connect_admin(url), {}
    for who in all_who:
        connection = bound(url, who)
        for dn in entries:
            found[who, dn, "read"] = verdict(read, connection, dn)
            for name, value in ((name, VALUES[name]) for name in compared):
                found[who, dn, f"compare {name}"] = verdict(compare, connection, dn, name, value)
        for filter in ("(title=t)", "(description=*)", "(!(title=x))", "(uid=a*)"):
            found[who, SUFFIX, filter] = verdict(read, connection, SUFFIX, ldap.SCOPE_SUBTREE, filter)
        for dn in changed:
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
        for parent in parents:
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


def put_translated(config, path, source):
    """Gives Pando what it makes of a peer's rules. Returns whether it lists some that it does not carry over."""
    translated = run(PANDO, "access", "translate", "--from", source, path, code=None)
    assert translated.code in (0, 1), translated
    texts = [line.encode() for line in translated.out.splitlines() if not line.startswith("#")]
    config.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoAccessRule", texts or None)])
    return translated.code == 1


class Differences:
    """What differs between a peer and Pando, set by set. Of a rule set that is not carried over whole Pando may allow less, and never more.
    `is_known(key, peer's, Pando's, rules)`: is it a difference that docs/access.md lists?
    """

    def __init__(self, peer, is_known):
        self.peer, self.is_known, self.by_set, self.sets, self.verdicts = peer, is_known, {}, 0, 0

    def of(self, rules, expected, got, is_listed):
        """Those of one set."""
        texts = []
        for key, value in expected.items():
            mine = got[key]
            is_less = plain(mine) != plain(value) and not is_listed
            if (more(plain(mine), plain(value)) or is_less) and not self.is_known(key, value, mine, rules):
                texts.append(f"{key}: {self.peer} {short(value)}, pando {short(mine)}"[:300])
        return texts

    def compare(self, rules, expected, got, is_listed):
        self.sets, self.verdicts = self.sets + 1, self.verdicts + len(expected)
        if texts := self.of(rules, expected, got, is_listed):
            self.by_set["\n".join(rules)] = texts

    def check(self):
        """Fails with a few differences of each set, which say enough."""
        print(f"{self.sets} sets, {self.verdicts} verdicts")
        lines = [line for rules, texts in self.by_set.items() for line in (f"{rules}: {len(texts)}", *texts[:4])]
        assert not lines, "\n".join(lines)
