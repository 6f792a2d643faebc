"""What the server said to the clients of a test besides results: matchedDN and diagnosticMessage (row X11).

Every octet that Python's sockets receive is looked through for results of LDAP, so tests with raw bytes and ldap3 need do nothing for it; errors
of python-ldap and what command line tools print are looked through too. After each test no text may have a secret of its directories: a stored
password, a word of `data/people.ldif`, or a value that has CANARY in it.
"""

import re
import socket
import ssl
import weakref

import ldap.ldapobject

from ber import head

# A test puts it into values that its clients may not read, and into names that they may not know.
CANARY = "canary-"
WORDS = ("ada's password", "bruno's password")
# A stored password: a scheme, and as much behind it as a hash has.
STORED = re.compile(r"\{[A-Za-z0-9_-]+\}[A-Za-z0-9+/$.=,:]{16}")
# Responses with a result (RFC 4511 section 4.1.9), by their tags.
RESULTS = {0x61, 0x65, 0x67, 0x69, 0x6B, 0x6D, 0x6F, 0x78}
# No result of this server is longer.
LONGEST = 1 << 16
# How tools show a text or a matchedDN.
SHOWN = re.compile(r"^[#\s]*(?:additional info(?:rmation)?|matched ?dn|text|diagnostic message)\s*:\s*(.+)", re.IGNORECASE | re.MULTILINE)

# Pairs of who received a text and the text, of the test that runs.
received = set()


def note(client, *texts):
    for text in texts:
        received.add((client, text.decode(errors="replace") if isinstance(text, bytes) else str(text)))


def leaks():
    """The texts that tell a secret."""
    return sorted(pair for pair in received if CANARY in pair[1] or STORED.search(pair[1]) or any(word in pair[1] for word in WORDS))


def note_message(client, message):
    """A whole message, of which a result is noted."""
    try:
        _, at, _ = head(message, 0)
        _, _, at = head(message, at)
        tag, at, _ = head(message, at)
        if tag not in RESULTS:
            return
        _, _, at = head(message, at)
        for _ in range(2):
            tag, begin, at = head(message, at)
            assert tag == 4
            note(client, message[begin:at])
    except (TypeError, AssertionError):
        note(client, message)


class Stream:
    """What a socket has received, cut into messages. What is no LDAP is let be."""

    def __init__(self):
        self.data, self.skip, self.is_ldap = b"", 0, True

    def feed(self, client, data):
        if not self.is_ldap:
            return
        skipped = min(self.skip, len(data))
        self.skip -= skipped
        self.data += data[skipped:]
        while found := head(self.data, 0):
            tag, _, end = found
            if tag != 0x30:
                self.is_ldap, self.data = False, b""
            elif end <= len(self.data):
                note_message(client, self.data[:end])
                self.data = self.data[end:]
            elif end > LONGEST:
                self.skip, self.data = end - len(self.data), b""
            else:
                return


streams = weakref.WeakKeyDictionary()


def listen(kind, method, is_clear):
    """Has what a method of sockets returns looked through, where the socket `is_clear`."""
    original = getattr(kind, method)

    def receive(self, *arguments, **settings):
        data = original(self, *arguments, **settings)
        if is_clear(self) and isinstance(data, bytes):
            streams.setdefault(self, Stream()).feed("a socket", data)
        return data

    setattr(kind, method, receive)


def of_tool(tool):
    """What a command line tool printed."""
    note("a tool", *(found.strip() for found in SHOWN.findall(tool.said)))


def install():
    """From now on texts are received."""
    listen(socket.socket, "recv", lambda socket: not isinstance(socket, ssl.SSLSocket) or socket._sslobj is None)
    listen(ssl.SSLSocket, "recv", lambda socket: socket._sslobj is not None)
    call = ldap.ldapobject.SimpleLDAPObject._ldap_call

    def noting(self, function, *arguments, **settings):
        try:
            return call(self, function, *arguments, **settings)
        except ldap.LDAPError as error:
            said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
            note("python-ldap", said.get("info", ""), said.get("matched", ""))
            raise

    ldap.ldapobject.SimpleLDAPObject._ldap_call = noting
