"""C, with everything off: instructions of a request on two builds of the server, under callgrind.

usage: tests/measure/instructions.py BEFORE AFTER [OPERATION...], with the interpreter of target/venv; BEFORE and AFTER name release binaries. It needs valgrind.

The root DN asks, over plain TCP, a directory in memory of a thousand users; no log, no rules, no policy. That of a durable operation has a log, and
each bundle of 100 is a parcel of it. A number is the difference of two runs with
COUNT and twice as many requests, in bundles of 100, divided by COUNT: what is done once does not count, and all threads do. `import` is a whole bulk load of USERS
entries, less one of half as many. Two runs of one binary differ by half a percent; with a tenth of
the requests it was 8, for a start varies by more than they take. An aim of the requirements is 102 % at most.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import callgrind  # noqa: E402
from ber import integer, ldap_bind, tlv  # noqa: E402
from callgrind import counted  # noqa: E402
from conftest import ADMIN, PEOPLE, SECRET, SUFFIX  # noqa: E402
from policy_costs import Client, modify, name, ssha  # noqa: E402
from test_tls import search  # noqa: E402

COUNT = 20_000
QUEUE = 100
USERS = 1000
HASHED = ssha("a long word", b"salt").encode()


def add(at, number, *more):
    attributes = [(b"objectClass", b"inetOrgPerson"), (b"uid", b"n%d" % number), (b"cn", b"New %d" % number), (b"sn", b"New"), (b"mail", b"n%d@example.com" % number), *more]
    listed = b"".join(tlv(0x30, tlv(4, kind), tlv(0x31, tlv(4, value))) for kind, value in attributes)
    return tlv(0x30, integer(at), tlv(0x68, tlv(4, f"uid=n{number},{PEOPLE}".encode()), tlv(0x30, listed)))


OPERATIONS = {
    "base search": lambda at, number: search(at, name(number % USERS), 0, [b"1.1"]),
    "base search, all attributes": lambda at, number: search(at, name(number % USERS), 0),
    "modify": lambda at, number: modify(at, number % USERS),
    "add without a secret": add,
    "durable modify": lambda at, number: modify(at, number % USERS),
    "durable add": add,
    "add of a hashed value": lambda at, number: add(at, number, (b"userPassword", HASHED)),
}


def ldif(path, users):
    with open(path, "w") as out:
        out.write(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n\n")
        for number in range(users):
            out.write(f"dn: uid=u{number},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: u{number}\ncn: User {number}\nsn: {number}\nmail: u{number}@example.com\n"
                      f"carLicense: {number:032}\ndescription: one of many\ndescription: {number * 7}\n\n")
    return path


def served(folder, binary, request, count, *arguments, durable=False):
    """Instructions of a server that is asked so many requests."""
    def ask(port):
        client = Client(port)
        client.ask(ldap_bind(ADMIN.encode(), SECRET.encode()), 1)
        # The same values each time: their lengths are a part of the work.
        random.seed(17)
        for begin in range(0, count, QUEUE):
            client.ask(b"".join(request(at % 100 + 1, begin + at) for at in range(QUEUE)), QUEUE)

    storage = ("--data", folder / os.urandom(8).hex()) if durable else ("--memory",)
    return counted(callgrind.served(binary, folder, *arguments, root=ADMIN, suffix=SUFFIX, storage=storage), ask=ask)


def of_request(folder, binary, request, *arguments, durable=False):
    """Instructions of one request, on a server that is started with these arguments."""
    once, twice = (served(folder, binary, request, count, *arguments, durable=durable) for count in (COUNT, 2 * COUNT))
    return (twice - once) / COUNT


def of_operation(folder, binary, operation):
    return of_request(folder, binary, OPERATIONS[operation], durable=operation.startswith("durable"))


def of_import(folder, binary):
    def load(users):
        data = folder / f"{os.urandom(8).hex()}"
        return counted([binary, "import", "--data", data, "--suffix", SUFFIX, ldif(folder / "load.ldif", users)])

    return (load(20 * USERS) - load(10 * USERS)) / (10 * USERS)


def main(before, after, *wanted):
    print("| instructions of the server | before | after | after / before |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "password").write_text(SECRET + "\n")
        ldif(folder / "d.ldif", USERS)
        for operation in wanted or [*OPERATIONS, "import"]:
            if operation == "import":
                first, second = (of_import(folder, binary) for binary in (before, after))
            else:
                first, second = (of_operation(folder, binary, operation) for binary in (before, after))
            print(f"| {operation} | {first:,.0f} | {second:,.0f} | {100 * second / first:.1f} % |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
