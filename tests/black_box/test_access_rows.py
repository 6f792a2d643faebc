"""Row A1 by black box: generated rules, and questions that a server answers as an evaluation of a page does that knows nothing of it."""

import random

import ldap

from conftest import PEOPLE, SUFFIX, connect

SEED = 17
USERS = [f"uid=u{number},{PEOPLE}" for number in range(4)]
TEAM = f"cn=team,ou=Groups,{SUFFIX}"
MEMBERS = USERS[1:3]
ATTRIBUTES = {"title": "Chair", "mail": "a@b", "description": "quiet", "telephoneNumber": "12345", "employeeNumber": "9"}
RIGHTS = ["read", "search", "compare", "add"]
PLACES = [("all", None), ("subtree", SUFFIX), ("one", PEOPLE), ("subtree", PEOPLE)] + [("base", dn) for dn in USERS[:3]]
LDIF = f"""dn: {SUFFIX}
objectClass: domain
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit

dn: ou=Groups,{SUFFIX}
objectClass: organizationalUnit

dn: {TEAM}
objectClass: groupOfNames
""" + "".join(f"member: {dn}\n" for dn in MEMBERS) + "".join(
    f"\ndn: {dn}\nobjectClass: inetOrgPerson\ncn: A\nsn: B\nuserPassword: a long word\n" + "".join(f"{name}: {value}\n" for name, value in ATTRIBUTES.items())
    for dn in USERS)


class Rule:
    """One of random attributes, subjects and rights."""

    def __init__(self, chance, number):
        self.name, self.rank = f"r{number}", chance.randrange(4)
        self.place, self.dn = chance.choice(PLACES)
        self.attributes = chance.sample(sorted(ATTRIBUTES), chance.randrange(1, 4))
        forms = ["users", "self", f'group="{TEAM}"', f'group="!{TEAM}"'] + [f'dn="{dn}"' for dn in USERS]
        self.subjects = [chance.choice(forms) for _ in range(chance.randrange(1, 3))]
        self.allows, self.rights = chance.random() < 0.7, chance.sample(RIGHTS, chance.randrange(1, 4))

    def __str__(self):
        place = f'{self.place}="{self.dn}"' if self.dn else self.place
        effect = "allow" if self.allows else "deny"
        return f"{self.name}: {place} attrs={','.join(self.attributes)}; {' | '.join(self.subjects)}; {effect}={','.join(self.rights)} rank={self.rank}"

    def fits(self, who, entry, attribute, right):
        """All users lie below People, so only rules on one entry leave some out."""
        subjects = {
            "users": True,
            "self": who == entry,
            f'group="{TEAM}"': who in MEMBERS,
            f'group="!{TEAM}"': who not in MEMBERS,
            f'dn="{who}"': True,
        }
        is_there = self.place != "base" or self.dn == entry
        return is_there and attribute in self.attributes and right in self.rights and any(subjects.get(form, False) for form in self.subjects)


def evaluated(rules, *question):
    """The rules of the highest rank decide, and one of them that denies is enough."""
    fitting = [rule for rule in rules if rule.fits(*question)]
    best = max((rule.rank for rule in fitting), default=None)
    return bool(fitting) and all(rule.allows for rule in fitting if rule.rank == best)


def answered(client, entry, attribute, right):
    """What the server does: nothing is changed, for a value that is there is not added twice."""
    value = ATTRIBUTES[attribute]
    if right == "read":
        return attribute in client.search_s(entry, ldap.SCOPE_BASE, attrlist=[attribute])[0][1]
    if right == "search":
        return bool(client.search_s(entry, ldap.SCOPE_BASE, f"({attribute}={value})", ["1.1"]))
    try:
        return client.compare_s(entry, attribute, value) if right == "compare" else client.modify_s(entry, [(ldap.MOD_ADD, attribute, [value.encode()])])
    except (ldap.TYPE_OR_VALUE_EXISTS, ldap.CONSTRAINT_VIOLATION):
        return True
    except ldap.INSUFFICIENT_ACCESS:
        return False


def test_a1_rows(server, tmp_path):
    chance = random.Random(SEED)
    ldif = tmp_path / "rows.ldif"
    ldif.write_text(LDIF)
    seen = {True: 0, False: 0}
    here = server("--access-defaults", "off", ldif=ldif)
    clients = {}
    root = connect(here)
    for _ in range(6):
        rules = [Rule(chance, number) for number in range(12)]
        texts = ["log-in: all attrs=userPassword; anyone; allow=auth", "entries: all attrs=entry; users; allow=disclose,search,read"]
        texts += [str(rule) for rule in rules]
        root.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoAccessRule", [text.encode() for text in texts])])
        for who in USERS:
            if who not in clients:
                clients[who] = connect(here, who, "a long word")
            for _ in range(15):
                question = (chance.choice(USERS), chance.choice(sorted(ATTRIBUTES)), chance.choice(RIGHTS))
                expected = evaluated(rules, who, *question)
                assert bool(answered(clients[who], *question)) == expected, (who, question, texts)
                seen[expected] += 1
    assert min(seen.values()) > 60, seen
