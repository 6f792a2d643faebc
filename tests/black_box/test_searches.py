"""Searches as a sceptic asks for them: what is selected, extensible matches, what is abandoned, what ends with the server."""

import os
import signal
import socket
import struct
import threading
import time

import ldap
import pytest

from ber import ldap_bind, tlv
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, run, wait_for
from test_process import NOTICE_OF_DISCONNECTION

ADA = f"uid=ada,{PEOPLE}"
USER = {"objectClass", "uid", "cn", "sn", "givenName", "title", "title;lang-de", "mail", "telephoneNumber", "employeeNumber",
        "uidNumber", "gidNumber", "homeDirectory"}
OPERATIONAL = {"entryUUID", "entryDN", "entryCSN", "createTimestamp", "creatorsName", "modifyTimestamp", "modifiersName",
               "structuralObjectClass", "subschemaSubentry", "hasSubordinates", "numSubordinates", "memberOf"}


# Selection (RFC 4511 section 4.5.1.8)


@pytest.mark.parametrize("asked, expected", [
    ([], USER),
    (["*"], USER),
    (["+"], OPERATIONAL),
    (["*", "+"], USER | OPERATIONAL),
    (["+", "*", "cn"], USER | OPERATIONAL),
    (["1.1"], set()),
    (["1.1", "1.1"], set()),
    # 1.1 with others is passed over.
    (["1.1", "*"], USER),
    (["+", "1.1"], OPERATIONAL),
    (["1.1", "cn"], {"cn"}),
    (["cn", "CN", "2.5.4.3", "commonName"], {"cn"}),
    (["*", "entryUUID"], USER | {"entryUUID"}),
    (["+", "sn"], OPERATIONAL | {"sn"}),
    (["name"], {"cn", "sn", "givenName", "title", "title;lang-de"}),
    (["name;lang-de"], {"title;lang-de"}),
    (["title"], {"title", "title;lang-de"}),
    (["title;lang-de", "title"], {"title", "title;lang-de"}),
    (["TITLE;LANG-DE"], {"title;lang-de"}),
    (["title;lang-fr"], set()),
    (["noSuchType"], set()),
    (["noSuchType", "cn"], {"cn"}),
    (["not an attribute", "cn"], {"cn"}),
    (["@person"], {"objectClass", "cn", "sn", "telephoneNumber"}),
    (["@noSuchClass"], set()),
    (["@posixAccount", "mail"], {"objectClass", "cn", "uid", "uidNumber", "gidNumber", "homeDirectory", "mail"}),
    (["jpegPhoto"], set()),
    # Secrets are not there for others.
    (["userPassword"], set()),
    (["userPassword", "cn"], {"cn"}),
])
@pytest.mark.parametrize("types_only", [0, 1])
def test_selection(reader, asked, expected, types_only):
    connection = connect(reader, None)
    message = connection.search_ext(ADA, ldap.SCOPE_BASE, "(objectClass=*)", asked, types_only)
    [(dn, found)] = connection.result3(message)[1]
    assert dn == ADA and set(found) == expected
    assert all((values == []) == bool(types_only) for values in found.values()), found


@pytest.mark.parametrize("dn", ["", "cn=Subschema", "cn=Time,cn=Monitor"])
def test_types_only_of_the_servers_own_entries(reader, dn):
    connection = connect(reader, None)
    message = connection.search_ext(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"], 1)
    [(_, types)] = connection.result3(message)[1]
    [(_, entry)] = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=["*", "+"])
    assert set(types) == set(entry) and not any(types.values()) and all(entry.values())


# Extensible match (RFC 4511 section 4.5.1.7.7)


@pytest.mark.parametrize("text, expected", [
    ("(ou:dn:=people)", 4), ("(ou:dn:caseExactMatch:=People)", 4), ("(ou:dn:caseExactMatch:=people)", 0),
    ("(:dn:caseIgnoreMatch:=PEOPLE)", 4), ("(:dn:2.5.13.5:=People)", 4), ("(dc:dn:=com)", 9), ("(2.5.4.11:dn:=people)", 4),
    ("(name:dn:=people)", 4), ("(uid:dn:=ada)", 1), ("(cn:dn:=Ada)", 1), ("(ou:dn:=nobody)", 0), ("(!(ou:dn:=people))", 5),
    ("(&(ou:dn:=people)(title:=chair))", 1), ("(cn:caseExactMatch:=Ada)", 1), ("(cn:2.5.13.5:=ada)", 0),
    ("(:caseExactMatch:=Finance)", 1), ("(:integerMatch:=1001)", 1), ("(uidNumber:integerOrderingMatch:=1002)", 1),
    (f"(:distinguishedNameMatch:={ADA.upper()})", 2), ("(objectClass:=person)", 3), ("(hasSubordinates:=TRUE)", 3),
    ("(telephoneNumber:caseIgnoreMatch:=+49 30 5550 100)", 1), ("(telephoneNumber:telephoneNumberMatch:=+49305550100)", 1),
    ("(jpegPhoto:octetStringMatch:=\\ff\\d8\\ff\\e0\\00\\10JFIF\\00\\01\\01)", 1),
    # What cannot be judged is undefined, and its negation is too.
    ("(uid:integerMatch:=1)", 0), ("(!(uid:integerMatch:=1))", 0), ("(mail:integerMatch:=1)", 0), ("(!(ou:dn:booleanMatch:=TRUE))", 0), ("(uid:1.2.3.4:=ada)", 0), ("(!(uid:1.2.3.4:=ada))", 0),
    ("(noSuchType:dn:=x)", 0), ("(!(noSuchType:dn:=x))", 0), ("(uidNumber:=x)", 0), ("(!(uidNumber:=x))", 0),
    ("(|(noSuchType:=x)(uid:=bruno))", 1),
])
def test_extensible_match(reader, text, expected):
    found = connect(reader, ADMIN).search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"])
    assert len(found) == expected, found


def test_the_dn_counts_though_the_entry_says_nothing(fresh):
    connection = connect(fresh, ADMIN)
    connection.add_s(f"cn=a+sn=b,{ADA}", [("objectClass", [b"person"]), ("cn", [b"a"]), ("sn", [b"b"])])
    for text, expected in (("(uid:dn:=ada)", 2), ("(sn:dn:=b)", 1), ("(&(uid:dn:=ada)(!(uid=*)))", 1), ("(uid=ada)", 1)):
        assert len(connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"])) == expected, text


# Preparation of strings (RFC 4518)


@pytest.mark.parametrize("text, expected", [
    ("(cn=  ADA   okafor  )", 1), ("(cn=adaokafor)", 0), ("(cn=Ada\u00a0Okafor)", 1), ("(cn=A\u00adda Okafor)", 1),
    ("(cn=\uff21da)", 1), ("(cn=Chloe\u0301 Dubois)", 1), ("(cn=CHLO\u00c9*)", 1), ("(ou=\uff30eople)", 1),
    ("(telephoneNumber=+493055-50 100)", 1), ("(telephoneNumber=+49 30 5550 101)", 0), ("(homeDirectory=/HOME/ADA)", 0),
    ("(cn=ada*)", 1), ("(cn=*  OKAFOR*)", 1), ("(cn=*ada okafor)", 1), ("(mail=*@EXAMPLE.com)", 3),
])
def test_prepared_strings(reader, text, expected):
    assert len(connect(reader, None).search_s(SUFFIX, ldap.SCOPE_SUBTREE, text, ["1.1"])) == expected


# Abandon (RFC 4511 section 4.11), and the end of the server


def read_until(client, last):
    """All that comes until a message with this id."""
    received = bytearray()
    while last not in received:
        piece = client.recv(1 << 16)
        assert piece, bytes(received[-200:])
        received += piece
    return bytes(received)


def request(number, operation):
    """An LDAPMessage."""
    return tlv(0x30, tlv(2, bytes([number])) + operation)


def search(base, filter_bytes, attributes=b"", scope=2):
    return tlv(0x63, tlv(4, base.encode()) + bytes([0x0A, 1, scope]) + bytes.fromhex("0a0100020100020100010100") + filter_bytes + tlv(0x30, attributes))


PRESENT = tlv(0x87, b"objectClass")
WHO_AM_I = tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3"))


def bound(server):
    """A raw socket that the administrator has bound, as message 1."""
    client = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    client.sendall(ldap_bind(ADMIN.encode(), SECRET.encode()))
    assert b"\x0a\x01\x00" in client.recv(100)
    return client


def fill(server, entries, size):
    """So many people with a description of so many bytes each."""
    connection = connect(server, ADMIN)
    text = os.urandom(size // 2).hex().encode()
    sent = [connection.add(f"uid=f{n},{PEOPLE}", [("objectClass", [b"inetOrgPerson"]), ("uid", [b"f%d" % n]), ("cn", [b"x"]), ("sn", [b"x"]),
                                                 ("description", [text + b"%d" % n])]) for n in range(entries)]
    for message in sent:
        connection.result(message)


def test_a_search_whose_entries_wait_is_abandoned(fresh):
    """The client takes nothing until it has abandoned: the search is in the middle, and never ends with a result."""
    fill(fresh, 3000, 8000)
    with bound(fresh) as client:
        client.sendall(request(2, search(SUFFIX, PRESENT)))
        first = client.recv(100)
        assert first
        client.sendall(request(3, b"\x50\x01\x02") + request(4, WHO_AM_I))
        received = first + read_until(client, b"\x02\x01\x04\x78")
        # 24 MB were there to be sent; what came is what lay in buffers. There is no searchResultDone of it.
        assert len(received) < 20 << 20 and b"\x02\x01\x02\x65" not in received
        assert received.endswith(ADMIN.encode())
        # The id can be used again.
        client.sendall(request(2, search(ADA, PRESENT, scope=0)))
        assert b"\x02\x01\x02\x64" in read_until(client, b"\x02\x01\x02\x65")


def test_a_search_that_finds_nothing_yet_is_abandoned(server):
    """Dear and without an entry to send: it stops all the same, and the monitor counts it as done."""
    here = server("--threads", "1")
    fill(here, 2000, 2000)
    items = b"".join(tlv(0xA4, tlv(4, b"description") + tlv(0x30, tlv(0x81, b"%dy" % n))) for n in range(1000))
    dear = request(2, search(SUFFIX, tlv(0xA1, items)))
    monitor = connect(here, ADMIN)

    def under_way():
        [(_, entry)] = monitor.search_s("cn=Search,cn=Operations,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorOpInitiated", "monitorOpCompleted"])
        return int(entry["monitorOpInitiated"][0]) - int(entry["monitorOpCompleted"][0])

    # The asking itself may count.
    idle = under_way()
    with bound(here) as client:
        client.sendall(dear)
        wait_for(lambda: under_way() > idle)
        client.sendall(request(3, b"\x50\x01\x02") + request(4, WHO_AM_I))
        received = read_until(client, b"\x02\x01\x04\x78")
        assert b"\x02\x01\x02" not in received
        wait_for(lambda: under_way() == idle)
    # A client that leaves abandons too: with an unbind, or with a connection that breaks. One that only says that it will
    # send no more is still owed an answer.
    for last in (request(5, b"\x42\x00"), None):
        with bound(here) as client:
            client.sendall(dear)
            wait_for(lambda: under_way() > idle)
            if last:
                client.sendall(last)
            else:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_for(lambda: under_way() == idle)


def test_only_ones_own_searches_are_abandoned(fresh):
    fill(fresh, 1000, 4000)
    with bound(fresh) as client, bound(fresh) as other:
        client.sendall(request(2, search(SUFFIX, PRESENT)))
        other.sendall(request(3, b"\x50\x01\x02") + request(4, WHO_AM_I))
        read_until(other, b"\x02\x01\x04\x78")
        # Neither does abandoning what is none, nor an abandon of itself.
        client.sendall(request(5, b"\x50\x01\x63") + request(6, b"\x50\x01\x06"))
        assert read_until(client, b"\x02\x01\x02\x65").count(b"\x02\x01\x02\x64") == 1009


def test_updates_in_flight_are_answered_before_the_end(fresh):
    """Thousands of adds in one stream and a signal in the middle: answers come in order, without a gap, then the notice."""
    with bound(fresh) as client:
        def add(number):
            attributes = b"".join(tlv(0x30, tlv(4, name) + tlv(0x31, tlv(4, value))) for name, value in (
                (b"objectClass", b"device"), (b"cn", b"d%d" % number)))
            return tlv(0x30, tlv(2, number.to_bytes(3, "big")) + tlv(0x68, tlv(4, f"cn=d{number},{PEOPLE}".encode()) + tlv(0x30, attributes)))

        stream = b"".join(add(number) for number in range(0x10000, 0x10000 + 20000))

        def send():
            try:
                client.sendall(stream)
            except OSError:
                pass

        sender = threading.Thread(target=send)
        sender.start()
        received = bytearray(client.recv(1000))
        fresh.process.send_signal(signal.SIGTERM)
        try:
            while piece := client.recv(1 << 16):
                received += piece
        except ConnectionResetError:
            pass
        sender.join(PATIENCE)
    answer = tlv(0x30, b"\x02\x03\x01\x00\x00\x69\x07\x0a\x01\x00\x04\x00\x04\x00")
    answers = received.count(b"\x69\x07\x0a\x01\x00\x04\x00\x04\x00")
    expected = b"".join(answer.replace(b"\x01\x00\x00", (0x10000 + number).to_bytes(3, "big"), 1) for number in range(answers))
    assert answers > 0 and bytes(received).startswith(expected), (answers, bytes(received[:100]))
    rest = bytes(received[len(expected):])
    assert rest == b"" or NOTICE_OF_DISCONNECTION in rest, rest
    assert fresh.process.wait(PATIENCE) == 0


# What is said


@pytest.mark.parametrize("base, matched", [
    (f"uid=none,{PEOPLE}", PEOPLE), (f"cn=a,cn=b,cn=c,{ADA}", ADA), (f"ou=none,{SUFFIX}", SUFFIX),
    (f"UID=None,OU=PEOPLE,{SUFFIX}", PEOPLE), ("dc=elsewhere", ""), ("dc=com", ""),
])
def test_what_is_there_of_a_name_that_is_not(reader, base, matched):
    connection = connect(reader, ADMIN)
    for ask in (lambda: connection.search_s(base, ldap.SCOPE_SUBTREE), lambda: connection.compare_s(base, "cn", b"x"),
                lambda: connection.delete_s(base), lambda: connection.modify_s(base, [(ldap.MOD_REPLACE, "title", [b"x"])])):
        with pytest.raises((ldap.NO_SUCH_OBJECT, ldap.UNWILLING_TO_PERFORM, ldap.REFERRAL)) as caught:
            ask()
        told = caught.value.args[0]
        assert told.get("info"), told
        if isinstance(caught.value, ldap.NO_SUCH_OBJECT):
            assert told.get("matched", "").lower() == matched.lower(), told


def test_limits_are_told(reader):
    tool = run("ldapsearch", "-x", "-H", reader.url, "-b", SUFFIX, "-z", "1", "1.1", code=4)
    assert "size limit" in tool.said.lower()
    for arguments, code, word in ((["-b", "no dn"], 34, "attribute=value"), (["-e", "!1.2.3", "-b", SUFFIX], 12, "1.2.3")):
        tool = run("ldapsearch", "-x", "-H", reader.url, *arguments, code=code)
        assert word in tool.said.split("text:")[-1], tool
