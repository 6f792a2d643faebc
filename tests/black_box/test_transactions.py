"""Transactions (RFC 5805) with ldapmodify, python-ldap, ldap3 and the UnboundID SDK, in memory and through the log, and
what of them outlives a kill.
"""

import ldap
import ldap3
import pytest
from ldap.controls import RequestControl
from ldap.controls.libldap import AssertionControl, SimplePagedResultsControl
from ldap.extop import ExtendedRequest

from conftest import ADMIN, DATA, PANDO, PEOPLE, SECRET, SUFFIX, connect, run
from test_unboundid import JAR

START, SPECIFICATION, END = "1.3.6.1.1.21.1", "1.3.6.1.1.21.2", "1.3.6.1.1.21.3"
ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
CANCELED = 118

needs_unboundid = pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")


@pytest.fixture(params=["memory", "data"])
def here(request, server, tmp_path):
    """A server with the small directory."""
    return server(**({"data": tmp_path / "data"} if request.param == "data" else {}))


def value(server, attribute, dn=ADA):
    """The first value of an attribute; None if there is no such attribute, or entry."""
    out = server.search("-b", SUFFIX, f"(entryDN={dn})", attribute).out
    return next((line.split(": ", 1)[1] for line in out.splitlines() if line.startswith(f"{attribute}: ")), None)


# ldapmodify

BUNDLE = f"""
dn: {ADA}
changetype: modify
replace: title
title: Pilot

dn: uid=new,{PEOPLE}
changetype: add
objectClass: inetOrgPerson
cn: New
sn: One

dn: uid=new,{PEOPLE}
changetype: modify
replace: sn
sn: Two

dn: uid=new,{PEOPLE}
changetype: modrdn
newrdn: uid=newer
deleteoldrdn: 1

dn: {BRUNO}
changetype: delete
"""


def test_ldapmodify_commits(here):
    said = here.modify(BUNDLE, "-E", "txn=commit").said
    assert said.count("modifying entry") == 2 and "error" not in said.lower(), said
    assert (value(here, "title"), value(here, "sn", f"uid=newer,{PEOPLE}")) == ("Pilot", "Two")
    assert value(here, "uid", BRUNO) is None


def test_ldapmodify_aborts(here):
    here.modify(BUNDLE, "-E", "txn=abort")
    assert (value(here, "title"), value(here, "uid", BRUNO)) == ("Chair", "bruno")
    assert value(here, "sn", f"uid=newer,{PEOPLE}") is None


@pytest.mark.parametrize("more", [[], ["-c"]])
def test_ldapmodify_with_an_update_that_is_refused(here, more):
    """Without -c it goes away; with -c it goes on and asks for the commit all the same."""
    refused = here.modify(BUNDLE.replace(BRUNO, f"uid=nobody,{PEOPLE}"), "-E", "txn=commit", *more, code=None)
    assert refused.code == 32 and "No such object" in refused.said, refused
    assert (value(here, "title"), value(here, "sn", f"uid=newer,{PEOPLE}")) == ("Chair", None)


# python-ldap


def end_value(identifier, commit=True):
    body = (b"" if commit else b"\x01\x01\x00") + bytes([4, len(identifier)]) + identifier
    return bytes([0x30, len(body)]) + body


def begin(connection):
    """The identifier of a new transaction, and the control that names it."""
    name, identifier = connection.extop_s(ExtendedRequest(START, None))
    assert name is None and identifier
    return identifier, RequestControl(SPECIFICATION, True, identifier)


def end(connection, identifier, commit=True):
    return connection.extop_s(ExtendedRequest(END, end_value(identifier, commit)))


def replace(attribute, word):
    return [(ldap.MOD_REPLACE, attribute, [word.encode()])]


def test_python_ldap(here):
    mine, other = connect(here), connect(here)
    first, in_first = begin(mine)
    second, in_second = begin(mine)
    mine.modify_ext_s(ADA, replace("title", "Pilot"), [in_first])
    mine.modify_ext_s(BRUNO, replace("title", "Cook"), [in_second])
    assert value(here, "title") == "Chair"
    assert end(mine, first) == (None, None)
    assert (value(here, "title"), value(here, "title", BRUNO)) == ("Pilot", "Finance")
    assert end(mine, second, commit=False) == (None, None)
    assert value(here, "title", BRUNO) == "Finance"
    with pytest.raises(ldap.LDAPError) as gone:
        end(other, first)
    assert gone.value.args[0]["result"] == CANCELED


def test_python_ldap_compares_and_sets(here):
    """Two clients have read the same; the one that commits second is told, and nothing of its transaction happened."""
    clients = [connect(here), connect(here)]
    begun = [begin(client) for client in clients]
    still = AssertionControl(True, "(title=Chair)")
    for number, (client, (_, inside)) in enumerate(zip(clients, begun)):
        client.modify_ext_s(BRUNO, replace("title", f"Cook {number}"), [inside])
        client.modify_ext_s(ADA, replace("title", f"Pilot {number}"), [inside, still])
    end(clients[1], begun[1][0])
    with pytest.raises(ldap.ASSERTION_FAILED):
        end(clients[0], begun[0][0])
    assert (value(here, "title"), value(here, "title", BRUNO)) == ("Pilot 1", "Cook 1")


def test_a_bind_gives_them_up(here):
    client = connect(here)
    identifier, inside = begin(client)
    client.modify_ext_s(ADA, replace("title", "Pilot"), [inside])
    client.simple_bind_s(ADMIN, SECRET)
    with pytest.raises(ldap.LDAPError) as gone:
        client.modify_ext_s(ADA, replace("title", "Cook"), [inside])
    assert gone.value.args[0]["result"] == CANCELED
    assert value(here, "title") == "Chair"


def test_the_extensions_are_switched_on_line(here):
    """An identifier that the client chose begins a transaction, and what has no control belongs to it."""
    client = connect(here)
    mine = RequestControl(SPECIFICATION, True, b"mine")
    with pytest.raises(ldap.LDAPError) as unknown:
        client.modify_ext_s(ADA, replace("title", "Pilot"), [mine])
    assert unknown.value.args[0]["result"] == CANCELED
    client.modify_s("cn=config", replace("pandoTxnImplicitBegin", "on") + replace("pandoTxnImplicitMembership", "on"))
    client.modify_ext_s(ADA, replace("title", "Pilot"), [mine])
    client.modify_s(BRUNO, replace("title", "Cook"))
    assert (value(here, "title"), value(here, "title", BRUNO)) == ("Chair", "Finance")
    end(client, b"mine")
    assert (value(here, "title"), value(here, "title", BRUNO)) == ("Pilot", "Cook")


def test_searches_inside_are_switched_on_line(here):
    """With the control a search or compare sees its transaction; without, and from outside, nobody does."""
    client, other = connect(here), connect(here)
    identifier, inside = begin(client)

    def names(connection, text, controls=None):
        found = connection.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"], serverctrls=controls)
        return sorted(dn for dn, _ in found)

    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
        names(client, "(uid=ada)", [inside])
    client.modify_s("cn=config", replace("pandoTxnSearch", "on"))
    client.modify_ext_s(ADA, replace("title", "Pilot"), [inside])
    client.rename_s(BRUNO, "uid=bruce", serverctrls=[inside])
    client.rename_s(PEOPLE, "ou=Crew", serverctrls=[inside])
    crew = PEOPLE.replace(PEOPLE.split(",")[0], "ou=Crew")
    assert names(client, "(title=Pilot)", [inside]) == [f"uid=ada,{crew}"]
    assert names(client, "(title=Chair)", [inside]) == []
    assert names(client, "(|(uid=bruce)(uid=bruno))", [inside]) == [f"uid=bruce,{crew}"]
    before = names(other, "(objectClass=person)")
    assert sorted(dn.replace(PEOPLE, crew) for dn in before) == sorted(
        dn.replace("uid=bruce", "uid=bruno") for dn in names(client, "(objectClass=person)", [inside]))
    assert client.compare_ext_s(f"uid=ada,{crew}", "title", "Pilot", serverctrls=[inside])
    for outside in client, other:
        assert names(outside, "(title=Pilot)") == [] and names(outside, "(uid=bruno)") == [BRUNO]
        assert not outside.compare_s(ADA, "title", "Pilot")
    with pytest.raises(ldap.LDAPError) as gone:
        names(other, "(uid=ada)", [inside])
    assert gone.value.args[0]["result"] == CANCELED
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        names(client, "(uid=ada)", [inside, SimplePagedResultsControl(True, 1, "")])
    inside_before_the_end = names(client, "(objectClass=*)", [inside])
    end(client, identifier)
    assert names(other, "(objectClass=*)") == inside_before_the_end


# ldap3


def test_ldap3_is_told_the_culprit(here):
    server = ldap3.Server(here.url, get_info=ldap3.NONE)
    with ldap3.Connection(server, ADMIN, SECRET, auto_bind=True) as client:
        assert client.extended(START), client.result
        identifier = client.result["responseValue"]
        inside = [(SPECIFICATION, True, identifier)]
        assert client.modify(ADA, {"title": [(ldap3.MODIFY_REPLACE, ["Pilot"])]}, controls=inside)
        assert not client.modify(f"uid=nobody,{PEOPLE}", {"title": [(ldap3.MODIFY_REPLACE, ["x"])]}, controls=inside)
        culprit = ldap3.Server._message_counter
        assert not client.extended(END, end_value(identifier), no_encode=True)
        assert client.result["result"] == 32
        told = client.result["responseValue"]
        assert (told[0], told[2], int.from_bytes(told[4:], "big")) == (0x30, 2, culprit)
    assert value(here, "title") == "Chair"


# UnboundID


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The compiled cases."""
    folder = tmp_path_factory.mktemp("classes")
    run("javac", "-cp", JAR, "-d", folder, DATA / "Transactions.java", timeout=120)
    return folder


def case(name, server, classes, who=ADMIN, password=SECRET):
    """What a case of `Transactions.java` sees."""
    out = run("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{JAR}:{classes}", "Transactions", name, server.port, who,
              password, ADA, timeout=120).out
    return out.splitlines()


@needs_unboundid
@pytest.mark.parametrize("name, title", [("commit", "Pilot"), ("abort", "Chair"), ("leave", "Chair")])
def test_unboundid(here, classes, name, title):
    said = case(name, here, classes)
    assert said == ["start 0 null", "update 0", "update 0"] + ["end 0 null"] * (name != "leave")
    assert (value(here, "title"), value(here, "sn")) == (title, "Lovelace" if title == "Pilot" else "Okafor")


@needs_unboundid
def test_unboundid_and_what_is_refused(here, classes):
    said = case("refused", here, classes)
    assert said == ["start 0 null", "update 0", "update 32", "update 0", "end 32 null", "culprit true", f"matched {ADA}"]
    assert (value(here, "title"), value(here, "sn")) == ("Chair", "Okafor")
    said = case("late", here, classes)
    assert said == ["start 0 null", "update 0", "update 0", "update 0", "end 16 null", "culprit true"]
    assert (value(here, "title"), value(here, "givenName")) == ("Chair", "Augusta")
    assert case("unknown", here, classes) == [f"end {CANCELED} null"]


@needs_unboundid
def test_unboundid_reads_what_was_before_and_after(here, classes):
    said = case("reads", here, classes)
    assert said == ["start 0 null", "update 0", "update 0", "update 0", "early 0", "end 0 null", "failed -1 updates 2",
                    "plain null", "before Chair", "after Pilot", "before Pilot", "after Captain"]


@needs_unboundid
def test_unboundid_acts_as_another_from_the_start(here, classes):
    """Who is acted for may not write; said on an update it is a protocol error."""
    said = case("proxied", here, classes)
    assert said == ["start 0 null", "update 50", "end 50 null", "start 0 null", "update 2", "end 0 null"]


@needs_unboundid
def test_unboundid_gets_the_notice(server, classes):
    here = server("--txn-age-max", "500")
    said = case("age", here, classes)
    assert said == ["start 0 null", "update 0", "notice 3 true", f"update {CANCELED}", f"end {CANCELED} null"]
    assert value(here, "title") == "Chair"


# The log


def test_what_was_committed_outlives_a_kill(keep):
    here = keep(ldif="people.ldif")
    here.modify(BUNDLE, "-E", "txn=commit")
    mine = connect(here)
    identifier, inside = begin(mine)
    for number in range(100):
        mine.modify_ext_s(ADA, replace("description", str(number)), [inside])
        mine.add_ext_s(f"uid=n{number},{PEOPLE}",
                       [("objectClass", [b"inetOrgPerson"]), ("cn", [b"x"]), ("sn", [b"y"])], [inside])
    end(mine, identifier)
    identifier, inside = begin(mine)
    mine.modify_ext_s(ADA, replace("description", "never"), [inside])
    mine.delete_ext_s(f"uid=n0,{PEOPLE}", [inside])
    here.kill()
    dump = run(PANDO, "dump", "--data", keep.data).out
    records = [line for line in dump.splitlines() if line.startswith("# command ") and ", a transaction" in line]
    assert len(records) == 2, "each is one record, and what was not committed is none"
    here = keep()
    assert (value(here, "title"), value(here, "sn", f"uid=newer,{PEOPLE}")) == ("Pilot", "Two")
    assert (value(here, "description"), value(here, "uid", BRUNO)) == ("99", None)
    assert len(here.search("-b", PEOPLE, "(uid=n*)", "1.1").dns) == 101


def test_one_client_goes_before_another(server, tmp_path):
    """Row D80: two clients that may write; the provisioning of the one gives way to the switch of the other."""
    here = server("--write-dn", ADA, "--write-dn", BRUNO, "--txn-precedence", f"7:{BRUNO}", data=tmp_path / "data")
    here.modify("".join(f"dn: {dn}\nchangetype: modify\nreplace: userPassword\nuserPassword: secret\n\n" for dn in (ADA, BRUNO)))
    low, high = (connect(here, dn) for dn in (ADA, BRUNO))
    _, inside = begin(low)
    low.modify_ext_s(PEOPLE, replace("description", "low"), [inside])
    high.modify_s(PEOPLE, replace("description", "high"))
    with pytest.raises(ldap.LDAPError) as gone:
        low.modify_ext_s(PEOPLE, replace("description", "late"), [inside])
    assert gone.value.args[0]["result"] == CANCELED
    assert value(here, "description", PEOPLE) == "high"
