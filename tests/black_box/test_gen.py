"""`pando gen`: the three data sets to the letter, templates of one's own, both formats, every order."""

import base64
import hashlib
import os
import re
import signal
import subprocess
import threading

import ldap
import pytest

from ber import ldap_bind
from conftest import ADMIN, PANDO, PATIENCE, SECRET, SUFFIX, run


def gen(*arguments, **settings):
    """What `pando gen` writes to standard output."""
    return run(PANDO, "gen", "--quiet", *arguments, "-o", "-", **settings).out


def entries(ldif):
    """(DN, {attribute: [values]}) of every entry, in order."""
    found = []
    for record in re.sub(r"\n ", "", ldif).removeprefix("version: 1\n").strip("\n").split("\n\n"):
        attributes = {}
        for line in record.splitlines():
            name, value = line.split(":", 1)
            value = base64.b64decode(value[1:]) if value.startswith(":") else value.lstrip(" ").encode()
            attributes.setdefault(name, []).append(value)
        found.append((attributes.pop("dn")[0].decode(), attributes))
    return found


# The three data sets


def test_dvtds():
    top, *people = entries(gen("--template", "dvtds", "--count", "1000", "--suffix", "dc=com"))
    assert top == ("dc=com", {"objectClass": [b"top", b"domain"], "dc": [b"com"]})
    assert [dn for dn, _ in people] == [f"uid={number},dc=com" for number in range(1000)]
    first = people[0][1]["carLicense"]
    for dn, entry in people:
        number = dn[4:-7].encode()
        assert entry == {"objectClass": [b"inetOrgPerson"], "uid": [number], "carLicense": first}
    assert len(first) == 1 and len(first[0]) == 8


def test_mvault():
    top, *people = entries(gen("--template", "mvault", "--count", "500", "--suffix", SUFFIX))
    assert top[0] == SUFFIX and len(people) == 500
    salts = set()
    for dn, entry in people:
        assert list(entry) == ["objectClass", "cn", "sn", "mail", "userPassword"]
        assert entry["objectClass"] == [b"top", b"person", b"organizationalPerson", b"inetOrgPerson"]
        [[cn], [sn], [mail], [password]] = (entry[name] for name in ("cn", "sn", "mail", "userPassword"))
        assert (len(cn), len(sn), len(mail), len(password)) == (16, 8, 26, 46)
        assert dn == f"cn={cn.decode()},{SUFFIX}"
        hashed = base64.b64decode(password.removeprefix(b"{SSHA}"))
        salts.add(hashed[20:])
        assert hashlib.sha1(b"password" + hashed[20:]).digest() == hashed[:20]
    assert len({entry["mail"][0] for _, entry in people}) == 500 and len(salts) == 500


def test_slamd():
    made = entries(gen("--template", "slamd", "--count", "200", "--groups", "2", "--members", "90"))
    assert [dn for dn, _ in made[:2]] == ["dc=example,dc=com", "ou=People,dc=example,dc=com"]
    people, groups = made[2:202], made[202:]
    sizes = []
    for number, (dn, entry) in enumerate(people):
        assert dn == f"uid=user.{number},ou=People,dc=example,dc=com"
        assert len(entry) == 26 and {"givenName", "sn", "cn", "mail", "telephoneNumber", "postalAddress", "userPassword"} <= set(entry)
        [photo] = entry["jpegPhoto"]
        assert len(photo) == 1536 and photo.startswith(b"\xff\xd8\xff") and photo.endswith(b"\xff\xd9")
        assert entry["cn"] == [entry["givenName"][0] + b" " + entry["sn"][0]]
        sizes.append(sum(len(name) + len(value) for name, values in entry.items() for value in values))
    assert 2900 < sum(sizes) / len(sizes) < 3200
    assert [dn for dn, _ in groups] == ["ou=Groups,dc=example,dc=com"] + [
        f"cn=group.{number},ou=Groups,dc=example,dc=com" for number in range(2)]
    members = [member for _, group in groups[1:] for member in group["member"]]
    assert len(members) == len(set(members)) == 180 and {m.decode() for m in members} <= {dn for dn, _ in people}


def test_each_set_is_sound_for_its_schema(server, tmp_path):
    for template, suffix, flags in (("dvtds", "dc=com", ["--schema", "dvtds"]), ("mvault", SUFFIX, []), ("slamd", SUFFIX, [])):
        file = tmp_path / f"{template}.ldif"
        run(PANDO, "gen", "--template", template, "--count", "50", "--suffix", suffix, "-o", file)
        here = server(*flags, ldif=str(file), suffix=suffix)
        assert here.search("-b", suffix, "(objectClass=inetOrgPerson)", "1.1").out.count("dn:") == 50
    # A generated password binds.
    run("ldapwhoami", "-x", "-H", here.url, "-D", "uid=user.7,ou=People,dc=example,dc=com", "-w", "password")


# The same arguments, the same bytes


@pytest.mark.parametrize("template", ["dvtds", "mvault", "slamd"])
def test_the_seed_decides(template):
    once = gen("--template", template, "--count", "40")
    assert once == gen("--template", template, "--count", "40", "--seed", "1")
    other = gen("--template", template, "--count", "40", "--seed", "2")
    assert (once == other) == (template == "dvtds")
    # An entry does not depend on how many there are.
    assert gen("--template", template, "--count", "60").startswith(once)


def test_orders():
    def numbers(order, seed=1):
        made = entries(gen("--template", "dvtds", "--count", "101", "--order", order, "--seed", seed))
        return [int(entry["uid"][0]) for _, entry in made[1:]]

    assert numbers("sorted") == list(range(101))
    for order in ("random", "subdivided"):
        assert sorted(numbers(order)) == list(range(101)) and numbers(order) != list(range(101))
    assert numbers("random", 1) != numbers("random", 2) and numbers("subdivided", 1) == numbers("subdivided", 2)
    # The middle, then the middles of the halves.
    first = numbers("subdivided")[:3]
    assert abs(first[0] - 50) <= 14 and min(first[1:]) < first[0] < max(first[1:]), first


def test_lines_are_folded_where_asked():
    plain = gen("--template", "slamd", "--count", "3")
    folded = gen("--template", "slamd", "--count", "3", "--wrap", "76")
    assert max(map(len, folded.splitlines())) == 76 < max(map(len, plain.splitlines()))
    assert entries(folded) == entries(plain)


def test_branches_can_be_left_out():
    assert [dn for dn, _ in entries(gen("--template", "dvtds", "--count", "2", "--no-branches"))] == ["uid=0,dc=com", "uid=1,dc=com"]


# A stream of AddRequests


def test_ber_is_what_a_server_takes(server, tmp_path):
    """The stream as it is, over a connection after a bind: each is answered with success."""
    empty = tmp_path / "empty.ldif"
    empty.write_text("version: 1\n")
    # Passwords are compared as they were sent.
    here = server("--password-scheme", "clear", ldif=str(empty))
    file = tmp_path / "people.ber"
    arguments = ("--template", "slamd", "--suffix", SUFFIX, "--count", "300", "--groups", "1", "--members", "250")
    run(PANDO, "gen", *arguments, "--format", "ber", "-o", file)
    stream = file.read_bytes()
    import socket

    with socket.create_connection(("127.0.0.1", here.port), PATIENCE) as client:
        client.sendall(ldap_bind(ADMIN.encode(), SECRET.encode()))
        assert b"\x61\x07\x0a\x01\x00" in client.recv(100)
        sender = threading.Thread(target=lambda: (client.sendall(stream), client.shutdown(socket.SHUT_WR)))
        sender.start()
        received = b""
        while piece := client.recv(1 << 16):
            received += piece
        sender.join()
    # Suffix, People, persons, Groups, one group.
    assert received.count(b"\x69\x07\x0a\x01\x00") == 304 and received.count(b"\x0a\x01") == 304
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    served = {dn: entry for dn, entry in connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE)}
    made = dict(entries(gen(*arguments)))
    assert served.keys() == made.keys()
    for dn, entry in made.items():
        assert all(sorted(served[dn][name]) == sorted(values) for name, values in entry.items() if name != "objectClass"), dn


# Templates of one's own

TEMPLATE = """# A company of two sites.
define suffix=o=Acme
define count=4
define domain=acme.test
include more.template

branch: [suffix]
subordinateTemplate: site:2

template: site
rdnAttr: ou
objectClass: organizationalUnit
ou: site <sequential:1>
subordinateTemplate: person:[count]

template: base
rdnAttr: uid
objectClass: inetOrgPerson
uid: u<sequential:100:false>

template: person
extends: base
employeeNumber: <padded:6:7>
givenName: <first>
sn: <last>
cn: {givenName} {sn}
initials: {givenName:1}{sn:1}
mail: {uid}@[domain]
title: <list:junior:senior;3>
l: <file:colours.txt:sequential>
carLicense: <random:alpha:2>-<random:numeric:4>
roomNumber: <random:numeric:10:19>
description: <dn>|<rdn>|<parentdn>|<_dn>
departmentNumber: <presence:50>there
street: <ifpresent:departmentNumber>with
postOfficeBox: <ifabsent:departmentNumber>without
x121Address: <random:chars:01:8>
labeledURI: urn:uuid:<guid>
jpegPhoto:: <jpeg:64>
businessCategory: [greeting], \\<world>
"""


def test_a_template_file(server, tmp_path):
    (tmp_path / "acme.template").write_text(TEMPLATE.replace("jpegPhoto::", "jpegPhoto:"))
    (tmp_path / "more.template").write_text("define greeting=hello\n")
    (tmp_path / "colours.txt").write_text("red\ngreen\nblue\n")
    made = entries(gen("--template", tmp_path / "acme.template"))
    assert [dn for dn, _ in made] == [
        "o=Acme", *(dn for site in (1, 2) for dn in (
            f"ou=site {site},o=Acme",
            *(f"uid=u{100 + number + 4 * (site - 1)},ou=site {site},o=Acme" for number in range(4))))]
    people = [(dn, {name: value.decode() if name != "jpegPhoto" else value for name, [value] in entry.items() if name != "objectClass"})
              for dn, entry in made if dn.startswith("uid=")]
    for at, (dn, entry) in enumerate(people):
        rdn, parent = dn.split(",", 1)
        assert entry["employeeNumber"] == f"{7 + at % 4:06}"
        assert entry["cn"] == f"{entry['givenName']} {entry['sn']}" and entry["initials"] == entry["givenName"][0] + entry["sn"][0]
        assert entry["mail"] == f"{entry['uid']}@acme.test" and entry["title"] in ("junior", "senior")
        assert entry["l"] in ("red", "green", "blue")
        assert re.fullmatch(r"[a-z]{2}-\d{4}", entry["carLicense"]) and 10 <= int(entry["roomNumber"]) <= 19
        assert entry["description"] == f"{dn}|{rdn}|{parent}|{dn.replace(',', '_')}"
        assert ("departmentNumber" in entry) == ("street" in entry) != ("postOfficeBox" in entry)
        assert re.fullmatch("[01]{8}", entry["x121Address"]) and len(entry["jpegPhoto"]) == 64
        assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", entry["labeledURI"])
        assert entry["businessCategory"] == "hello, <world>"
    assert len({entry["labeledURI"] for _, entry in people}) == 8
    # Flags stand for the definitions.
    more = entries(gen("--template", tmp_path / "acme.template", "--count", "1", "--suffix", "o=Other"))
    assert [dn for dn, _ in more] == ["o=Other", "ou=site 1,o=Other", "uid=u100,ou=site 1,o=Other", "ou=site 2,o=Other", "uid=u101,ou=site 2,o=Other"]
    file = tmp_path / "acme.ldif"
    run(PANDO, "gen", "--template", tmp_path / "acme.template", "-o", file)
    here = server(ldif=str(file), suffix="o=Acme")
    assert here.search("-b", "o=Acme", "(objectClass=person)", "1.1").out.count("dn:") == 8


@pytest.mark.parametrize("text, line", [
    ("template: person\nrdnAttr: uid\nuid: <nothing>\n", 3),
    ("branch: o=x\nsubordinateTemplate: none:3\n", 2),
    ("template: person\nuid: x\n", 1),
    ("branch: o=x\ndescription: [undefined]\n", 2),
    ("include nowhere\n", 1),
    ("nonsense\n", 1),
    ("branch: o=x\nsubordinateTemplate: p:1\n\ntemplate: p\nrdnAttr: uid\nuid: x\ncn: <list>\n", 7),
    ("branch: o=x\ndescription: <random:numeric:9:1>\n", 2),
])
def test_a_fault_of_a_template_has_its_line(tmp_path, text, line):
    file = tmp_path / "bad.template"
    file.write_text(text)
    tool = run(PANDO, "gen", "--template", file, "-o", "-", code=None)
    assert tool.code != 0 and f"{file}:{line}" in tool.err and tool.out == "", tool


def test_mistakes(tmp_path):
    for arguments in (["--template", "none"], ["--template", tmp_path / "none"], ["--template", "dvtds", "--suffix", "no dn"],
                      ["--template", "dvtds", "--count", "x"], ["--template", "dvtds", "-o", "/nowhere/x"]):
        tool = run(PANDO, "gen", *arguments, code=None)
        assert tool.code != 0 and tool.err and not tool.err.rstrip("\n").endswith(":"), tool
        assert "--suffix" not in arguments or "suffix is not a DN" in tool.err, tool
        assert "panic" not in tool.err, tool


def test_a_fifo_and_a_reader_that_leaves(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen([PANDO, "gen", "--template", "dvtds", "--count", "100000000", "-o", str(fifo)], stderr=subprocess.PIPE)
    with open(fifo, "rb") as reader:
        assert reader.read(100).startswith(b"version: 1\n")
    assert process.wait(PATIENCE) != 0 and b"panic" not in process.stderr.read()
    process.stderr.close()
    # As `head` leaves: no noise about a broken pipe.
    assert process.returncode in (1, -signal.SIGPIPE)
