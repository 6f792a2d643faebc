"""Imports: LDIF as other servers export it, and what an import must leave behind: indexes, sets, times."""

import base64

import pytest

from conftest import ADMIN, PANDO, PEOPLE, SUFFIX, run

BASE = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"


def imported(server, tmp_path, text, *arguments):
    """A server that has loaded this LDIF."""
    file = tmp_path / "data.ldif"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return server(*arguments, ldif=str(file))


def test_folds_anywhere_and_long_lines(server, tmp_path):
    photo = base64.b64encode(bytes(range(256)) * 8192).decode()
    folded = "\n ".join(photo[at:at + 76] for at in range(0, len(photo), 76))
    here = imported(server, tmp_path, BASE + f"dn: uid=a,{SUFFIX}\nobject\n Class: inetOrgPerson\nuid: a\ncn:a\n"
                    f"sn:   spaced\njpegPhoto:: {folded}\n\n\n\n# the end\n")
    out = here.search("-b", f"uid=a,{SUFFIX}", "-s", "base").out
    assert "sn: spaced" in out and "cn: a" in out and photo in out


def test_values_from_files(server, tmp_path):
    value = tmp_path / "value"
    value.write_bytes(b"\x00\x01value")
    text = BASE + f"dn: uid=a,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: a\ncn: a\nsn: a\njpegPhoto:< file://{value}\n"
    file = tmp_path / "data.ldif"
    file.write_text(text)
    # Either read, or refused with its line; never stored as text.
    try:
        here = server(ldif=str(file))
    except AssertionError as error:
        assert f"{file}:" in str(error), error
        return
    assert "jpegPhoto:: AAF2YWx1ZQ==" in here.search("-b", f"uid=a,{SUFFIX}", "-s", "base").out


@pytest.mark.parametrize("change", ["modify\nreplace: dc\ndc: x", "delete", "modrdn\nnewrdn: dc=x\ndeleteoldrdn: 1"])
def test_changes_are_no_entries(tmp_path, change):
    file = tmp_path / "data.ldif"
    file.write_text(BASE + f"dn: {SUFFIX}\nchangetype: {change}\n")
    tool = run(PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", "--import", file, code=1)
    assert f"{file}:" in tool.err and tool.out == "", tool


def test_several_faults_are_listed(tmp_path):
    file = tmp_path / "data.ldif"
    file.write_text(BASE + "".join(
        f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: x\n\n" for number in range(5)
    ))
    tool = run(PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", "--import", file, code=1)
    assert f"{file}:5:" in tool.err and "sn" in tool.err, tool


def test_an_export_of_openldap(server, tmp_path):
    here = imported(server, tmp_path, BASE + f"""dn: cn=a,{SUFFIX}
objectClass: person
cn: a
sn: a
structuralObjectClass: person
entryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14
creatorsName: cn=manager,{SUFFIX}
createTimestamp: 20200102030405Z
userPassword:: e1NTSEF9
entryCSN: 20200102030405.123456Z#000000#001#000000
modifiersName: cn=manager,{SUFFIX}
modifyTimestamp: 20210102030405Z
""")
    out = here.search("-b", SUFFIX, "(entryUUID=597ae2f6-16a6-1027-98f4-d28b5365dc14)", "*", "+").out
    for line in ("createTimestamp: 20200102030405Z", "modifyTimestamp: 20210102030405Z",
                 f"creatorsName: cn=manager,{SUFFIX}", "entryCSN: 20200102030405.123456Z#000000#001#000000"):
        assert line in out.splitlines(), out
    here.modify(f"dn: cn=a,{SUFFIX}\nchangetype: modify\nreplace: sn\nsn: b\n")
    out = here.search("-b", f"cn=a,{SUFFIX}", "-s", "base", "*", "+").out
    assert "createTimestamp: 20200102030405Z" in out and f"modifiersName: {ADMIN}" in out
    assert "modifyTimestamp: 20210102030405Z" not in out


def test_what_an_import_leaves_is_as_what_adds_leave(server, tmp_path):
    """The same entries by import and by add, with indexes of every kind: the same answers."""
    people = [
        f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: p{number}\n"
        f"cn: Person {number:04}\nsn: {'odd' if number % 2 else 'even'}\nuidNumber: {number * 7 % 1000}\ngidNumber: 1\n"
        f"homeDirectory: /\n" + ("mail: p@example.com\n" if number % 3 else "") + "\n"
        for number in range(700)
    ]
    group = f"dn: cn=g,{SUFFIX}\nobjectClass: groupOfNames\ncn: g\n" + "".join(
        f"member: uid=p{number},{SUFFIX}\n" for number in range(700)
    )
    indexes = [part for index in ("uid:eq", "cn:eq,sub", "uidNumber:eq,ord", "mail:pres,eq", "member:eq", "sn:eq",
                                  "createTimestamp:ord") for part in ("--index", index)]
    loaded = imported(server, tmp_path, BASE + "".join(people) + group, *indexes)
    added = imported(server, tmp_path, BASE, *indexes)
    run("ldapadd", *added.admin, stdin="".join(people) + group)
    texts = {"(uidNumber>=500)": 350, "(uidNumber<=99)": 70, "(&(uidNumber>=100)(uidNumber<=199))": 70, "(mail=*)": 466,
             "(cn=*son 01*)": 100, "(cn=person 000*)": 10, "(sn=odd)": 350, "(uid=p77)": 1,
             f"(member=uid=p699,{SUFFIX})": 1, "(!(sn=odd))": 352, "(createTimestamp>=20200101000000Z)": 702,
             "(createTimestamp<=20200101000000Z)": 0}
    for here in (loaded, added):
        found = {text: here.search("-b", SUFFIX, text, "1.1").out.count("dn:") for text in texts}
        # 101, 199: numbers are spread over 0 to 999 by 7.
        exact = {text: count for text, count in texts.items() if "uidNumber" not in text}
        assert {text: found[text] for text in exact} == exact
        numbers = [number * 7 % 1000 for number in range(700)]
        assert found["(uidNumber>=500)"] == sum(number >= 500 for number in numbers)
        assert found["(uidNumber<=99)"] == sum(number <= 99 for number in numbers)
        assert found["(&(uidNumber>=100)(uidNumber<=199))"] == sum(100 <= number <= 199 for number in numbers)
    # And they stay so when all of it changes.
    changes = "".join(
        f"dn: uid=p{number},{SUFFIX}\nchangetype: modify\nincrement: uidNumber\nuidNumber: 10000\n-\nreplace: sn\nsn: x\n\n"
        for number in range(700)
    )
    for here in (loaded, added):
        here.modify(changes)
        for text, count in {"(uidNumber<=9999)": 0, "(uidNumber>=10000)": 700, "(sn=odd)": 0, "(sn=x)": 700}.items():
            assert here.search("-b", SUFFIX, text, "1.1").out.count("dn:") == count, text


def test_an_empty_file(server, tmp_path):
    here = imported(server, tmp_path, "version: 1\n\n# nothing\n")
    here.search("-b", SUFFIX, code=32)
    here.modify(f"dn: {SUFFIX}\nchangetype: add\nobjectClass: domain\ndc: example\n")
    here.search("-b", PEOPLE, code=32)
