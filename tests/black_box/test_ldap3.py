"""ldap3 for Python: a codec of its own, and a client that reads the whole schema before the first request."""

import ldap3
import pytest
from ldap3.core.exceptions import LDAPEntryAlreadyExistsResult, LDAPNoSuchObjectResult

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX

ADA = f"uid=ada,{PEOPLE}"


def connect(server, strategy=ldap3.SYNC, **settings):
    """A bound connection that has read root DSE and schema."""
    place = ldap3.Server("127.0.0.1", port=server.port, get_info=ldap3.ALL, connect_timeout=PATIENCE)
    return ldap3.Connection(place, ADMIN, SECRET, auto_bind=True, client_strategy=strategy,
                            receive_timeout=PATIENCE, **settings)


def test_root_dse_and_schema(reader):
    info = connect(reader).server
    assert info.info.naming_contexts == [SUFFIX] and info.info.supported_ldap_versions == ["3"]
    assert info.info.vendor_name == ["Pando"]
    classes, types = info.schema.object_classes, info.schema.attribute_types
    assert classes["inetOrgPerson"].superior == ["organizationalPerson"]
    assert types["cn"].oid == ["2.5.4.3"] or types["cn"].oid == "2.5.4.3"
    # Every name that a definition refers to is there.
    for each in classes.values():
        for name in (each.must_contain or []) + (each.may_contain or []):
            assert name in types, f"{each.name}: {name}"
        for name in each.superior or []:
            assert name in classes, f"{each.name}: {name}"
    for each in types.values():
        for name in each.superior or []:
            assert name in types, f"{each.name}: {name}"
        for rule in (each.equality or []) + (each.ordering or []) + (each.substring or []):
            assert rule in info.schema.matching_rules, f"{each.name}: {rule}"
        if each.syntax:
            assert each.syntax in info.schema.ldap_syntaxes, f"{each.name}: {each.syntax}"


def test_values_have_their_types(reader):
    connection = connect(reader)
    assert connection.search(ADA, "(objectClass=*)", ldap3.BASE, attributes=["*", "+"])
    entry = connection.entries[0]
    assert entry.uidNumber.value == 1001 and entry.createTimestamp.value.year >= 2024
    assert str(entry.entryUUID) and entry.sn.value == "Okafor"


def test_paged_search_critical(reader):
    connection = connect(reader)
    found = connection.extend.standard.paged_search(
        SUFFIX, "(objectClass=*)", attributes=["1.1"], paged_size=2, paged_criticality=True, generator=False
    )
    assert len(found) == 9


def test_add_modify_rename_delete(fresh):
    connection = connect(fresh, raise_exceptions=True)
    name = f"cn=eva ä\\, x,{PEOPLE}"
    connection.add(name, ["inetOrgPerson"], {"cn": "eva ä, x", "sn": "ä", "jpegPhoto": b"\x00\xff\x80"})
    with pytest.raises(LDAPEntryAlreadyExistsResult):
        connection.add(name, ["inetOrgPerson"], {"cn": "eva ä, x", "sn": "ä"})
    connection.modify(name, {
        "sn": [(ldap3.MODIFY_ADD, ["ö", "ü"]), (ldap3.MODIFY_DELETE, ["Ä"])],
        "description;lang-de": [(ldap3.MODIFY_REPLACE, ["groß"])],
        "employeeNumber": [(ldap3.MODIFY_REPLACE, ["7"])],
    })
    connection.search(name, "(description;lang-de=GROSS)", ldap3.BASE, attributes=["sn", "jpegPhoto"])
    connection.search(name, "(sn=Ü)", ldap3.BASE, attributes=["sn", "jpegPhoto"])
    assert sorted(connection.entries[0].sn.values) == ["ö", "ü"]
    assert connection.response[0]["raw_attributes"]["jpegPhoto"] == [b"\x00\xff\x80"]
    connection.modify_dn(name, "cn=eva", new_superior=f"ou=Empty,{SUFFIX}")
    assert connection.compare(f"cn=eva,ou=Empty,{SUFFIX}", "cn", "EVA")
    connection.delete(f"cn=eva,ou=Empty,{SUFFIX}")
    with pytest.raises(LDAPNoSuchObjectResult) as caught:
        connection.delete(f"cn=eva,ou=Empty,{SUFFIX}")
    assert caught.value.dn == f"ou=Empty,{SUFFIX}" and caught.value.message


def test_asynchronous_and_abandon(reader):
    connection = connect(reader, ldap3.ASYNC)
    messages = [connection.search(SUFFIX, "(objectClass=person)", attributes=["cn"]) for _ in range(50)]
    connection.abandon(messages[-1])
    for message in messages[:-1]:
        answer, result = connection.get_response(message, timeout=PATIENCE)
        assert len(answer) == 3 and result["result"] == 0
    # With a timeout its thread would take the closed socket for one that is slow, and ask it again and again for as long as this process runs.
    connection.receive_timeout = None
    receiver = connection.strategy.receiver
    connection.unbind()
    receiver.join(PATIENCE)
    assert not receiver.is_alive(), "the thread of the connection goes on"


def test_escaped_filters(reader):
    connection = connect(reader)
    from ldap3.utils.conv import escape_filter_chars

    for text in ("a*b", "(", ")", "\\", "\0", "é"):
        connection.search(SUFFIX, f"(cn={escape_filter_chars(text)})")
        assert connection.result["result"] == 0
    assert connection.search(SUFFIX, "(cn=Chloé*)") and len(connection.entries) == 1


def test_abstraction_layer(fresh):
    connection = connect(fresh)
    person = ldap3.ObjectDef("inetOrgPerson", connection)
    reader = ldap3.Reader(connection, person, PEOPLE, "uid: ada")
    reader.search()
    writable = reader[0].entry_writable()
    writable.title += "Pilot"
    writable.mail = "new@example.com"
    assert writable.entry_commit_changes()
    connection.search(ADA, "(&(title=pilot)(mail=new@example.com))", ldap3.BASE)
    assert len(connection.entries) == 1


def test_password_is_never_returned(reader):
    place = ldap3.Server("127.0.0.1", port=reader.port, get_info=ldap3.NONE)
    connection = ldap3.Connection(place, ADA, "ada's password", auto_bind=True)
    connection.search(SUFFIX, "(objectClass=*)", attributes=["*", "+", "userPassword"])
    assert len(connection.response) == 9
    assert all(not each["raw_attributes"].get("userPassword") for each in connection.response)
