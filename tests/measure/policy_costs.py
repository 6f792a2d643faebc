"""C1-C5, C7, C9, C10: what rules, policies, logs and TLS cost a request, by the server's CPU time, two servers in turn.

usage: tests/measure/policy_costs.py [ROW...], with the interpreter of target/venv; PANDO names the binary, a release build. All rows if none is
given. A figure is CPU time of a request where nothing is on, divided by that of a request where something is: 100 % is no cost. It is the
median of PAIRS pairs, with the lowest and the highest. The client is slower than the server, so no rate is printed.
"""

import base64
import hashlib
import os
import random
import socket
import ssl
import statistics
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from ber import element, integer, ldap_bind, tlv  # noqa: E402
from certificates import Authority  # noqa: E402
from conftest import ADMIN, PEOPLE, SECRET, SUFFIX, run, start  # noqa: E402
from test_access_slapd import Slapd  # noqa: E402
from test_tls import search  # noqa: E402

ENTRIES = int(os.environ.get("ENTRIES", "20000"))
PAIRS = 5
QUEUE = 100
USER, WORD = f"uid=u1,{PEOPLE}", "a long word"
FILL = "x" * 90
SEARCH_ENTRY = 0x64
# Groups of a hundred members.
LISTS = 50


def ssha(word, salt):
    return "{SSHA}" + base64.b64encode(hashlib.sha1(word.encode() + salt).digest() + salt).decode()


def name(number):
    return f"uid=u{number},{PEOPLE}".encode()


def equality(attribute, value):
    return tlv(0xA3, tlv(4, attribute), tlv(4, value))


def modify(message_id, number):
    value = b"%032d" % random.randrange(10**12)
    change = tlv(0x30, tlv(0x0A, b"\x02"), tlv(0x30, tlv(4, b"carLicense"), tlv(0x31, tlv(4, value))))
    return tlv(0x30, integer(message_id), tlv(0x66, tlv(4, name(number)), tlv(0x30, change)))


OPERATIONS = {
    "base": lambda at, number: search(at, name(number), 0, [b"1.1"]),
    "base, all attributes": lambda at, number: search(at, name(number), 0),
    "equality": lambda at, number: search(at, SUFFIX.encode(), 2, [b"1.1"], equality(b"uid", b"u%d" % number)),
    "group of 100, all attributes": lambda at, number: search(at, f"cn=h{number % LISTS},{SUFFIX}".encode(), 0),
    "modify": modify,
    "bind": lambda at, number: ldap_bind(name(number), WORD.encode(), at),
}


SALTED = [ssha(WORD, bytes([number])) for number in range(16)]


def ldif(path, stored, users=ENTRIES):
    """A directory of users with 3 kB each, and of groups. `stored` is the stored password of a user."""
    with open(path, "w") as out:
        out.write(f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\n\n")
        out.write(f"dn: cn=policy,{SUFFIX}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 5\n\n")
        for number in range(8):
            out.write(f"dn: cn=g{number},{SUFFIX}\nobjectClass: groupOfNames\ncn: g{number}\nmember: uid=u{number},{PEOPLE}\n\n")
        for number in range(LISTS):
            out.write(f"dn: cn=h{number},{SUFFIX}\nobjectClass: groupOfNames\ncn: h{number}\n" + "".join(f"member: uid=u{at},{PEOPLE}\n" for at in range(100)) + "\n")
        for number in range(users):
            out.write(f"dn: uid=u{number},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: u{number}\ncn: User {number}\nsn: {number}\nl: l{number % 10}\n"
                      f"manager: {USER}\ncarLicense: {FILL}\nuserPassword: {stored(number)}\n" + "".join(f"description: {at} {FILL}\n" for at in range(25)) + "\n")


def cpu(pid):
    """Seconds that all threads of a process have run, to the nanosecond where a tick is 10 ms."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e9


class Client:
    """One connection that sends bundles and waits for as many bytes as the first such bundle was answered with."""

    def __init__(self, port, context=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")

    def ask(self, bundle, count):
        """Sends a bundle and reads so many ends of operations: messages that are no search entries."""
        self.socket.sendall(bundle)
        data, at, ends = bytearray(), 0, 0
        while ends < count:
            more = self.socket.recv(1 << 18)
            assert more, "the server has closed the connection"
            data += more
            while message := element(data, at):
                _, _, operation = element(data, message[1])
                tag, begin, _ = element(data, operation)
                if tag != SEARCH_ENTRY:
                    ends += 1
                    # The result code comes first.
                    assert data[begin + 2] == 0, bytes(data[at : message[2]])
                at = message[2]
        return ends


def bundles(operation, queue, count):
    rounds = []
    for _ in range(count):
        ids = [(at % 100 + 1, random.randrange(ENTRIES)) for at in range(queue)]
        rounds.append((b"".join(OPERATIONS[operation](at, number) for at, number in ids), queue))
    return rounds


def time_of(server, client, rounds, again=1):
    """Microseconds of the server's CPU for a request."""
    before, requests = cpu(server.pid), 0
    for _ in range(again):
        for bundle, queue in rounds:
            requests += client.ask(bundle, queue)
    return (cpu(server.pid) - before) / requests * 1e6


def compare(row, what, bar, off, on, rounds, again):
    """Two servers with a client each, in turn."""
    for side in (off, on):
        time_of(*side, rounds)
    times = [(time_of(*off, rounds, again), time_of(*on, rounds, again)) for _ in range(PAIRS)]
    ratios = sorted(100 * first / max(second, 1e-9) for first, second in times)
    print(f"| {row} | {what} | {statistics.median(first for first, _ in times):.2f} | {statistics.median(second for _, second in times):.2f} | "
          f"{statistics.median(ratios):.0f} % ({ratios[0]:.0f}-{ratios[-1]:.0f}) | {bar} |", flush=True)


RULES = [f'r{number}: subtree="{PEOPLE}" attrs=telephoneNumber,mobile,l; group="cn=g{number % 8},{SUFFIX}" tls=128; allow=write rank=1' for number in range(40)]
RULES += [f'p{number}: one="{PEOPLE}" attrs=description; users; allow=see rank=1' for number in range(10)]


def config(folder, label, *lines):
    path = folder / f"{label}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


class Bench:
    def __init__(self, folder, stored=lambda number: SALTED[number % 16]):
        self.folder, self.running = folder, []
        self.ldif = folder / "all.ldif"
        ldif(self.ldif, stored)
        self.authority = Authority(folder / "ca")

    def serve(self, label, *lines, durable=False, tls=False, who=USER):
        """A server, and a client of it that is bound as a user who may write."""
        folder = self.folder / label
        folder.mkdir()
        top = [f'write-dn = ["{USER}"]']
        limits = ["[limits]", 'trusted = ["127.0.0.1"]']
        # No bind makes an Argon2 of a digest here.
        names = {"passwords": ['renew = "off"']}
        for line in lines:
            section, _, text = line.partition("|")
            names.setdefault(section, []).append(text)
        if tls:
            certificate, key = self.authority.sign(label)
            names.setdefault("tls", []).extend([f'certificate = "{certificate}"', f'key = "{key}"'])
        text = [*top, *names.pop("", []), *limits, *names.pop("limits", [])]
        for section, of in names.items():
            text += [f"[{section}]", *of]
        arguments = ["--config", config(folder, "pando", *text), "--index", "uid:eq"]
        data = folder / "data" if durable else None
        if tls:
            arguments += ["--listen", "ldaps://127.0.0.1:0"]
        server = start(folder, *arguments, ldif=self.ldif, data=data)
        self.running.append(server)
        port, context = server.port, None
        if tls:
            port = int(server.process.stdout.readline().decode().rsplit(":", 1)[1])
            context = ssl.create_default_context(cafile=self.authority.certificate)
        client = Client(port, context)
        client.ask(ldap_bind(who.encode(), WORD.encode()), 1)
        server.any_port, server.context = port, context
        return server, client

    def end(self):
        for server in self.running:
            server.end()
        self.running = []


POLICY = ['passwords|default-policy = "cn=policy,' + SUFFIX + '"', "passwords|last-success = 3600"]


def rules(texts):
    return "access|rule = [" + ", ".join("'" + text + "'" for text in texts) + "]"


def c1(bench):
    log = ['log|access = "sample"', f'log|access-file = "{bench.folder}/access-{{}}.log"']
    for durable in (False, True):
        off = bench.serve(f"c1-off-{durable}", "log|access = \"off\"", durable=durable)
        on = bench.serve(f"c1-on-{durable}", rules(RULES), *POLICY, *(line.format(durable) for line in log), durable=durable)
        for operation in ["modify"] if durable else ["base", "equality", "modify"]:
            compare("C1", f"{'durable ' if durable else ''}{operation}, queue 100", ">= 95 %" if durable else ">= 90 %", off, on, bundles(operation, QUEUE, 20), 10 if durable else 40)
        bench.end()


def c2(bench):
    common = [rules(RULES), *POLICY]
    sample = bench.serve("c2-sample", *common, 'log|access = "sample"', f'log|access-file = "{bench.folder}/c2-sample.log"')
    for form, bar in (("binary", ">= 90 %"), ("json", "printed")):
        every = bench.serve(f"c2-{form}", *common, 'log|access = "all"', f'log|format = "{form}"', f'log|access-file = "{bench.folder}/c2-{form}.log"')
        for operation in ("base", "equality", "modify"):
            compare("C2", f"all, {form}, against a sample: {operation}", bar, sample, every, bundles(operation, QUEUE, 20), 40)
    bench.end()


def c3(bench):
    kinds = {
        "a per-entry filter": f'f: subtree="{PEOPLE}" filter=(l=l1) attrs=mobile; users; allow=see rank=1',
        "dn-attr": f'd: subtree="{PEOPLE}" attrs=mobile; dn-attr=manager; allow=see rank=1',
        "values": f'v: subtree="{PEOPLE}" attrs=description values="(description=1*)"; users; deny=read rank=1',
        "values=self": "s: all attrs=member values=self; users; deny=read rank=1",
    }
    off = bench.serve("c3-off")
    for at, (what, rule) in enumerate(kinds.items()):
        on = bench.serve(f"c3-{at}", rules([rule]))
        for operation in ("base", "group of 100, all attributes" if "self" in what else "base, all attributes"):
            compare("C3", f"{what}: {operation}", ">= 70 %", off, on, bundles(operation, QUEUE, 10), 20)
    bench.end()


def c4(bench):
    for durable in (False, True):
        off, on = bench.serve(f"c4-off-{durable}", durable=durable), bench.serve(f"c4-on-{durable}", durable=durable, tls=True)
        rows = [("modify", QUEUE, ">= 90 %")] if durable else [("base", 1, ">= 85 %"), ("base", QUEUE, ">= 80 %"), ("base, all attributes", QUEUE, ">= 40 %")]
        for operation, queue, bar in rows:
            compare("C4", f"TLS 1.3: {'durable ' if durable else ''}{operation}, queue {queue}", bar, off, on, bundles(operation, queue, 20 if queue > 1 else 1000), 20 if queue > 1 else 8)
        bench.end()


def handshakes(pid, port, context, count):
    before = cpu(pid)
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain, server_hostname="localhost"):
            pass
    return (cpu(pid) - before) / count * 1e6


def c5(bench):
    server, _ = bench.serve("c5", tls=True)
    certificate, key = bench.authority.sign("slapd")
    lines = [f"TLSCACertificateFile {bench.authority.certificate}", f"TLSCertificateFile {certificate}", f"TLSCertificateKeyFile {key}"]
    slapd = SlapdTls(bench.folder / "c5-slapd", [], lines)
    context = ssl.create_default_context(cafile=bench.authority.certificate)
    context.options |= ssl.OP_NO_TICKET
    pairs = [(handshakes(slapd.process.pid, slapd.secure, context, 300), handshakes(server.pid, server.any_port, context, 300)) for _ in range(PAIRS)]
    ratio = sorted(theirs / own for theirs, own in pairs)
    print(f"| C5 | full P-256 handshake: slapd, Pando | {statistics.median(t for t, _ in pairs):.0f} | {statistics.median(o for _, o in pairs):.0f} | "
          f"{statistics.median(ratio):.2f} x ({ratio[0]:.2f}-{ratio[-1]:.2f}) | >= 2 x |", flush=True)
    slapd.end()
    bench.end()


class SlapdTls(Slapd):
    """slapd that speaks TLS on a second port."""

    def __init__(self, folder, rules_, before):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.secure = free.getsockname()[1]
        super().__init__(folder, rules_, before, also=f"ldaps://127.0.0.1:{self.secure}")


def c7(bench):
    server, client = bench.serve("c7")
    slapd = Slapd(bench.folder / "c7-slapd", ["index uid eq"])
    stored = ssha(WORD, b"salt")
    more = "".join(f"dn: uid=m{number},{PEOPLE.replace('People', 'people')}\nobjectClass: inetOrgPerson\nuid: m{number}\ncn: x\nsn: x\nuserPassword: {stored}\n\n" for number in range(500))
    more = f"dn: ou=Measured,{SUFFIX}\nobjectClass: organizationalUnit\nou: Measured\n\n" + more.replace(PEOPLE.replace("People", "people"), f"ou=Measured,{SUFFIX}")
    for url in (slapd.url, server.url):
        run("ldapadd", "-x", "-H", url, "-D", ADMIN, "-w", SECRET, stdin=more)
    OPERATIONS["their bind"] = lambda at, number: ldap_bind(f"uid=m{number % 500},ou=Measured,{SUFFIX}".encode(), WORD.encode(), at)
    rounds = bundles("their bind", 1, 2000)

    class Theirs:
        pid = slapd.process.pid

    compare("C7", "SSHA bind: slapd, Pando (8 x is 800 %)", ">= 800 %", (Theirs, Client(slapd.port)), (server, client), rounds, 3)
    slapd.end()
    bench.end()


def c9(bench):
    off, on = bench.serve("c9-off", durable=True), bench.serve("c9-on", *POLICY, durable=True)
    rounds = bundles("bind", 1, 2000)
    compare("C9", "SSHA bind, lockout and last-success on", ">= 90 %", off, on, rounds, 5)
    bench.end()


def c10(bench):
    server, _ = bench.serve("c10", tls=True)
    sizes = []
    for port, context in ((server.port, None), (server.any_port, server.context)):
        before = server.resident
        clients = [Client(port, context) for _ in range(1000)]
        for client in clients:
            client.ask(search(1, b"", 0, [b"1.1"]), 1)
        sizes.append((server.resident - before) / 1000 / 1024)
        for client in clients:
            client.socket.close()
    print(f"| C10 | KiB of an idle connection: plain, TLS | {sizes[0]:.1f} | {sizes[1]:.1f} | {sizes[1] - sizes[0]:.1f} KiB more | <= 12 KiB |", flush=True)
    bench.end()


ROWS = {"C1": c1, "C2": c2, "C3": c3, "C4": c4, "C5": c5, "C7": c7, "C9": c9, "C10": c10}


def main(rows):
    random.seed(17)
    print(f"{ENTRIES} users of 3 kB, medians of {PAIRS} pairs in turn, {threading.active_count()} client thread, on: rules, views and counters\n")
    print("| row | what | us of CPU, off | us of CPU, on | off / on | bar |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for row in rows or ROWS:
            ROWS[row](bench)


if __name__ == "__main__":
    main(sys.argv[1:])
