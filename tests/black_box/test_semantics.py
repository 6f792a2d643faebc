"""What the protocol promises beyond the single request: secrets, names, the server's own entries, limits, races."""

import subprocess
import threading
import time

import ldap
import ldap.dn
import pytest
from ldap.controls.libldap import SimplePagedResultsControl

from conftest import PATIENCE, PEOPLE, SUFFIX, connect, run

ADA = f"uid=ada,{PEOPLE}"
PERSON = [b"inetOrgPerson"]


def person(name, **more):
    """A modlist of a person."""
    attributes = {"objectClass": PERSON, "uid": [name], "cn": [name], "sn": [name]}
    return list({**attributes, **more}.items())


def count(connection, text, base=SUFFIX, scope=ldap.SCOPE_SUBTREE):
    """How many entries a filter finds."""
    return len(connection.search_s(base, scope, text, ["1.1"]))


# Secrets


def test_passwords_cannot_be_guessed_by_filter_or_compare(reader):
    for connection in (connect(reader, ADA, "ada's password"), connect(reader, None)):
        for text in ("(userPassword=*)", "(userPassword=ada's password)", "(userPassword=ada*)", "(!(userPassword=x))",
                     "(userPassword>=a)", "(userPassword:octetStringMatch:=ada's password)",
                     "(:octetStringMatch:=ada's password)", "(2.5.4.35=*)"):
            assert count(connection, text) == 0, text
        for value in (b"ada's password", b"x"):
            try:
                assert not connection.compare_s(ADA, "userPassword", value)
                assert value == b"x", "compare tells a password"
            except ldap.LDAPError as error:
                assert isinstance(error, (ldap.INSUFFICIENT_ACCESS, ldap.NO_SUCH_ATTRIBUTE, ldap.UNDEFINED_TYPE)), error
    admin = connect(reader)
    assert count(admin, "(userPassword=*)") == 2


def test_a_hash_is_no_password(fresh):
    connection = connect(fresh)
    [(_, entry)] = connection.search_s(f"uid=bruno,{PEOPLE}", ldap.SCOPE_BASE, attrlist=["userPassword"])
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(fresh, f"uid=bruno,{PEOPLE}", entry["userPassword"][0].decode())
    for stored in (b"{CRYPT}abcdefghijklm", b"{SSHA}", b"{SSHA}AAAA", b"{SSHA512}x", b"{UNKNOWN}x"):
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            connection.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [stored])])
        for guess in (stored.decode(), "x", stored.decode().split("}")[1]):
            if guess:
                with pytest.raises(ldap.INVALID_CREDENTIALS):
                    connect(fresh, ADA, guess)


def test_one_of_several_passwords(fresh):
    connection = connect(fresh)
    connection.modify_s(ADA, [(ldap.MOD_ADD, "userPassword", [b"second", "dritt\u00e9".encode()])])
    for password in ("ada's password", "second", "dritt\u00e9"):
        assert connect(fresh, ADA.upper(), password).whoami_s().lower() == f"dn:{ADA}".lower()
    connection.modify_s(ADA, [(ldap.MOD_DELETE, "userPassword", [b"second"])])
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(fresh, ADA, "second")
    connection.delete_s(ADA)
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connect(fresh, ADA, "ada's password")


# The server's own entries


@pytest.mark.parametrize("dn", ["", "cn=Subschema", "cn=Monitor", "cn=Time,cn=Monitor"])
def test_the_servers_own_entries_cannot_be_changed(fresh, dn):
    connection = connect(fresh)
    refusals = (ldap.UNWILLING_TO_PERFORM, ldap.INSUFFICIENT_ACCESS, ldap.NO_SUCH_OBJECT, ldap.ALREADY_EXISTS,
                ldap.NAMING_VIOLATION, ldap.NOT_ALLOWED_ON_NONLEAF)
    with pytest.raises(refusals):
        connection.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"x"])])
    with pytest.raises(refusals):
        connection.delete_s(dn)
    with pytest.raises(refusals):
        connection.add_s(dn, [("objectClass", [b"device"]), ("cn", [b"x"])])
    with pytest.raises(refusals):
        connection.rename_s(dn or "cn=none", "cn=y")
    below = f"cn=x,{dn}" if dn else "cn=x"
    with pytest.raises(refusals):
        connection.add_s(below, [("objectClass", [b"device"]), ("cn", [b"x"])])
    with pytest.raises(refusals):
        connection.rename_s(ADA, "cn=ada", dn or "cn=none")


def test_compare_on_the_root_dse(reader):
    connection = connect(reader, None)
    assert connection.compare_s("", "supportedLDAPVersion", b"3") is True
    assert connection.compare_s("", "supportedControl", b"1.2.840.113556.1.4.319") is True


def test_the_root_dse_has_its_own_scope(reader):
    connection = connect(reader)
    assert connection.search_s("", ldap.SCOPE_BASE, "(objectClass=person)") == []
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connection.search_s("", ldap.SCOPE_SUBTREE)


# Names


def test_names_are_matched_by_their_rules(fresh):
    connection = connect(fresh)
    connection.add_s(f"cn=two  words+sn=b,{PEOPLE}", [("objectClass", PERSON), ("cn", [b"two  words"]), ("sn", [b"b"])])
    for name in ("CN=Two Words+SN=B", "sn=b+cn=two words", "2.5.4.3=two   WORDS+surname=b", r"cn=\20two words\20+sn=b",
                 "cn=#04097477 6f20776f726473".replace(" ", "") + "+sn=b"):
        assert len(connection.search_s(f"{name},{PEOPLE.upper()}", ldap.SCOPE_BASE)) == 1, name
    with pytest.raises(ldap.ALREADY_EXISTS):
        connection.add_s(f"sn=B+cn=two words,{PEOPLE}", [("objectClass", PERSON), ("cn", [b"two words"]), ("sn", [b"b"])])
    for name in ("cn=", "cn=a,,", "=x", "cn", "cn=a+", r"cn=a\z", "cn=#04", "c n=x", "noSuchType=x"):
        with pytest.raises((ldap.INVALID_DN_SYNTAX, ldap.NO_SUCH_OBJECT)) as caught:
            connection.search_s(f"{name},{PEOPLE}", ldap.SCOPE_BASE)
        if name not in ("cn=", "noSuchType=x"):
            assert isinstance(caught.value, ldap.INVALID_DN_SYNTAX), name


def test_special_characters_come_back_in_a_name_that_works(fresh):
    connection = connect(fresh)
    for text in ('a,b', 'a+b', 'a"b', 'a\\b', 'a<b>', 'a;b', ' a ', '#a', 'a=b', 'a\nb', "\u65e5\u672c", "a'b", "a/b"):
        rdn = ldap.dn.escape_dn_chars(text)
        connection.add_s(f"cn={rdn},{PEOPLE}", [("objectClass", PERSON), ("cn", [text.encode()]), ("sn", [b"special"])])
    found = connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(sn=special)", ["cn", "entryDN"])
    assert len(found) == 13
    for name, entry in found:
        assert entry["entryDN"] == [name.encode()]
        assert connection.search_s(name, ldap.SCOPE_BASE, attrlist=["cn"])[0][1]["cn"] == entry["cn"], name
        connection.delete_s(name)


def test_a_deep_tree(fresh):
    connection = connect(fresh)
    name = f"ou=Empty,{SUFFIX}"
    depth = 0
    try:
        for depth in range(200):
            name = f"ou=l{depth},{name}"
            connection.add_s(name, [("objectClass", [b"organizationalUnit"]), ("ou", [f"l{depth}".encode()])])
    except ldap.LDAPError as error:
        # A bound is fine if it says so.
        assert isinstance(error, (ldap.ADMINLIMIT_EXCEEDED, ldap.UNWILLING_TO_PERFORM, ldap.INVALID_DN_SYNTAX)), error
        assert error.args[0].get("info") and depth >= 50, error
        name = name.split(",", 1)[1]
    assert connection.search_s(name, ldap.SCOPE_BASE, attrlist=["1.1"]) == [(name, {})]
    below = count(connection, "(ou=l*)", f"ou=Empty,{SUFFIX}")
    connection.rename_s(f"ou=Empty,{SUFFIX}", "ou=Full")
    assert count(connection, "(ou=l*)", f"ou=Full,{SUFFIX}") == below >= 50


def test_a_large_subtree_is_renamed_at_once(fresh):
    connection = connect(fresh)
    sent = [connection.add(f"uid=s{number},{PEOPLE}", person(f"s{number}".encode())) for number in range(5000)]
    for message in sent:
        connection.result(message)
    connection.rename_s(PEOPLE, "ou=Staff", f"ou=Empty,{SUFFIX}")
    moved = f"ou=Staff,ou=Empty,{SUFFIX}"
    assert count(connection, "(objectClass=person)", moved) == 5003
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=s4711)", ["1.1"]) == [(f"uid=s4711,{moved}", {})]
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connection.search_s(f"uid=s4711,{PEOPLE}", ldap.SCOPE_BASE)
    assert connect(fresh, f"uid=ada,{moved}", "ada's password").whoami_s() == f"dn:uid=ada,{moved}"


def test_the_suffix_can_be_neither_renamed_nor_deleted_while_it_has_entries(fresh):
    connection = connect(fresh)
    with pytest.raises(ldap.NOT_ALLOWED_ON_NONLEAF):
        connection.delete_s(SUFFIX)
    with pytest.raises(ldap.LDAPError) as caught:
        connection.rename_s(SUFFIX, "dc=other")
    assert not isinstance(caught.value, ldap.SERVER_DOWN)
    assert count(connection, "(objectClass=*)") == 9


# Changes


def test_changes_of_one_request_follow_each_other(fresh):
    connection = connect(fresh)
    connection.modify_s(ADA, [
        (ldap.MOD_DELETE, "sn", None), (ldap.MOD_ADD, "sn", [b"One"]), (ldap.MOD_ADD, "sn", [b"Two"]),
        (ldap.MOD_DELETE, "sn", [b"one"]), (ldap.MOD_REPLACE, "title", [b"x"]), (ldap.MOD_ADD, "title", [b"y"]),
        (ldap.MOD_REPLACE, "description", None),
    ])
    entry = connection.search_s(ADA, ldap.SCOPE_BASE)[0][1]
    assert entry["sn"] == [b"Two"] and sorted(entry["title"]) == [b"x", b"y"]


def test_the_class_decides_what_is_allowed(fresh):
    connection = connect(fresh)
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
        connection.modify_s(f"uid=chlo\u00e9,{PEOPLE}", [(ldap.MOD_ADD, "uidNumber", [b"1"])])
    connection.modify_s(f"uid=chlo\u00e9,{PEOPLE}", [
        (ldap.MOD_ADD, "objectClass", [b"posixAccount"]), (ldap.MOD_ADD, "uidNumber", [b"1"]),
        (ldap.MOD_ADD, "gidNumber", [b"1"]), (ldap.MOD_ADD, "homeDirectory", [b"/"]),
    ])
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
        connection.modify_s(ADA, [(ldap.MOD_DELETE, "objectClass", [b"posixAccount"])])
    connection.modify_s(ADA, [
        (ldap.MOD_DELETE, "objectClass", [b"posixAccount"]), (ldap.MOD_DELETE, "uidNumber", None),
        (ldap.MOD_DELETE, "gidNumber", None), (ldap.MOD_DELETE, "homeDirectory", None),
    ])
    with pytest.raises((ldap.OBJECT_CLASS_VIOLATION, ldap.NO_OBJECT_CLASS_MODS)):
        connection.modify_s(ADA, [(ldap.MOD_REPLACE, "objectClass", [b"groupOfNames"])])
    # Any class can do anything with this one.
    connection.modify_s(ADA, [(ldap.MOD_ADD, "objectClass", [b"extensibleObject"]), (ldap.MOD_ADD, "uidNumber", [b"5"])])


def test_duplicates_in_a_large_set_are_found(fresh):
    connection = connect(fresh)
    members = [f"uid=m{number},{PEOPLE}".encode() for number in range(10000)]
    group = f"cn=all,ou=Groups,{SUFFIX}"
    with pytest.raises(ldap.TYPE_OR_VALUE_EXISTS):
        connection.add_s(group, [("objectClass", [b"groupOfNames"]), ("cn", [b"all"]),
                                 ("member", [*members, members[5000].upper()])])
    connection.add_s(group, [("objectClass", [b"groupOfNames"]), ("cn", [b"all"]), ("member", members)])
    with pytest.raises(ldap.TYPE_OR_VALUE_EXISTS):
        connection.modify_s(group, [(ldap.MOD_ADD, "member", [b"cn=new", members[1]])])
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        connection.modify_s(group, [(ldap.MOD_DELETE, "member", [members[1], b"cn=new"])])
    with pytest.raises(ldap.INVALID_SYNTAX):
        connection.modify_s(group, [(ldap.MOD_ADD, "member", [b"no DN"])])
    # A failed request changes nothing.
    entry = connection.search_s(group, ldap.SCOPE_BASE)[0][1]
    assert set(entry["member"]) == set(members) and len(entry["member"]) == 10000
    assert count(connection, "(member=cn=new)") == 0 and count(connection, f"(member={members[1].decode()})") == 1
    connection.rename_s(group, "cn=everybody")
    assert count(connection, f"(member={members[9999].decode()})") == 1
    connection.delete_s(f"cn=everybody,ou=Groups,{SUFFIX}")
    assert count(connection, f"(member={members[9999].decode()})") == 0


def test_pages_while_the_directory_changes(fresh):
    connection = connect(fresh)
    for number in range(100):
        connection.add_s(f"uid=p{number},{PEOPLE}", person(f"p{number}".encode()))
    cookie, seen = b"", []
    while True:
        control = SimplePagedResultsControl(True, 10, cookie)
        message = connection.search_ext(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=p*)", ["1.1"], serverctrls=[control])
        _, entries, _, [answer] = connection.result3(message)
        seen += [name for name, _ in entries]
        if not (cookie := answer.cookie):
            break
        # The last one seen goes, another comes, one changes.
        connection.delete_s(seen[-1])
        connection.add_s(f"uid=q{len(seen)},{PEOPLE}", person(f"q{len(seen)}".encode()))
        connection.modify_s(seen[0], [(ldap.MOD_REPLACE, "title", [str(len(seen)).encode()])])
    assert len(seen) == len(set(seen)) == 100


def test_many_writers_and_readers(fresh):
    """Increments from many connections are all there; readers see whole entries only."""
    setup = connect(fresh)
    setup.modify_s(ADA, [(ldap.MOD_REPLACE, "uidNumber", [b"0"]), (ldap.MOD_REPLACE, "description", [b"0", b"x0"])])
    faults = []

    def write():
        connection = connect(fresh)
        for number in range(200):
            connection.modify_s(ADA, [(ldap.MOD_INCREMENT, "uidNumber", [b"1"])])
            pair = [str(number).encode(), f"x{number}".encode()]
            connection.modify_s(ADA, [(ldap.MOD_REPLACE, "description", pair)])

    def read():
        connection = connect(fresh)
        for _ in range(300):
            values = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["description"])[0][1]["description"]
            numbers = {value.lstrip(b"x") for value in values}
            if len(values) != 2 or len(numbers) != 1:
                faults.append(values)

    threads = [threading.Thread(target=each) for each in [write] * 5 + [read] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not faults
    assert setup.search_s(ADA, ldap.SCOPE_BASE, attrlist=["uidNumber"])[0][1]["uidNumber"] == [b"1000"]


# Searches


@pytest.mark.parametrize("text, expected", [
    ("(objectClass=top)", 9),
    ("(objectClass=2.5.6.6)", 3),
    ("(objectClass=organizationalPerson)", 3),
    ("(objectClass=noSuchClass)", 0),
    ("(numSubordinates>=2)", 3),
    ("(&(hasSubordinates=FALSE)(objectClass=organizationalUnit))", 1),
    ("(!(|(uid=*)(ou=*)(dc=*)))", 2),
    ("(subschemaSubentry=cn=subschema)", 9),
    ("(entryUUID=not a uuid)", 0),
    ("(uidNumber=1e3)", 0),
    ("(uidNumber=*1*)", 0),
    ("(uid=)", 0),
    ("(cn:dn:=staff)", 1),
    ("(dc:dn:=example)", 9),
    ("(:dn:2.5.13.2:=people)", 4),
    ("(uid:1.2.3.4.5:=ada)", 0),
    ("(uidNumber:integerMatch:=1001)", 1),
    ("(&(|(uid=ada)(uid=bruno))(!(title=chair)))", 1),
    ("(cn=*ADA OKA*)", 1),
    ("(cn=Ad*a*Oka*r)", 1),
    ("(cn=Ad*a*Oka*x)", 0),
    ("(telephoneNumber=*5550*)", 1),
    ("(mail=ADA@EXAMPLE.COM)", 1),
    ("(homeDirectory=/HOME/ada)", 0),
    ("(jpegPhoto=*)", 1),
    ("(manager=*)", 1),
    ("(manager=uid=ADA,ou=people,dc=example, dc=com)", 1),
])
def test_more_filters(reader, text, expected):
    assert count(connect(reader), text) == expected


def test_time_limit_is_kept(server):
    """A filter of a thousand items over values that are long; others are served in the meantime."""
    here = server("--threads", "1")
    connection = connect(here)
    long = b"x" * 2000
    sent = [
        connection.add(f"uid=t{number},{PEOPLE}", person(b"t%d" % number, description=[long + b"%d" % number]))
        for number in range(4000)
    ]
    for message in sent:
        connection.result(message)
    text = "(|" + "".join(f"(description=*{number}y*)" for number in range(1000)) + ")"
    began = time.monotonic()
    dear = subprocess.Popen(["ldapsearch", *here.admin, "-l", "2", "-b", SUFFIX, text, "1.1"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    longest = 0.0
    while dear.poll() is None:
        asked = time.monotonic()
        connection.whoami_s()
        longest = max(longest, time.monotonic() - asked)
    out = dear.communicate()[0]
    assert dear.returncode == 3 and "Time limit exceeded" in out, out
    assert time.monotonic() - began < 10 and longest < 1, (time.monotonic() - began, longest)


def test_limits_of_the_configuration(server, tmp_path):
    file = tmp_path / "pando.toml"
    file.write_text("[limits]\nsize = 4\ntime = 60\nidle-timeout = 1\n")
    here = server("--config", file, "--anonymous", "read")
    anonymous = connect(here, None)
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        anonymous.search_s(SUFFIX, ldap.SCOPE_SUBTREE)
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        anonymous.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=100)
    assert len(connect(here).search_s(SUFFIX, ldap.SCOPE_SUBTREE)) == 9
    # Who says nothing for a second is sent away.
    import socket

    with socket.create_connection(("127.0.0.1", here.port), PATIENCE) as client:
        received = b""
        while piece := client.recv(4096):
            received += piece
    assert b"1.3.6.1.4.1.1466.20036" in received


@pytest.mark.parametrize("threads", [1, 4])
def test_threads(server, threads):
    here = server("--threads", threads)
    connections = [connect(here) for _ in range(20)]
    for number, connection in enumerate(connections):
        connection.add_s(f"uid=t{number},{PEOPLE}", person(b"t"))
    for connection in connections:
        assert count(connection, "(cn=t)") == 20


def test_other_addresses(server):
    here = server("--listen", "ldap://[::1]:0")
    line = here.process.stdout.readline().decode()
    assert line.startswith("ready ldap://[::1]:"), line
    assert "vendorName: Pando" in run("ldapsearch", "-x", "-H", line.split()[1], "-b", "", "-s", "base", "+").out


# Faults that were mended


def test_filters_with_unknown_classes_are_undefined(fresh):
    connection = connect(fresh)
    assert count(connection, "(!(objectClass=noSuchClass))") == 0
    assert count(connection, "(!(objectClass=1.2.3.4.5))") == count(connection, "(objectClass=*)")


def test_only_integers_are_incremented(fresh):
    connection = connect(fresh)
    connection.modify_s(ADA, [(3, "uidNumber", [b"2"])])
    assert connection.compare_s(ADA, "uidNumber", b"1003")
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        connection.modify_s(ADA, [(3, "employeeNumber", [b"1"])])


def test_wide_filters(fresh):
    connection = connect(fresh)
    assert count(connection, "(|%s(uid=ada))" % "".join(f"(cn=x{n}*y*z)" for n in range(4000))) == 1
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        count(connection, "(|%s)" % ("(uid=ada)" * 17000))


def test_language_ranges(fresh):
    connection = connect(fresh)
    [(_, entry)] = connection.search_s(ADA, ldap.SCOPE_BASE, "(title;lang-de-=vorsitzende)", ["title;lang-de-"])
    assert entry == {"title;lang-de": [b"Vorsitzende"]}
    with pytest.raises(ldap.UNDEFINED_TYPE):
        connection.modify_s(ADA, [(ldap.MOD_ADD, "title;lang-fr-", [b"x"])])


def test_anonymous_clients_learn_of_no_entries(fresh):
    connection = connect(fresh, who="")
    for dn in (ADA, f"uid=none,{PEOPLE}", f"uid=none,{ADA}", f"dc=none,{SUFFIX}"):
        with pytest.raises(ldap.NO_SUCH_OBJECT) as caught:
            connection.search_s(dn, ldap.SCOPE_BASE)
        assert "matched" not in caught.value.args[0]
