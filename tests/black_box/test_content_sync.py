"""Content synchronisation (RFC 4533) and persistent search, as ldapsearch asks for them."""

import os
import re
import select
import socket
import subprocess
import time

import ldap

from ber import integer, tlv
from conftest import PATIENCE, SUFFIX, connect, run, wait_for
from test_searches import bound, fill, search

PEOPLE = f"ou=People,{SUFFIX}"


class Following:
    """An ldapsearch that goes on."""

    def __init__(self, server, *arguments):
        command = ["ldapsearch", *server.admin, "-o", "ldif_wrap=no", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.text = ""

    def until(self, words):
        """What it prints up to these words."""
        end = time.monotonic() + PATIENCE
        while words not in self.text:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert readable, f"no {words!r} in {self.text}"
            read = os.read(self.process.stdout.fileno(), 65536).decode()
            assert read, self.text
            self.text += read
        seen, self.text = self.text.split(words, 1)
        return seen + words

    def end(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def person(name, **others):
    given = {"objectClass": [b"inetOrgPerson"], "cn": [name.encode()], "sn": [b"x"], **others}
    return f"cn={name},{PEOPLE}", list(given.items())


def test_ldapsearch_follows_changes(fresh):
    """`-E sync=rp`: what there is, then what changes; `-E sync=ro` from its cookie."""
    admin = connect(fresh)
    following = Following(fresh, "-b", PEOPLE, "-E", "!sync=rp", "(sn=*)", "description")
    first = following.until("refresh done")
    assert f"dn: uid=ada,{PEOPLE}\n" in first and first.count(" added\n") == 3, first
    dn, given = person("new")
    admin.add_s(dn, given)
    following.until(f"dn: {dn}\n")
    admin.modify_s(dn, [(ldap.MOD_REPLACE, "description", b"one")])
    following.until("description: one\n")
    admin.delete_s(dn)
    following.until("no longer match the search\n")
    following.end()

    def refreshed(base, *arguments):
        return run("ldapsearch", *fresh.admin, "-o", "ldif_wrap=no", *arguments, "-b", base, "(sn=*)", "1.1").out

    cookie = cookie_of(refreshed(PEOPLE, "-E", "!sync=ro"))
    admin.add_s(dn, given)
    again = refreshed(PEOPLE, "-E", f"!sync=ro/{cookie}")
    assert again.count("\ndn: ") == 1 and f"dn: {dn}" in again and cookie_of(again) != cookie, again
    assert "result: 4096" in refreshed(SUFFIX, "-E", f"!sync=ro/{cookie}")


def cookie_of(text):
    """The cookie at the end of a synchronisation."""
    return re.findall(r"(rid=\S+)", text)[-1]


def test_ldapsearch_is_notified_of_changes(fresh):
    """`-E ps=...`: types of changes, and what was done."""
    admin = connect(fresh)
    following = Following(fresh, "-b", PEOPLE, "-E", "!ps=15/0/1", "(sn=x)", "cn")
    dn, given = person("first")
    admin.add_s(dn, given)
    following.until(f"dn: {dn}\n")
    dn, given = person("new")
    admin.add_s(dn, given)
    following.until(f"dn: {dn}\n")
    following.until("persistentSearch: add\n")
    admin.modify_s(dn, [(ldap.MOD_REPLACE, "description", b"one")])
    following.until("persistentSearch: modify\n")
    admin.rename_s(dn, "cn=other")
    following.until("persistentSearch: moddn")
    admin.delete_s(f"cn=other,{PEOPLE}")
    following.until("persistentSearch: delete\n")
    following.end()


def test_clients_that_do_not_read_hold_little_and_are_sent_away(server, tmp_path):
    """Each client has a connection that is full, in the middle of what was changed. When it reads again the search ends with e-syncRefreshRequired."""
    config = tmp_path / "pando.toml"
    config.write_text('[limits]\nchange-memory = "64KiB"\n')
    here = server("--config", config)
    people = 1500
    fill(here, people, 8000)
    sync = tlv(0xA0, tlv(0x30, tlv(4, b"1.3.6.1.4.1.4203.1.9.1.1"), tlv(1, b"\xff"), tlv(4, tlv(0x30, tlv(10, b"\x03")))))
    asked = tlv(0x30, integer(2), search(PEOPLE, tlv(0x87, b"sn")), sync)
    # A message of information ends the refresh.
    clients = [bound(here) for _ in range(8)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.sendall(asked)
        last = b""
        while b"1.3.6.1.4.1.4203.1.9.1.4" not in last:
            last = last[-100:] + client.recv(1 << 20)
    admin = connect(here)
    for text in (b"one", b"two", b"three", b"four", b"five", b"six", b"seven", b"eight", b"nine"):
        sent = [admin.modify(f"uid=f{n},{PEOPLE}", [(ldap.MOD_REPLACE, "title", [text])]) for n in range(people)]
        for message in sent:
            admin.result(message)

    def shown(name, attribute):
        found = admin.search_s(name, ldap.SCOPE_BASE, attrlist=[attribute])
        return int(found[0][1][attribute][0])

    # The connection gives up what it holds when it has seen that it is full.
    wait_for(lambda: shown("cn=Held,cn=Memory,cn=Monitor", "monitorCounter") == 0)
    assert shown("cn=client-memory,cn=Limits,cn=Monitor", "monitoredInfo") < len(clients) << 20
    for client in clients:
        with client:
            last = b""
            while not (end := re.search(rb"\x02\x01\x02\x65.(.{4})", last, re.DOTALL)):
                piece = client.recv(1 << 20)
                assert piece, last[-200:]
                last = last[-100:] + piece
            assert end[1] == b"\x0a\x02\x10\x00", last[-200:]
