"""python-ldap: OpenLDAP's library, asynchronous searches, paged results, values of megabytes, large groups."""

import ldap
import ldap.controls
import ldap.modlist
import ldap.schema
import pytest
from ldap.controls.libldap import SimplePagedResultsControl

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX

ADA = f"uid=ada,{PEOPLE}"
STAFF = f"cn=staff,ou=Groups,{SUFFIX}"


def connect(server, who=ADMIN, password=SECRET):
    """A bound connection."""
    connection = ldap.initialize(server.url)
    connection.set_option(ldap.OPT_NETWORK_TIMEOUT, PATIENCE)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.set_option(ldap.OPT_REFERRALS, 0)
    connection.simple_bind_s(who, password)
    return connection


def people(first, count):
    """A modlist for each of many entries."""
    for number in range(first, first + count):
        name = f"p{number}".encode()
        yield f"uid=p{number},{PEOPLE}", [
            ("objectClass", [b"inetOrgPerson"]), ("uid", [name]), ("cn", [name]), ("sn", [b"Many"])
        ]


def test_schema(reader):
    subschema_dn, schema = ldap.schema.urlfetch(f"{reader.url}/")
    assert subschema_dn == "cn=Subschema"
    assert schema.get_obj(ldap.schema.ObjectClass, "inetOrgPerson").sup == ("organizationalPerson",)
    assert schema.get_obj(ldap.schema.AttributeType, "surname").oid == "2.5.4.4"
    must, may = schema.attribute_types(["inetOrgPerson"])
    assert "2.5.4.4" in must and "0.9.2342.19200300.100.1.3" in may
    assert not schema.non_unique_oids and not any(len(names) for names in schema.non_unique_names.values())


def test_schema_of_an_entry(reader):
    connection = connect(reader)
    assert connection.search_subschemasubentry_s(ADA) == "cn=Subschema"
    entry = connection.read_subschemasubentry_s("cn=Subschema")
    assert len(entry["attributeTypes"]) > 150 and len(entry["objectClasses"]) > 50


@pytest.mark.parametrize("size", [1, 2, 4, 1000])
def test_paged_results_critical(reader, size):
    connection = connect(reader)
    cookie, found, pages = b"", [], 0
    while True:
        control = SimplePagedResultsControl(True, size=size, cookie=cookie)
        message = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"], serverctrls=[control])
        _, entries, _, controls = connection.result3(message)
        answer = [c for c in controls if c.controlType == SimplePagedResultsControl.controlType]
        assert len(answer) == 1 and len(entries) <= size
        found += [name for name, _ in entries]
        pages += 1
        cookie = answer[0].cookie
        if not cookie:
            break
    assert len(found) == 9 == len(set(found)) and pages == -(-9 // size)


def test_paged_search_is_given_up(reader):
    # Size 0 with a cookie ends the search: RFC 2696 3.
    connection = connect(reader)
    message = connection.search_ext(
        SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"], serverctrls=[SimplePagedResultsControl(True, 2, b"")]
    )
    cookie = connection.result3(message)[3][0].cookie
    message = connection.search_ext(
        SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"], serverctrls=[SimplePagedResultsControl(True, 0, cookie)]
    )
    _, entries, _, controls = connection.result3(message)
    assert entries == [] and controls[0].cookie == b""


@pytest.mark.parametrize("cookie", [b"x", b"\xff" * 8, b"\0" * 16, b"A" * 5000])
def test_paged_results_with_an_invented_cookie(reader, cookie):
    connection = connect(reader)
    control = SimplePagedResultsControl(True, 2, cookie)
    message = connection.search_ext(SUFFIX, ldap.SCOPE_SUBTREE, attrlist=["1.1"], serverctrls=[control])
    try:
        assert len(connection.result3(message)[1]) <= 2
    except ldap.LDAPError as error:
        assert isinstance(error, (ldap.UNWILLING_TO_PERFORM, ldap.PROTOCOL_ERROR)), error
    assert connection.whoami_s() == f"dn:{ADMIN}"


def test_compare(reader):
    connection = connect(reader)
    assert connection.compare_s(STAFF, "member", ADA.encode()) is True
    assert connection.compare_s(STAFF, "member", b"uid=none,dc=example,dc=com") is False
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        connection.compare_s(STAFF, "description", b"x")
    with pytest.raises(ldap.UNDEFINED_TYPE):
        connection.compare_s(STAFF, "noSuchType", b"x")
    with pytest.raises(ldap.NO_SUCH_OBJECT) as caught:
        connection.compare_s(f"cn=none,ou=Groups,{SUFFIX}", "member", ADA.encode())
    assert caught.value.args[0]["matched"] == f"ou=Groups,{SUFFIX}"


def test_asynchronous_requests_in_any_order(reader):
    connection = connect(reader)
    messages = [
        connection.search(PEOPLE, ldap.SCOPE_ONELEVEL, f"(uid={name})", ["uid"])
        for _ in range(100) for name in ("ada", "bruno", "none")
    ]
    for number, message in reversed(list(enumerate(messages))):
        _, entries = connection.result(message)
        assert len(entries) == (0 if number % 3 == 2 else 1)


def test_abandon(fresh):
    connection = connect(fresh)
    for name, attributes in people(0, 3000):
        connection.add(name, attributes)
    assert connection.whoami_s()
    message = connection.search(SUFFIX, ldap.SCOPE_SUBTREE)
    connection.result(message, all=0)
    connection.abandon(message)
    # The connection goes on; an id that means nothing is passed over.
    connection.abandon(12345)
    assert connection.whoami_s() == f"dn:{ADMIN}"
    assert len(connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(sn=many)", ["1.1"])) == 3000


def test_cancel(fresh):
    connection = connect(fresh)
    # 32 MB, which no buffer on the way takes: the client reads one entry, and the rest waits at the server.
    for number in range(320):
        person = [("objectClass", [b"person"]), ("sn", [b"x"]), ("description", [b"x" * 100_000])]
        connection.add_s(f"cn=long{number},{PEOPLE}", person)
    message = connection.search(SUFFIX, ldap.SCOPE_SUBTREE)
    connection.result(message, all=0)
    # The library gives up the search, and reads the answer to the cancel.
    connection.cancel_s(message)
    with pytest.raises(ldap.NO_SUCH_OPERATION):
        connection.cancel_s(12345)
    assert connection.whoami_s() == f"dn:{ADMIN}"


def test_modify(fresh):
    connection = connect(fresh)
    photo = bytes(range(256)) * 8
    connection.modify_s(ADA, [
        (ldap.MOD_ADD, "jpegPhoto", [photo]),
        (ldap.MOD_REPLACE, "title;lang-de", ["Vorsitz in Köln".encode()]),
        (ldap.MOD_ADD, "title;lang-fr", [b"Directrice"]),
        (ldap.MOD_DELETE, "cn", [b"Ada"]),
        (ldap.MOD_INCREMENT, "uidNumber", [b"41"]),
    ])
    [(_, entry)] = connection.search_s(ADA, ldap.SCOPE_BASE)
    assert entry["jpegPhoto"] == [photo] and entry["cn"] == [b"Ada Okafor"] and entry["uidNumber"] == [b"1042"]
    assert entry["title"] == [b"Chair"] and entry["title;lang-fr"] == [b"Directrice"]
    [(_, entry)] = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["title;lang-de"])
    assert entry == {"title;lang-de": ["Vorsitz in Köln".encode()]}
    # All of one request or nothing.
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        connection.modify_s(ADA, [(ldap.MOD_REPLACE, "sn", [b"Other"]), (ldap.MOD_DELETE, "description", None)])
    assert connection.compare_s(ADA, "sn", b"Okafor")


def test_times_move(fresh):
    connection = connect(fresh)
    wanted = ["entryCSN", "modifiersName", "createTimestamp", "modifyTimestamp", "entryUUID"]
    before = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=wanted)[0][1]
    connection.modify_s(ADA, [(ldap.MOD_REPLACE, "title", [b"x"])])
    after = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=wanted)[0][1]
    assert after["entryCSN"] > before["entryCSN"] and after["modifyTimestamp"] >= before["modifyTimestamp"]
    assert after["entryUUID"] == before["entryUUID"] and after["createTimestamp"] == before["createTimestamp"]
    uuid = after["entryUUID"][0].decode()
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(entryUUID={uuid})", ["1.1"]) == [(ADA, {})]


def test_modify_dn(fresh):
    connection = connect(fresh)
    connection.rename_s(ADA, "uid=ada", newsuperior=f"ou=Empty,{SUFFIX}")
    connection.rename_s(f"uid=ada,ou=Empty,{SUFFIX}", "uid=eve", delold=0)
    [(name, entry)] = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(uid=eve)", ["uid"])
    assert name == f"uid=eve,ou=Empty,{SUFFIX}" and sorted(entry["uid"]) == [b"ada", b"eve"]


def test_rename_with_an_escaped_name(fresh):
    connection = connect(fresh)
    connection.rename_s(ADA, r"cn=Okafor\2C Ada \+ \22x\22 \#1", delold=0)
    [(name, entry)] = connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=ada)", ["cn"])
    assert b'Okafor, Ada + "x" #1' in entry["cn"]
    assert connection.search_s(name, ldap.SCOPE_BASE, attrlist=["1.1"]) == [(name, {})]


def test_a_value_of_two_megabytes(fresh):
    connection = connect(fresh)
    photo = bytes(number * 7 % 251 for number in range(2 * 1024 * 1024))
    connection.modify_s(ADA, [(ldap.MOD_REPLACE, "jpegPhoto", [photo])])
    [(_, entry)] = connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["jpegPhoto"])
    assert entry["jpegPhoto"] == [photo]
    assert connection.compare_s(ADA, "sn", b"okafor")
    connection.modify_s(ADA, [(ldap.MOD_REPLACE, "description", [b"small"])])
    assert connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["jpegPhoto"])[0][1]["jpegPhoto"] == [photo]
    connection.modify_s(ADA, [(ldap.MOD_DELETE, "jpegPhoto", None)])
    assert connection.search_s(ADA, ldap.SCOPE_BASE, attrlist=["jpegPhoto"])[0][1] == {}


def test_a_group_of_20000(fresh):
    connection = connect(fresh)
    members = [f"uid=m{number},{PEOPLE}".encode() for number in range(20000)]
    group = f"cn=all,ou=Groups,{SUFFIX}"
    connection.add_s(group, [("objectClass", [b"groupOfNames"]), ("cn", [b"all"]), ("member", members)])
    [(_, entry)] = connection.search_s(group, ldap.SCOPE_BASE)
    assert sorted(entry["member"]) == sorted(members)
    connection.modify_s(group, [(ldap.MOD_ADD, "member", [ADA.encode()])])
    connection.modify_s(group, [(ldap.MOD_DELETE, "member", [members[7777]])])
    with pytest.raises(ldap.TYPE_OR_VALUE_EXISTS):
        connection.modify_s(group, [(ldap.MOD_ADD, "member", [ADA.upper().encode()])])
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        connection.modify_s(group, [(ldap.MOD_DELETE, "member", [members[7777]])])
    assert connection.compare_s(group, "member", ADA.upper().encode())
    assert not connection.compare_s(group, "member", members[7777])
    found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(member={members[19999].decode()})", ["1.1"])
    assert found == [(group, {})]
    [(_, entry)] = connection.search_s(group, ldap.SCOPE_BASE, attrlist=["member"])
    expected = set(members) - {members[7777]} | {ADA.encode()}
    assert set(entry["member"]) == expected and len(entry["member"]) == 20000
    # Many at once.
    connection.modify_s(group, [(ldap.MOD_DELETE, "member", members[:5000])])
    assert len(connection.search_s(group, ldap.SCOPE_BASE)[0][1]["member"]) == 15000
    connection.modify_s(group, [(ldap.MOD_REPLACE, "member", [ADA.encode()])])
    assert connection.search_s(group, ldap.SCOPE_BASE)[0][1]["member"] == [ADA.encode()]
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
        connection.modify_s(group, [(ldap.MOD_DELETE, "member", [ADA.encode()])])


def test_thousands_of_pipelined_writes(fresh):
    connection = connect(fresh)
    messages = [connection.add(name, attributes) for name, attributes in people(0, 2000)]
    for message in messages:
        assert connection.result(message)[0] == ldap.RES_ADD
    messages = [connection.delete(name) for name, _ in people(0, 2000)]
    for message in messages:
        assert connection.result(message)[0] == ldap.RES_DELETE
    assert connection.search_s(PEOPLE, ldap.SCOPE_BASE, attrlist=["numSubordinates"])[0][1] == {
        "numSubordinates": [b"3"]
    }


def test_who_am_i_after_a_failed_bind_is_anonymous(reader):
    # RFC 4513 4: a failed bind leaves the session anonymous.
    connection = connect(reader)
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        connection.simple_bind_s(ADA, "wrong")
    assert connection.whoami_s() == ""


def test_sasl_is_refused(reader):
    connection = ldap.initialize(reader.url)
    with pytest.raises((ldap.AUTH_UNKNOWN, ldap.LDAPError)) as caught:
        connection.sasl_non_interactive_bind_s("EXTERNAL")
    assert not isinstance(caught.value, ldap.SERVER_DOWN)
    with pytest.raises(ldap.PROTOCOL_ERROR):
        connection.protocol_version = 2
        connection.simple_bind_s(ADMIN, SECRET)


def test_time_limit_and_size_limit(reader):
    connection = connect(reader)
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        connection.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=3)
    assert len(connection.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, timeout=30, sizelimit=100)) == 9
