"""The very requests that well-known applications send, read from their sources."""

import time

import ldap
import pytest
from ldap.controls.libldap import SimplePagedResultsControl
from ldap.controls.simple import ManageDSAITControl

from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, wait_for

ADA = f"uid=ada,{PEOPLE}"


def open_connection(server, who="", password=""):
    """A connection of protocol version 3, bound if a name is given."""
    connection = ldap.initialize(server.url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    if who:
        connection.simple_bind_s(who, password)
    return connection


def root_dse(server, *attributes):
    """The root DSE's attributes, read anonymously."""
    connection = open_connection(server)
    [(name, entry)] = connection.search_s("", ldap.SCOPE_BASE, "(objectclass=*)", list(attributes))
    assert name == ""
    return entry


# The root DSE

TELLS = {
    "objectClass", "namingContexts", "defaultNamingContext", "subschemaSubentry", "supportedLDAPVersion",
    "supportedControl", "supportedExtension", "supportedFeatures", "vendorName", "vendorVersion", "monitorContext",
}


def test_root_dse_is_the_same_however_it_is_asked(server):
    here = server()
    everything = root_dse(here, "*", "+")
    assert TELLS <= set(everything), TELLS - set(everything)
    assert root_dse(here, *everything) == everything
    for name in everything:
        assert root_dse(here, name) == {name: everything[name]}
    assert {**root_dse(here, "*"), **root_dse(here, "+")} == everything
    # What there is not is not claimed.
    for name in ("supportedSASLMechanisms", "altServer", "lastUSN", "changelog", "domainControllerFunctionality"):
        assert name not in everything or everything[name], name
    assert b"1.3.6.1.4.1.1466.20037" not in everything["supportedExtension"]


def test_claims_are_true(server):
    here = server()
    claims = root_dse(here, "+")
    connection = open_connection(here, ADMIN, SECRET)
    for oid in (b"1.2.840.113556.1.4.319", b"2.16.840.1.113730.3.4.2"):
        assert oid in claims["supportedControl"]
    # A control that is not listed is refused when critical.
    from ldap.controls import RequestControl

    for oid in ("1.2.840.113556.1.4.473", "1.3.6.1.1.12", "1.2.826.0.1.3344810.2.3"):
        if oid.encode() not in claims["supportedControl"]:
            with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
                connection.search_ext_s(SUFFIX, ldap.SCOPE_BASE, serverctrls=[RequestControl(oid, True, b"0\0")])
    for feature in claims["supportedFeatures"]:
        assert feature.decode() in {
            "1.3.6.1.1.14", "1.3.6.1.4.1.4203.1.5.1", "1.3.6.1.4.1.4203.1.5.2", "1.3.6.1.4.1.4203.1.5.3",
            "1.3.6.1.4.1.4203.1.5.4", "1.3.6.1.4.1.4203.1.5.5",
        }


# SSSD


def test_sssd(reader):
    entry = root_dse(
        reader, "*", "altServer", "namingContexts", "supportedControl", "supportedExtension", "supportedFeatures",
        "supportedLDAPVersion", "supportedSASLMechanisms", "domainControllerFunctionality", "defaultNamingContext",
        "lastUSN", "highestCommittedUSN",
    )
    assert entry["defaultNamingContext"] == [SUFFIX.encode()] and "domainControllerFunctionality" not in entry
    connection = open_connection(reader, ADA, "ada's password")
    wanted = ["objectClass", "uid", "userPassword", "uidNumber", "gidNumber", "gecos", "homeDirectory", "loginShell",
              "krbPrincipalName", "cn", "memberOf", "modifyTimestamp", "entryUSN", "shadowLastChange",
              "pwdAttribute", "authorizedService", "host", "nsAccountLock", "loginDisabled", "sshPublicKey",
              "userCertificate;binary", "mail"]
    user = "(&(uid=ada)(objectclass=posixAccount)(uid=*)(&(uidNumber=*)(!(uidNumber=0))))"
    [(name, entry)] = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, user, wanted)
    assert name == ADA and entry["uidNumber"] == [b"1001"] and entry["modifyTimestamp"]
    # Worked out from the groups, and the same by a filter, as `ldap_access_filter` has it.
    [(group, _)] = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(member={ADA})", ["1.1"])
    assert entry["memberOf"] == [group.encode()]
    for text in (f"(memberOf={group})", f"(isMemberOf={group})", f"(memberOf:1.2.840.113556.1.4.1941:={group})"):
        assert ADA in [dn for dn, _ in connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"])], text
    page = SimplePagedResultsControl(False, size=1000, cookie=b"")
    message = connection.search_ext(
        SUFFIX, ldap.SCOPE_SUBTREE, "(&(objectclass=posixAccount)(uid=*)(uidNumber=*)(gidNumber=*))", wanted,
        serverctrls=[page],
    )
    _, entries, _, controls = connection.result3(message)
    assert len(entries) == 2 and controls[0].cookie == b""
    # Refresh by time: newer than, and not equal.
    [newest] = [entry["modifyTimestamp"][0].decode()]
    refresh = f"(&(objectclass=posixAccount)(uid=*)(modifyTimestamp>={newest})(!(modifyTimestamp={newest})))"
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, refresh, ["1.1"]) == []
    # Groups, after RFC 2307 and after 2307bis.
    for text in (
        "(&(memberUid=ada)(objectClass=posixGroup)(cn=*)(&(gidNumber=*)(!(gidNumber=0))))",
        f"(&(member={ADA})(objectClass=groupOfNames)(cn=*))",
        f"(&(objectClass=posixGroup)(|(memberUid=ada)(member={ADA})))",
    ):
        assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["cn"])) == 1, text
    # Sudo and autofs rules that this schema does not know match nothing, and harm nothing.
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(&(objectClass=sudoRole)(|(sudoUser=ALL)(sudoUser=ada)))") == []
    assert connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(&(objectClass=nisMap)(nisMapName=auto.master))") == []


def test_sssd_refreshes_by_number(keep):
    here = keep(ldif="people.ldif")
    last = int(root_dse(here, "*", "lastUSN")["lastUSN"][0])
    root = open_connection(here, ADMIN, SECRET)
    newer = "(&(objectclass=posixAccount)(uid=*)(entryUSN>={0})(!(entryUSN={0})))"
    assert root.search_s(SUFFIX, ldap.SCOPE_SUBTREE, newer.format(last), ["1.1"]) == []
    root.modify_s(ADA, [(ldap.MOD_REPLACE, "gecos", [b"Augusta Ada"])])
    [(name, entry)] = root.search_s(SUFFIX, ldap.SCOPE_SUBTREE, newer.format(last), ["entryUSN"])
    assert name == ADA and int(entry["entryUSN"][0]) == int(root_dse(here, "lastUSN")["lastUSN"][0]) > last
    # The numbers are those of the log: a start after a kill, and one after an end, come to the same.
    here.kill()
    for _ in range(2):
        here = keep()
        root = open_connection(here, ADMIN, SECRET)
        assert root.search_s(ADA, ldap.SCOPE_BASE, attrlist=["entryUSN"])[0][1] == entry
        assert root_dse(here, "lastUSN")["lastUSN"] == entry["entryUSN"]
        here.end()


def test_behera_control_on_bind(reader):
    from ldap.controls.ppolicy import PasswordPolicyControl

    connection = open_connection(reader)
    connection.simple_bind_s(ADA, "ada's password", serverctrls=[PasswordPolicyControl()])
    assert connection.whoami_s() == f"dn:{ADA}"


# Keycloak


def test_keycloak(server):
    here = server("--index", "entryUUID:eq", "--index", "modifyTimestamp:eq,ord", "--index", "uid:eq")
    entry = root_dse(here, "supportedControl", "supportedExtension", "supportedFeatures")
    assert set(entry) == {"supportedControl", "supportedExtension", "supportedFeatures"}
    connection = open_connection(here, ADMIN, SECRET)
    wanted = ["uid", "cn", "sn", "mail", "entryUUID", "createTimestamp", "modifyTimestamp", "objectclass"]
    text = "(&(objectclass=inetOrgPerson)(objectclass=organizationalPerson))"
    cookie, uuids, rounds = b"", {}, 0
    while True:
        controls = [SimplePagedResultsControl(True, 2, cookie), ManageDSAITControl(False)]
        message = connection.search_ext(PEOPLE, ldap.SCOPE_ONELEVEL, text, wanted, serverctrls=controls)
        _, entries, _, answers = connection.result3(message)
        uuids.update({entry["entryUUID"][0].decode(): name for name, entry in entries})
        [answer] = answers
        cookie, rounds = answer.cookie, rounds + 1
        if not cookie:
            break
    assert len(uuids) == 3 and rounds == 2
    for uuid, name in uuids.items():
        found = connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, f"(&(entryUUID={uuid}){text})", ["uid"])
        assert [each for each, _ in found] == [name]
        assert len(connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, f"(entryUUID={uuid.upper()})", ["1.1"])) == 1
    changed = "(&(|(createTimestamp>=20200101000000Z)(modifyTimestamp>=20200101000000.0Z))" + text + ")"
    assert len(connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, changed, ["1.1"])) == 3
    ids = "(|" + "".join(f"(uid=u{number})" for number in range(63)) + "(uid=ada))"
    assert len(connection.search_s(PEOPLE, ldap.SCOPE_SUBTREE, f"(&{ids}{text})", ["1.1"])) == 1
    open_connection(here, ADA, "ada's password").unbind_s()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        open_connection(here, ADA, "x")


def test_paging_control_is_answered_on_size_limit_and_on_errors(reader):
    connection = open_connection(reader, ADMIN, SECRET)
    message = connection.search_ext(
        f"ou=None,{SUFFIX}", ldap.SCOPE_SUBTREE, serverctrls=[SimplePagedResultsControl(True, 2, b"")]
    )
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        connection.result3(message)
    message = connection.search_ext(
        SUFFIX, ldap.SCOPE_SUBTREE, sizelimit=3, serverctrls=[SimplePagedResultsControl(True, 100, b"")]
    )
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED) as caught:
        while True:
            connection.result3(message, all=0)
    assert any(control[0] == "1.2.840.113556.1.4.319" for control in caught.value.args[0].get("ctrls", [])), caught.value


# Apache Directory Studio


def test_directory_studio(reader):
    entry = root_dse(
        reader, "namingContexts", "subschemaSubentry", "supportedLDAPVersion", "supportedSASLMechanisms",
        "supportedExtension", "supportedControl", "supportedFeatures", "vendorName", "vendorVersion", "+",
    )
    assert entry["vendorName"] == [b"Pando"] and root_dse(reader, "*")["objectClass"]
    subschema = entry["subschemaSubentry"][0].decode()
    connection = open_connection(reader)
    wanted = ["objectClasses", "attributeTypes", "ldapSyntaxes", "matchingRules", "matchingRuleUse",
              "createTimestamp", "modifyTimestamp"]
    [(_, entry)] = connection.search_s(subschema, ldap.SCOPE_BASE, "(objectClass=subschema)", wanted)
    assert set(entry) == set(wanted)
    again = connection.search_s(subschema, ldap.SCOPE_BASE, "(objectClass=subschema)", ["modifyTimestamp"])
    assert again[0][1]["modifyTimestamp"] == entry["modifyTimestamp"]
    # The tree, a level at a time.
    level = connection.search_ext_s(
        SUFFIX, ldap.SCOPE_ONELEVEL, "(objectClass=*)", ["hasSubordinates", "objectClass"],
        serverctrls=[ManageDSAITControl(False)],
    )
    shown = {name: entry["hasSubordinates"] for name, entry in level}
    assert shown[f"ou=Empty,{SUFFIX}"] == [b"FALSE"] and shown[PEOPLE] == [b"TRUE"]
    for text in ("(|(objectClass=subentry)(objectClass=ldapSubentry))", "(&(objectClass=alias))", "(objectClass=referral)"):
        assert connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, text, ["1.1"]) == []


# phpLDAPadmin, LAM, web2ldap


def test_php_ldap_admin(reader):
    entry = root_dse(reader, "+", "*")
    subschema = entry["subschemaSubentry"][0].decode()
    connection = open_connection(reader)
    for name in ("objectClasses", "attributeTypes", "ldapSyntaxes", "matchingRules", "matchingRuleUse"):
        [(_, found)] = connection.search_s(subschema, ldap.SCOPE_BASE, "(objectClass=*)", [name])
        assert set(found) == {name}
    parents = connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, "(hasSubordinates=TRUE)", ["1.1"])
    assert sorted(name for name, _ in parents) == [f"ou=Groups,{SUFFIX}", PEOPLE]
    leaves = connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, "(hasSubordinates=FALSE)", ["numSubordinates"])
    assert leaves == [(f"ou=Empty,{SUFFIX}", {"numSubordinates": [b"0"]})]
    assert connection.search_s(SUFFIX, ldap.SCOPE_ONELEVEL, "(!(hasSubordinates=TRUE))", ["1.1"]) == [(leaves[0][0], {})]
    assert b"1.3.6.1.4.1.4203.1.5.4" in entry["supportedFeatures"]
    [(_, suffix)] = connection.search_s(SUFFIX, ldap.SCOPE_BASE, attrlist=["subschemaSubentry"])
    assert suffix == {"subschemaSubentry": [subschema.encode()]}


# Monitoring


def figure(connection, dn, name):
    """A number of the monitor."""
    return int(connection.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0][1][name][0])


def test_monitor_exporter(fresh):
    connection = open_connection(fresh, ADMIN, SECRET)
    for text, name, entry in (
        ("(objectClass=monitoredObject)", "monitoredInfo", "cn=Uptime,cn=Time,cn=Monitor"),
        ("(objectClass=monitorCounterObject)", "monitorCounter", "cn=Current,cn=Connections,cn=Monitor"),
        ("(objectClass=monitorCounterObject)", "monitorCounter", "cn=Bytes,cn=Statistics,cn=Monitor"),
        ("(objectClass=monitorOperation)", "monitorOpCompleted", "cn=Search,cn=Operations,cn=Monitor"),
    ):
        found = dict(connection.search_s("cn=Monitor", ldap.SCOPE_SUBTREE, text, ["dn", name]))
        assert int(found[entry][name][0]) >= 0, found
        # Every number is one.
        for each, attributes in found.items():
            if name != "monitoredInfo":
                assert attributes[name][0].isdigit(), each
    # The monitor is measured at most every tenth of a second: asked until it has moved.
    start = figure(connection, "cn=Search,cn=Operations,cn=Monitor", "monitorOpCompleted")
    for _ in range(10):
        connection.search_s(SUFFIX, ldap.SCOPE_BASE)
    wait_for(lambda: figure(connection, "cn=Search,cn=Operations,cn=Monitor", "monitorOpCompleted") >= start + 10)
    others = [open_connection(fresh, ADMIN, SECRET) for _ in range(5)]
    current = "cn=Current,cn=Connections,cn=Monitor"
    wait_for(lambda: figure(connection, current, "monitorCounter") == 6)
    for other in others:
        other.unbind_s()
    wait_for(lambda: figure(connection, current, "monitorCounter") == 1)


def test_monitor_is_not_for_anonymous_clients(server):
    connection = open_connection(server())
    with pytest.raises((ldap.NO_SUCH_OBJECT, ldap.INSUFFICIENT_ACCESS)):
        connection.search_s("cn=Monitor", ldap.SCOPE_SUBTREE)
