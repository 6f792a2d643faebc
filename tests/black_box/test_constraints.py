"""Constraints: sixteen clients at once get one value once, in memory and in a log, and after a kill; set in the file and while serving."""

import threading

import ldap
import pytest

from conftest import PANDO, PEOPLE, SUFFIX, connect, run

CLIENTS = 16
ROUNDS = 12
RULE = f'name=mails unique="mail,employeeNumber" subtree="{PEOPLE}"'.encode()
CLASSES = [b"inetOrgPerson"]


def person(**values):
    return [("objectClass", CLASSES), ("cn", [b"P"]), ("sn", [b"P"]), *((name, [value.encode()]) for name, value in values.items())]


def all_at_once(server, what, begins=None):
    """Calls `what(connection, number)` for each client at once, and `begins` before; what they returned."""
    outcomes, gate = [None] * CLIENTS, threading.Barrier(CLIENTS, action=begins)

    def client(number):
        connection = connect(server)
        gate.wait()
        outcomes[number] = what(connection, number)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def add_same(connection, number):
    """Adds the same values as all others do; how often it was the one. What the server does not answer any more counts as nothing."""
    done = 0
    for round_ in range(ROUNDS):
        try:
            connection.add_s(f"uid=r{round_}c{number},{PEOPLE}", person(mail=f"{'rR'[number % 2]}{round_}@x"))
            done += 1
        except ldap.CONSTRAINT_VIOLATION as refused:
            text = refused.args[0]["info"]
            assert text == "constraint mails: another entry has this value of mail", text
        except ldap.ALREADY_EXISTS:
            pass
        except (ldap.SERVER_DOWN, ldap.UNAVAILABLE):
            return done
    return done


def values(connection):
    found = connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(|(mail=r*)(employeeNumber=r*))", ["mail", "employeeNumber"])
    return sorted(value.lower() for _, entry in found for each in entry.values() for value in each)


def test_one_of_many_clients_gets_a_value(server):
    here = server("--index", "mail:eq", "--index", "employeeNumber:eq")
    admin = connect(here)
    admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoConstraintsRule", [RULE])])
    assert sum(all_at_once(here, add_same)) == ROUNDS
    assert len(values(admin)) == ROUNDS == len(set(values(admin)))
    # Another attribute of the constraint, and a modify.
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        admin.add_s(f"uid=x,{PEOPLE}", person(employeeNumber="r1@X"))
    admin.add_s(f"uid=x,{PEOPLE}", person(employeeNumber="x"))
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        admin.modify_s(f"uid=x,{PEOPLE}", [(ldap.MOD_REPLACE, "mail", [b"r2@x"])])
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refused:
        admin.modify_s("cn=config", [(ldap.MOD_DELETE, "olcDbIndex", [b"mail:eq"])])
    assert "constraint mails needs the index" in refused.value.args[0]["info"]


COUNTER = f"cn=ids,{SUFFIX}"
NUMBERS = f'name=ids sequence=uidNumber counter="{COUNTER}" next=serialNumber class=posixAccount'.encode()
ACCOUNT = [("objectClass", [b"account", b"posixAccount"]), ("cn", [b"A"]), ("gidNumber", [b"1"]), ("homeDirectory", [b"/"])]


def add_accounts(connection, number):
    for round_ in range(ROUNDS):
        try:
            connection.add_s(f"uid=a{round_}c{number},{PEOPLE}", ACCOUNT)
        except ldap.ALREADY_EXISTS:
            pass
        except (ldap.SERVER_DOWN, ldap.UNAVAILABLE):
            return


def numbers(connection):
    found = connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(uidNumber=*)", ["uidNumber"])
    return sorted(int(entry["uidNumber"][0]) for _, entry in found)


def test_no_number_is_given_twice(keep):
    here = keep("--index", "uidNumber:eq", ldif="people.ldif")
    admin = connect(here)
    admin.add_s(COUNTER, [("objectClass", [b"device"]), ("serialNumber", [b"70000"])])
    admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoConstraintsRule", [NUMBERS])])
    before = numbers(admin)
    killer = threading.Timer(0.03, here.kill)
    all_at_once(here, add_accounts, killer.start)
    killer.join()
    here = keep("--index", "uidNumber:eq")
    all_at_once(here, add_accounts)
    admin = connect(here)
    given = [number for number in numbers(admin) if number not in before]
    assert given == list(range(70000, 70000 + CLIENTS * ROUNDS))
    assert admin.search_s(COUNTER, ldap.SCOPE_BASE)[0][1]["serialNumber"] == [str(given[-1] + 1).encode()]


def test_existing_entries_are_looked_at(server):
    here = server("--index", "mail:eq", "--index", "employeeNumber:eq")
    admin = connect(here)
    admin.add_s(f"uid=x,{PEOPLE}", person(mail="r@x"))
    admin.add_s(f"uid=y,{PEOPLE}", person(mail="R@x"))
    with pytest.raises(ldap.CONSTRAINT_VIOLATION) as refused:
        admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoConstraintsRule", [RULE])])
    text = refused.value.args[0]["info"]
    assert f"uid=x,{PEOPLE}" in text and f"uid=y,{PEOPLE}" in text
    admin.delete_s(f"uid=y,{PEOPLE}")
    admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoConstraintsRule", [RULE])])


def test_constraints_hold_after_a_kill(keep, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text(
        'index = ["mail:eq", "employeeNumber:eq"]\n'
        f'[[constraints.rule]]\nname = "mails"\nunique = ["mail", "employeeNumber"]\nsubtree = "{PEOPLE}"\n'
    )
    here = keep("--config", file, ldif="people.ldif")
    killer = threading.Timer(0.03, here.kill)
    done = sum(all_at_once(here, add_same, killer.start))
    killer.join()
    here = keep("--config", file)
    admin = connect(here)
    found = values(admin)
    assert done <= len(found) and len(found) == len(set(found))
    # They hold on.
    all_at_once(here, add_same)
    assert len(values(admin)) == ROUNDS == len(set(values(admin)))
    assert admin.search_s("cn=config", ldap.SCOPE_BASE, attrlist=["pandoConstraintsRule"])[0][1]["pandoConstraintsRule"] == [RULE]


def test_a_check_of_the_whole_directory(keep, tmp_path):
    """A constraint of the file comes into force without a look at the entries; the check has all that violate it, each with its name."""
    here = keep("--index", "mail:eq", "--index", "cn:eq", ldif="people.ldif")
    admin = connect(here)
    for uid, mail in [("x", "one@x"), ("y", "ONE@x"), ("z", "two@x")]:
        admin.add_s(f"uid={uid},{PEOPLE}", person(mail=mail, telephoneNumber="1" if uid == "x" else uid))
    group = f"cn=lost,{SUFFIX}"
    admin.add_s(group, [("objectClass", [b"groupOfNames"]), ("member", [f"uid=x,{PEOPLE}".encode(), b"uid=nobody"])])
    here.end()
    indexes = ["--index", "mail:eq", "--index", "member:eq"]
    checked = run(PANDO, "check", "--data", keep.data, "--constraints", *indexes)
    assert "all as it should be" in checked.out
    file = tmp_path / "pando.toml"
    file.write_text(
        'index = ["mail:eq", "member:eq"]\n'
        '[[constraints.rule]]\nname = "mails"\nunique = ["mail"]\n'
        "[[constraints.rule]]\nname = 'phones'\nvalues = ['telephoneNumber']\nregex = '^[0-9 +]+$'\n"
        f"subtree = '{PEOPLE}'\n"
        '[[constraints.rule]]\nname = "refs"\nreferences = ["member"]\nabsent = "refuse"\n'
    )
    here = keep("--config", file)
    here.end()
    without = run(PANDO, "check", "--data", keep.data, "--constraints", code=1).err
    assert "constraint mails needs the index `mail:eq`" in without and "constraint refs needs the index `member:eq`" in without
    assert "all as it should be" in run(PANDO, "check", "--data", keep.data, *indexes).out
    found = run(PANDO, "check", "--data", keep.data, "--constraints", *indexes, code=1).err
    mails = [line for line in found.splitlines() if "constraint mails" in line]
    assert len(mails) == 2 and all(f"uid=x,{PEOPLE}" in line and f"uid=y,{PEOPLE}" in line for line in mails), found
    phones = [line for line in found.splitlines() if "constraint phones" in line]
    assert [name for name in "xyz" for line in phones if f"uid={name},{PEOPLE}" in line] == ["y", "z"], found
    assert [line for line in found.splitlines() if "constraint refs" in line and group in line], found


REFERENCES = b"name=refs references=member absent=refuse nothing=cn=none"


def test_references_follow_and_hold_after_a_kill(keep):
    here = keep("--index", "member:eq", ldif="people.ldif")
    admin = connect(here)
    admin.modify_s("cn=config", [(ldap.MOD_ADD, "pandoConstraintsRule", [REFERENCES])])
    for number in range(CLIENTS):
        admin.add_s(f"uid=m{number},{PEOPLE}", person())
    members = [f"uid=m{number},{PEOPLE}".encode() for number in range(CLIENTS)]
    group = f"cn=follow,{SUFFIX}"
    admin.add_s(group, [("objectClass", [b"groupOfNames"]), ("member", members)])

    def rename(connection, number):
        name = f"m{number}"
        try:
            for round_ in range(ROUNDS):
                connection.rename_s(f"uid={name},{PEOPLE}", f"uid=m{number}r{round_}")
                name = f"m{number}r{round_}"
        except (ldap.SERVER_DOWN, ldap.UNAVAILABLE):
            pass

    def agree(connection):
        """What the group says is what there is."""
        there = {dn.lower() for dn, _ in connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=m*)", ["1.1"])}
        [(_, entry)] = connection.search_s(group, ldap.SCOPE_BASE)
        assert there == {value.decode().lower() for value in entry["member"]}
        return there

    killer = threading.Timer(0.03, here.kill)
    all_at_once(here, rename, killer.start)
    killer.join()
    here = keep("--index", "member:eq")
    admin = connect(here)
    there = agree(admin)
    assert len(there) == CLIENTS
    for dn in there:
        admin.delete_s(dn)
    assert admin.search_s(group, ldap.SCOPE_BASE)[0][1]["member"] == [b"cn=none"]
    with pytest.raises(ldap.CONSTRAINT_VIOLATION) as refused:
        admin.modify_s(group, [(ldap.MOD_ADD, "member", [members[0]])])
    assert refused.value.args[0]["info"] == "constraint refs: no entry has the name that is a value of member"


def test_values_in_the_file(server, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text(
        'index = ["cn:eq"]\n[[constraints.rule]]\nname = "phones"\nvalues = ["telephoneNumber"]\n'
        "regex = '^[+]?[0-9 ]+$'\nmax-count = 1\n"
        '[[constraints.rule]]\nname = "kind"\ndefault = "employeeType"\nvalue = "not known"\nclass = "inetOrgPerson"\n'
    )
    admin = connect(server("--config", file))
    admin.add_s(f"uid=x,{PEOPLE}", person(telephoneNumber="+49 1"))
    assert admin.search_s(f"uid=x,{PEOPLE}", ldap.SCOPE_BASE)[0][1]["employeeType"] == [b"not known"]
    for phone in [b"+49 2", b"x"]:
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            admin.modify_s(f"uid=x,{PEOPLE}", [(ldap.MOD_ADD, "telephoneNumber", [phone])])
