"""What the rest of LDAPv3 costs where it is configured and not used, and what memberOf and unique values cost: instructions of the server under
callgrind.

usage: tests/measure/feature_costs.py BINARY [ROW...], with the interpreter of target/venv; BINARY is a release build. It needs valgrind. All rows if
none is given. A figure is the number of instructions of a request, as tests/measure/instructions.py counts them; noise is half a percent.

`unused` compares a server that has nothing configured with one that has constraints of every kind on attributes that no request changes, an index for
views, indexes for memberOf, groups in groups, limits of followers, dynamic entries, a server to chain to and a default referral. `change log` has what
writes with each change: entries below cn=changelog. `memberOf` finds one member, and a hundred, beside `(member=…)` that finds as many groups.
`unique` adds with one unique attribute; both servers have its index. `collective` has a subentry with collective attributes: one that is about no
entry that is looked at, and one that is about all of them.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import instructions  # noqa: E402
from conftest import PEOPLE, SECRET, SUFFIX  # noqa: E402
from instructions import OPERATIONS, of_request  # noqa: E402
from policy_costs import config, equality, name  # noqa: E402
from test_tls import search  # noqa: E402

# Of these each has one member, and the first user is in as many groups as the large one has members.
GROUPS = 100
ROOMS = f"ou=Rooms,{SUFFIX}"

FEATURES = [
    'index = ["mail:eq", "employeeNumber:eq", "uidNumber:eq", "member:eq", "uniqueMember:eq", "owner:eq", "telephoneNumber:ord"]',
    'default-referral = ["ldap://ldap.example.net"]',
    'chaining = ["url=ldap://127.0.0.1:1 tls=off"]',
    "[groups]",
    'nested = "on"',
    "[limits]",
    "followers = 1000",
    "[dynamic]",
    "default-ttl = 60",
    "[[constraints.rule]]",
    "name = 'mails'",
    "unique = ['mail', 'employeeNumber']",
    "[[constraints.rule]]",
    "name = 'phones'",
    "values = ['telephoneNumber']",
    "regex = '^[0-9]+$'",
    "[[constraints.rule]]",
    "name = 'owners'",
    "references = ['owner', 'member']",
    "[[constraints.rule]]",
    "name = 'shells'",
    "default = 'loginShell'",
    "value = '/bin/sh'",
    "class = 'posixAccount'",
    "[[constraints.rule]]",
    "name = 'ids'",
    "sequence = 'uidNumber'",
    f"counter = 'cn=ids,{SUFFIX}'",
    "next = 'serialNumber'",
    "class = 'posixAccount'",
]


def more(path):
    """Appends the groups, and the counter of the sequence."""
    with open(path, "a") as out:
        out.write(f"dn: cn=ids,{SUFFIX}\nobjectClass: device\ncn: ids\nserialNumber: 1\n\ndn: {ROOMS}\nobjectClass: organizationalUnit\nou: Rooms\n\n")
        users = range(1, GROUPS + 1)
        out.write(f"dn: cn=large,{ROOMS}\nobjectClass: groupOfNames\ncn: large\n" + "".join(f"member: uid=u{at + 200},{PEOPLE}\n" for at in users) + "\n")
        for at in users:
            out.write(f"dn: cn=one{at},{ROOMS}\nobjectClass: groupOfNames\ncn: one{at}\nmember: uid=u{at},{PEOPLE}\n\n")
            out.write(f"dn: cn=first{at},{ROOMS}\nobjectClass: groupOfNames\ncn: first{at}\nmember: uid=u0,{PEOPLE}\n\n")


def row(name_, what, first, second, bar):
    print(f"| {name_} | {what} | {first:,.0f} | {second:,.0f} | {100 * second / first:.1f} % | {bar} |", flush=True)


def unused(folder, binary):
    features = ("--config", config(folder, "features", *FEATURES))
    for operation in ("base search", "base search, all attributes", "modify", "durable modify"):
        request, durable = OPERATIONS[operation], operation.startswith("durable")
        off = of_request(folder, binary, request, durable=durable)
        row("unused", operation, off, of_request(folder, binary, request, *features, durable=durable), "<= 102 %")


def change_log(folder, binary):
    kept = ("--config", config(folder, "changes", 'changelog-keep = "4MiB"'))
    # Without a data directory there is no change log, so that of the search has one too.
    for operation, bar in (("durable modify", "printed"), ("base search", "<= 102 %")):
        off = of_request(folder, binary, OPERATIONS[operation], durable=True)
        row("change log", operation, off, of_request(folder, binary, OPERATIONS[operation], *kept, durable=True), bar)


def member_of(folder, binary):
    indexes = ("--index", "member:eq")

    def found_by(attribute, value):
        return lambda at, number: search(at, SUFFIX.encode(), 2, [b"1.1"], equality(attribute, value(number)))

    pairs = [
        ("one entry", lambda number: name(number % GROUPS + 1), lambda number: f"cn=one{number % GROUPS + 1},{ROOMS}".encode()),
        ("100 entries", lambda number: name(0), lambda number: f"cn=large,{ROOMS}".encode()),
    ]
    for what, member, group in pairs:
        by_member = of_request(folder, binary, found_by(b"member", member), *indexes)
        row("memberOf", f"(memberOf=…) beside (member=…), {what}", by_member, of_request(folder, binary, found_by(b"memberOf", group), *indexes), "<= 300 %")


def unique(folder, binary):
    """In all of the directory, and below a `subtree`."""
    rule = ["[[constraints.rule]]", "name = 'mails'", "unique = ['mail']"]
    kinds = [("plain", []), ("unique", rule), ("below", [*rule, f"subtree = '{PEOPLE}'"])]
    for operation in ("add without a secret", "durable add"):
        request, durable = OPERATIONS[operation], operation.startswith("durable")
        off, on, below = (of_request(folder, binary, request, "--config", config(folder, label, 'index = ["mail:eq"]', *lines), durable=durable) for label, lines in kinds)
        row("unique", operation, off, on, "<= 120 %")
        row("unique", f"{operation}, with a subtree", off, below, "<= 120 %")


def collective(folder, binary):
    def with_subentry(label, specification):
        # The same directory, and the subentry.
        place = folder / label
        place.mkdir()
        (place / "password").write_text(SECRET + "\n")
        (place / "d.ldif").write_text(
            (folder / "d.ldif").read_text() + f"dn: cn=shared,{SUFFIX}\nobjectClass: subentry\nobjectClass: collectiveAttributeSubentry\ncn: shared\n"
            f"subtreeSpecification: {specification}\nc-l: Paris\nc-TelephoneNumber: +1 555 0100\n\n"
        )
        return place

    places = [("about no entry looked at", with_subentry("elsewhere", '{ base "ou=Rooms" }')), ("about all entries", with_subentry("all", "{}"))]
    for operation in ("base search", "base search, all attributes", "modify"):
        off = of_request(folder, binary, OPERATIONS[operation])
        for what, place in places:
            row("collective", f"{operation}, a subentry {what}", off, of_request(place, binary, OPERATIONS[operation]), "printed")


ROWS = {"unused": unused, "change log": change_log, "memberOf": member_of, "unique": unique, "collective": collective}


def main(binary, *wanted):
    print("| row | request | instructions without | with | with / without | bar |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "password").write_text(SECRET + "\n")
        more(instructions.ldif(folder / "d.ldif", instructions.USERS))
        for each in wanted or ROWS:
            ROWS[each](folder, binary)


if __name__ == "__main__":
    main(*sys.argv[1:])
