"""Do two kinds of requests take the same time? Pairs of them in turn, and a rank test, which a few slow answers do not move."""

import base64
import hashlib
import math
import socket
import time

from ber import integer, ldap_bind, tlv
from conftest import PEOPLE, SUFFIX

WORD = "the right word"
KINDS = ("wrong", "absent", "without", "locked", "expired")
# Guesses that are sent together.
AT_ONCE = 50
POLICY = f"cn=policy,{SUFFIX}"


def rank_test(ones, others):
    """Mann-Whitney's test of two samples: how likely such ranks are if both have one distribution (two-sided, by the normal approximation),
    and how likely one of the first is above one of the second. Times in nanoseconds are hardly ever equal.
    """
    ranked = sorted([(value, 1) for value in ones] + [(value, 0) for value in others])
    ranks = sum(rank for rank, (_, is_one) in enumerate(ranked, 1) if is_one)
    count, other = len(ones), len(others)
    above = ranks - count * (count + 1) / 2
    deviation = math.sqrt(count * other * (count + other + 1) / 12)
    return math.erfc(abs(above - count * other / 2) / deviation / math.sqrt(2)), above / (count * other)


def pairs(asks, count, chance):
    """Nanoseconds that each of some questions takes, `count` times. Each round asks all, in an order of its own, so that what else the machine
    does meets all of them. A question is asked with the number of its round.
    """
    times = {name: [] for name in asks}
    order = list(asks)
    for number in range(count):
        chance.shuffle(order)
        for name in order:
            begin = time.perf_counter_ns()
            asks[name](number)
            times[name].append(time.perf_counter_ns() - begin)
    return times


def stored(form, number):
    """What is stored of the word: with {SSHA}, or as `form` is."""
    if form != "SSHA":
        return form
    salt = number.to_bytes(8, "big")
    return "{SSHA}" + base64.b64encode(hashlib.sha1(WORD.encode() + salt).digest() + salt).decode()


def directory(path, forms, accounts):
    """A file with accounts of every kind whose bind fails, their passwords stored in these forms in turn."""
    lines = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n", f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n",
             f"dn: {POLICY}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\npwdLockout: TRUE\n"
             "pwdMaxFailure: 1000000\npwdMaxAge: 1000000\n"]
    changed = time.strftime("%Y%m%d%H%M%SZ", time.gmtime())
    for kind in KINDS:
        if kind == "absent":
            continue
        for number in range(accounts):
            entry = f"dn: uid={kind}{number},{PEOPLE}\nobjectClass: account\nobjectClass: extensibleObject\nuid: {kind}{number}\n"
            if kind != "without":
                entry += f"userPassword: {stored(forms[number % len(forms)], number)}\n"
            if kind == "locked":
                entry += "pwdAccountLockedTime: 000001010000Z\n"
            if kind != "without":
                # A password that was set has its time, whatever comes of a bind.
                entry += f"pwdChangedTime: {'20200101000000Z' if kind == 'expired' else changed}\n"
            lines.append(entry)
    path.write_text("\n".join(lines))




class Client:
    """A connection by which requests are sent and answers awaited."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(1 << 16)

    def ask(self, requests, expected, answers=1):
        """Sends a request, or several at once, and waits until there are so many answers with some octets in them: for ever
        if others come, which the timeout ends.
        """
        self.socket.sendall(requests)
        size = found = 0
        while found < answers:
            # Not `recv`, which looks for texts (texts.py).
            more = self.socket.recv_into(memoryview(self.buffer)[size:])
            assert more, (requests, bytes(self.buffer[:size]))
            size += more
            found = self.buffer.count(expected, 0, size)


def binds(client, kinds, accounts):
    """A question for each kind: a bind that fails, of another account each time."""
    def of(kind):
        word = WORD if kind in ("locked", "expired") else "a wrong word"
        requests = [ldap_bind(f"uid={kind}{number},{PEOPLE}".encode(), word.encode()) for number in range(accounts)]
        return lambda number: client.ask(requests[number % accounts], b"\x0a\x01\x31")

    return {kind: of(kind) for kind in kinds}


def people(path, count):
    """A file with people who each have a number."""
    lines = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n", f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n"]
    lines += [f"dn: uid=u{n},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: u\nsn: u\nuserPassword: {WORD}\nemployeeNumber: {n:06}\n" for n in range(count)]
    path.write_text("\n".join(lines))


def bind_as(client, number):
    client.ask(ldap_bind(f"uid=u{number},{PEOPLE}".encode(), WORD.encode()), b"\x0a\x01\x00")


def guesses(client, count):
    """Searches that find nothing: right and wrong guesses at a number, and guesses at an attribute that nobody has. Many at once, as somebody sends
    them who wants to see what one takes: the way to the server and back takes longer than a search.
    """
    def of(name, first):
        def request(number):
            assertion = tlv(0xA3, tlv(4, name), tlv(4, f"{first + number:06}".encode()))
            search = tlv(0x63, tlv(4, SUFFIX.encode()), tlv(0x0A, b"\2"), tlv(0x0A, b"\0"), integer(0), integer(0), tlv(1, b"\0"), assertion, tlv(0x30))
            return tlv(0x30, integer(1), search)

        requests = [b"".join(request((number + step) % count) for step in range(AT_ONCE)) for number in range(count)]
        return lambda number: client.ask(requests[number % count], b"\x65\x07\x0a\x01\x00", AT_ONCE)

    return {"right": of(b"employeeNumber", 0), "wrong": of(b"employeeNumber", 500_000), "absent": of(b"carLicense", 0)}
