"""What servers wrote while tests used them: standard error, and each log that their configuration names (row G3).

No such file may have a password that a client of the suite has proved or set a name with, a word of `data/people.ldif`, a stored password, or an access
token: as it is, in base64 or in hexadecimal digits. Passwords are collected where clients send them: python-ldap, command line tools, and `ber.ldap_bind`.
"""

import base64
import json
import re
from pathlib import Path

import ldap.ldapobject

import ber
import texts

# Shorter ones are words of any text.
SHORTEST = 8
# A password of generated users, and a word of the server's own texts.
ORDINARY = {b"password"}
# So many octets are looked through at each end of a file.
MOST = 4 << 20
# A file of a log, as configurations name it.
NAMED = re.compile(r'(?:access|security|audit)-file"?\s*=\s*"(?:file:)?([^"]+)"')
# A stored password, by the schemes that have a hash behind them; an access token: its head is an object of JSON.
STORED = re.compile(rb"\{(?:ARGON2|BCRYPT|CRYPT|PBKDF2[A-Z0-9_-]*|SCRAM-SHA-\d+|S?SHA\d*|S?MD5)\}[A-Za-z0-9+/$.=,:]{16}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.")

known = set()


def know(password):
    """A client sends this password."""
    password = password.encode() if isinstance(password, str) else bytes(password or b"")
    if len(password) >= SHORTEST and password not in ORDINARY:
        known.add(password)


def forms(word):
    """How a word may stand in a file: in base64 it may begin at any of three places."""
    yield word
    yield word.hex().encode()
    yield word.hex().upper().encode()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + word)
        # The digits at both ends depend on what is around it.
        begin, end = (before * 8 + 5) // 6, (before + len(word)) * 8 // 6
        yield text[begin:end]


def named(arguments):
    """The files of logs that configurations among these arguments name."""
    files, arguments = set(), [str(argument) for argument in arguments]
    for name, value in zip(arguments, arguments[1:]):
        if name == "--config" and Path(value).is_file():
            text = Path(value).read_text(errors="replace")
            files |= {Path(value).parent / json.loads(f'"{found}"') for found in NAMED.findall(text)}
    return files


def of(server):
    """The files that a server has written."""
    return {path for path in {Path(server.log_path)} | named(server.arguments) if path.is_file()}


def leaks_of(data):
    """What a text has that it may not have."""
    found = [match.decode() for match in STORED.findall(data)]
    words = {*known, *(word.encode() for word in texts.WORDS)}
    return found + sorted(word.decode(errors="replace") for word in words if any(form in data for form in forms(word)))


def leaks(server):
    """Where a server has written what it may not write: pairs of a file and what."""
    found = []
    for path in of(server):
        with open(path, "rb") as file:
            data = file.read(MOST)
            file.seek(max(file.tell(), path.stat().st_size - MOST))
            data += file.read(MOST)
        found += [(path.name, word) for word in leaks_of(data)]
    return found


def of_tool(command):
    """A command line tool that may have a password among its arguments."""
    # Of others `-s` is a scope, and `-a` says what becomes of aliases.
    options = ("-w", "-s", "-a") if "ldappasswd" in str(command[0]) else ("-w",)
    for option, value in zip(command, command[1:]):
        if option in options:
            know(str(value))


def install():
    """From now on passwords are collected."""
    bind = ldap.ldapobject.SimpleLDAPObject.simple_bind

    def simple_bind(self, who=None, cred=None, *arguments, **settings):
        know(cred or b"")
        return bind(self, who, cred, *arguments, **settings)

    ldap.ldapobject.SimpleLDAPObject.simple_bind = simple_bind
    change = ldap.ldapobject.SimpleLDAPObject.passwd

    def passwd(self, user, old, new, *arguments, **settings):
        [know(word or b"") for word in (old, new)]
        return change(self, user, old, new, *arguments, **settings)

    ldap.ldapobject.SimpleLDAPObject.passwd = passwd
    ber.listeners.append(know)
