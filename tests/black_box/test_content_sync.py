"""Content synchronisation (RFC 4533) and persistent search, as ldapsearch asks for them."""

import os
import re
import select
import subprocess
import time

import ldap

from conftest import PATIENCE, SUFFIX, connect, run

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
