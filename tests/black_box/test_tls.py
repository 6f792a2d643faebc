"""TLS: StartTLS and ldaps:// with foreign clients, and with bytes that no client sends. The ids are rows of docs/tls.md."""

import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import ldap
import ldap3
import pytest

import namespaces
from ber import integer, ldap_bind, tlv
from certificates import Authority
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, run, start

START_TLS_OID = b"1.3.6.1.4.1.1466.20037"
SUCCESS, OPERATIONS_ERROR, PROTOCOL_ERROR, CONFIDENTIALITY_REQUIRED = 0, 1, 2, 13


def start_tls(message_id=1, value=None):
    """A StartTLS request."""
    parts = [tlv(0x80, START_TLS_OID)] + ([] if value is None else [tlv(0x81, value)])
    return tlv(0x30, integer(message_id), tlv(0x77, *parts))


def search(message_id, base=b"", scope=0, attributes=(), filter_=None):
    """A search request; by default of the root DSE."""
    return tlv(0x30, integer(message_id), tlv(0x63, tlv(4, base), tlv(0x0A, bytes([scope])), tlv(0x0A, b"\0"), integer(0), integer(0),
               tlv(1, b"\0"), filter_ or tlv(0x87, b"objectClass"), tlv(0x30, *(tlv(4, a) for a in attributes))))


# No limit on handshakes for these clients.
TRUSTING = "[limits]", 'trusted = ["127.0.0.1"]'


class Raw:
    """A connection on which a test chooses every byte."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.buffer = b""

    def send(self, *parts):
        self.socket.sendall(b"".join(parts))

    def message(self):
        """The next message, whole; empty at the end of the stream."""
        while True:
            if len(self.buffer) >= 2:
                size, head = self.buffer[1], 2
                if size & 0x80:
                    head = 2 + (size & 0x7F)
                    size = int.from_bytes(self.buffer[2:head], "big") if len(self.buffer) >= head else 1 << 30
                if len(self.buffer) >= head + size:
                    message, self.buffer = self.buffer[: head + size], self.buffer[head + size :]
                    return message
            more = self.socket.recv(65536)
            if not more:
                return b""
            self.buffer += more

    def result(self):
        """The result code of the next message, which is an answer to an extended or a bind request."""
        message = self.message()
        assert message, "the connection was closed"
        at = message.index(b"\x0a\x01")
        return message[at + 2]

    def is_closed(self):
        """Does nothing follow but the end of the stream?"""
        try:
            return self.message() == b""
        except ConnectionResetError:
            return True

    def secure(self, context):
        """TLS from here on."""
        assert not self.buffer
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ca")


@pytest.fixture
def context(authority):
    return ssl.create_default_context(cafile=authority.certificate)


@pytest.fixture
def serve(tmp_path, authority, server):
    """`serve(...)` starts a server with a certificate. `secure_port` is where it speaks TLS from the first byte."""

    def begin(*lines, arguments=(), pairs=None, **settings):
        pairs = pairs or [authority.sign("server")]
        names = [f'"{path}"' for pair in zip(*pairs) for path in pair]
        half = len(names) // 2
        config = tmp_path / "pando.toml"
        config.write_text("\n".join(["[tls]", f"certificate = [{', '.join(names[:half])}]", f"key = [{', '.join(names[half:])}]", *lines, ""]))
        begun = server("--listen", "ldaps://127.0.0.1:0", "--config", config, *arguments, **settings)
        line = begun.process.stdout.readline().decode()
        assert line.startswith("ready ldaps://127.0.0.1:"), (line, begun.log)
        begun.secure_url = line.split()[1]
        begun.secure_port = int(begun.secure_url.rsplit(":", 1)[1])
        return begun

    return begin


def tools_environment(authority):
    return {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand"}


def test_t1_ldap_utils(serve, authority):
    """StartTLS, ldaps, and a certificate that is not trusted, which a client refuses."""
    server = serve()
    env = tools_environment(authority)
    who = ["-x", "-D", ADMIN, "-w", SECRET]
    # By address: the library takes "localhost" for the machine's own name.
    for url, flags in [(server.url, ["-ZZ"]), (server.secure_url, [])]:
        assert run("ldapwhoami", "-H", url, *flags, *who, env=env).out.strip() == f"dn:{ADMIN}"
        found = run("ldapsearch", "-H", url, *flags, *who, "-LLL", "-b", SUFFIX, "(objectClass=*)", "1.1", env=env)
        assert len(found.dns) > 5
    untrusted = {"LDAPNOINIT": None, "LDAPTLS_REQCERT": "demand"}
    assert run("ldapwhoami", "-H", server.secure_url, *who, env=untrusted, code=None).code != 0


def test_t1_python_ldap(serve, authority):
    server = serve()
    for url, secures in [(server.url, True), (server.secure_url, False)]:
        connection = ldap.initialize(url)
        connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
        connection.set_option(ldap.OPT_X_TLS_CACERTFILE, str(authority.certificate))
        connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
        if secures:
            connection.start_tls_s()
        connection.simple_bind_s(ADMIN, SECRET)
        people = connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=*)", ["cn"])
        assert people
        connection.modify_s(people[0][0], [(ldap.MOD_REPLACE, "description", b"x" * 100_000)])
        assert connection.read_s(people[0][0])["description"] == [b"x" * 100_000]
        connection.unbind_s()


def test_t1_ldap3(serve, authority):
    server = serve()
    tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=str(authority.certificate))
    plain = ldap3.Server("localhost", port=server.port, tls=tls, get_info=ldap3.ALL)
    connection = ldap3.Connection(plain, ADMIN, SECRET, raise_exceptions=True)
    assert connection.start_tls() and connection.bind()
    assert connection.extend.standard.who_am_i() == f"dn:{ADMIN}"
    secured = ldap3.Server("localhost", port=server.secure_port, use_ssl=True, tls=tls)
    assert ldap3.Connection(secured, ADMIN, SECRET).bind()


def test_t2_start_tls_is_refused_where_it_must_be(serve, context, server):
    """With a value and without a certificate (2); twice, and with a search under way (1)."""
    served = serve()
    raw = Raw(served.port)
    raw.send(start_tls(1, b""))
    assert raw.result() == PROTOCOL_ERROR
    # The answer is more than sockets take, so the search is active when the next request is looked at.
    run("ldapadd", *served.admin, stdin="".join(
        f"dn: cn=long {n},{SUFFIX}\nobjectClass: organizationalRole\ncn: long {n}\ndescription: {'x' * 1_000_000}\n\n" for n in range(40)))
    raw.send(ldap_bind(ADMIN.encode(), SECRET.encode(), 2))
    assert raw.result() == SUCCESS
    raw.send(search(3, SUFFIX.encode(), 1), start_tls(4))
    answered = None
    while answered is None:
        message = raw.message()
        assert message, "the connection goes on"
        # Message ids below 128 take one byte; behind it is the tag of the operation.
        at = message.index(b"\x02\x01") + 2
        if message[at : at + 2] == b"\x04\x78":
            answered = message[message.index(b"\x0a\x01") + 2]
    assert answered == OPERATIONS_ERROR
    without = Raw(server().port)
    without.send(start_tls())
    assert without.result() == PROTOCOL_ERROR
    secured = Raw(served.secure_port)
    secured.secure(context)
    secured.send(start_tls(7))
    assert secured.result() == OPERATIONS_ERROR, "it is on already"
    secured.send(ldap_bind(ADMIN.encode(), SECRET.encode(), 8))
    assert secured.result() == SUCCESS, "the session is as it was"


def test_t2_a_transaction_must_be_ended_first(serve):
    raw = Raw(serve().port)
    raw.send(ldap_bind(ADMIN.encode(), SECRET.encode(), 1))
    assert raw.result() == SUCCESS
    raw.send(tlv(0x30, integer(2), tlv(0x77, tlv(0x80, b"1.3.6.1.1.21.1"))))
    assert raw.result() == SUCCESS
    raw.send(start_tls(3))
    assert raw.result() == OPERATIONS_ERROR


def test_t2_a_session_is_anonymous_after_it_and_the_root_dse_differs(serve, context):
    raw = Raw(serve().port)
    raw.send(ldap_bind(ADMIN.encode(), SECRET.encode(), 1), search(2, attributes=[b"supportedExtension"]))
    assert raw.result() == SUCCESS
    assert START_TLS_OID in raw.message() and raw.message()
    raw.send(start_tls(3))
    answer = raw.message()
    assert answer[answer.index(b"\x0a\x01") + 2] == SUCCESS and START_TLS_OID in answer, "the answer has the name of the operation"
    raw.secure(context)
    who_am_i = tlv(0x30, integer(4), tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3")))
    raw.send(who_am_i, search(5, attributes=[b"supportedExtension"]))
    answer = raw.message()
    assert ADMIN.encode() not in answer and b"dn:" not in answer
    assert START_TLS_OID not in raw.message() and raw.message()


def test_t2_the_end_of_tls_is_the_end_of_the_connection(serve, context):
    """close_notify is answered in the same way; what comes in the clear behind it is not served."""
    raw = Raw(serve().secure_port)
    raw.secure(context)
    raw.send(search(1))
    assert raw.message() and raw.message()
    plain = raw.socket.unwrap()
    try:
        plain.sendall(ldap_bind(ADMIN.encode(), SECRET.encode(), 2))
        assert plain.recv(1000) == b""
    except (ConnectionResetError, BrokenPipeError):
        pass


def test_t3_nothing_behind_start_tls_is_interpreted(serve):
    """The class of CVE-2011-0411. What follows the request in what was read: (1), and closed. What is sent before the answer comes: part
    of no handshake, so closed. The injected request is never applied.
    """
    server = serve(*TRUSTING)
    title = b"injected"
    entry = f"cn=injected,{SUFFIX}".encode()
    attributes = tlv(0x30, tlv(0x30, tlv(4, b"objectClass"), tlv(0x31, tlv(4, b"organizationalRole"))),
                     tlv(0x30, tlv(4, b"cn"), tlv(0x31, tlv(4, title))))
    add = tlv(0x30, integer(3), tlv(0x68, tlv(4, entry), attributes))
    bind = ldap_bind(ADMIN.encode(), SECRET.encode(), 1)
    request = start_tls(2)
    whole = request + add
    for cut in range(1, 1001):
        raw = Raw(server.port)
        raw.send(bind)
        assert raw.result() == SUCCESS
        at = cut % (len(whole) - 1) + 1
        try:
            raw.send(whole[:at])
            raw.send(whole[at:])
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            code = raw.result()
            assert code in (SUCCESS, OPERATIONS_ERROR)
            # An alert of TLS may come before the end.
            raw.buffer = b""
            while raw.socket.recv(1000):
                pass
        except (ConnectionResetError, AssertionError) as error:
            assert "closed" in str(error) or isinstance(error, ConnectionResetError)
        raw.socket.close()
    assert server.search("-b", SUFFIX, "(cn=injected)").dns == []
    raw = Raw(server.port)
    raw.send(bind + request + add)
    assert (raw.result(), raw.result()) == (SUCCESS, OPERATIONS_ERROR)
    assert raw.is_closed()


def shown(port, name="localhost"):
    """The subject of the certificate that a client is shown."""
    out = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *(["-servername", name] if name else ["-noservername"])],
        input="", capture_output=True, text=True, timeout=PATIENCE,
    ).stdout
    lines = [line for line in out.splitlines() if line.startswith("subject=")]
    return lines[0].split("CN")[-1].strip(" =") if lines else out


class Handshakes:
    """Clients that do nothing but handshakes, a hundred a second together, by two names in turn. `shown`: the subjects that each name brought, in
    their order, and the time of the first handshake that did; `failed`: what went wrong; `slowest`: how long the longest took.
    """

    RATE, THREADS = 100, 10

    def __init__(self, port, context, names):
        self.port, self.context, self.names = port, context, names
        self.shown, self.failed, self.count, self.slowest = {name: {} for name in names}, [], 0, 0
        self.ended, self.lock, self.begin = threading.Event(), threading.Lock(), time.monotonic()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(self.THREADS)]

    def run(self, number):
        due, names = number, itertools.cycle(self.names)
        # One that is late goes on at the rate, and does not hurry.
        while not self.ended.wait(max(0, self.begin + due / self.RATE - time.monotonic())):
            due = max(due + self.THREADS, (time.monotonic() - self.begin) * self.RATE)
            self.one(next(names))

    def one(self, name):
        begin = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as client, self.context.wrap_socket(client, server_hostname=name) as secured:
                [[(_, subject)]] = secured.getpeercert()["subject"]
        except OSError as error:
            self.failed.append(f"{name}: {error}")
            return
        with self.lock:
            self.count += 1
            self.slowest = max(self.slowest, time.monotonic() - begin)
            self.shown[name].setdefault(subject, time.monotonic())

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def test_t4_certificates_are_replaced_while_clients_connect(serve, authority, context, tmp_path):
    """One by a folder that is swapped with a symbolic link, one by renames, under a hundred handshakes a second of which none fails; a faulty file
    leaves the old one in force.
    """
    live, renamed = tmp_path / "live", tmp_path / "renamed"
    names = ["linked.example.com", "renamed.example.com"]
    pairs = {}
    for folder, name, dns in [("1", "first", names[0]), ("2", "second", names[0]), ("renamed", "old", names[1]), ("fresh", "new", names[1])]:
        (tmp_path / folder).mkdir()
        pairs[name] = [tmp_path / folder / f"server.{end}" for end in ("crt", "key")]
        for path, copy in zip(authority.sign(name, f"DNS:{dns}"), pairs[name]):
            shutil.copy(path, copy)
    live.symlink_to(tmp_path / "1")
    server = serve(*TRUSTING, pairs=[(live / "server.crt", live / "server.key"), pairs["old"]])
    with Handshakes(server.secure_port, context, names) as handshakes:
        while not all(handshakes.shown.values()):
            assert not handshakes.failed
            handshakes.ended.wait(0.01)
        swapped = time.monotonic()
        os.symlink(tmp_path / "2", tmp_path / "new")
        os.rename(tmp_path / "new", live)
        for fresh, old in zip(pairs["new"], pairs["old"]):
            os.replace(fresh, old)
        while not all(len(seen) == 2 for seen in handshakes.shown.values()):
            assert not handshakes.failed and time.monotonic() - swapped < 30, (handshakes.failed, server.log)
            handshakes.ended.wait(0.01)
    assert not handshakes.failed
    assert [list(seen) for seen in handshakes.shown.values()] == [["first", "second"], ["old", "new"]]
    # A machine that is busy with other tests keeps the server and the clients waiting, both as long as the slowest handshake at most.
    within = 12 + 2 * handshakes.slowest
    assert all(max(seen.values()) - swapped < within for seen in handshakes.shown.values()), (handshakes.shown, swapped, within)
    assert handshakes.count > 50 * (time.monotonic() - handshakes.begin), "they were too slow to show anything"
    (live / "server.key").write_text("nonsense")
    server.process.send_signal(signal.SIGHUP)
    begin = time.monotonic()
    while "the certificates that were in force stay" not in server.log:
        assert time.monotonic() - begin < PATIENCE
        assert shown(server.secure_port, names[0]) == "second"
    for path, end in zip(authority.sign("third", f"DNS:{names[0]}"), ("crt", "key")):
        os.replace(path, live / f"server.{end}")
    server.process.send_signal(signal.SIGHUP)
    begin = time.monotonic()
    while shown(server.secure_port, names[0]) != "third":
        assert time.monotonic() - begin < PATIENCE, server.log


def test_t4_the_monitor_shows_when_certificates_end_and_that_a_file_is_faulty(serve, authority):
    """Users may read it, so it names no file; the log has the reason."""
    pair = authority.sign("server", "DNS:localhost", "DNS:ldap.example.com", days=20)
    server = serve(pairs=[pair])

    def shown(name, attribute):
        out = server.search("-b", f"cn={name},cn=TLS,cn=Monitor", "-s", "base", attribute).out
        return [line.split(": ", 1)[1] for line in out.splitlines() if line.startswith(f"{attribute}: ")]

    end = run("openssl", "x509", "-in", pair[0], "-noout", "-enddate", "-dateopt", "iso_8601").out.strip().split("=")[1]
    digits = "".join(c for c in end if c.isdigit()) + "Z"
    assert shown("Certificates", "monitoredInfo") == [f"1 until {digits} localhost ldap.example.com"]
    seconds = ssl.cert_time_to_seconds(run("openssl", "x509", "-in", pair[0], "-noout", "-enddate").out.strip().split("=")[1])
    assert shown("NotAfter", "monitorCounter") == [str(seconds)]
    [files] = shown("Files", "monitoredInfo")
    assert files.startswith("in force since ")
    pair[1].write_text("nonsense")
    server.process.send_signal(signal.SIGHUP)
    begin = time.monotonic()
    while not (files := shown("Files", "monitoredInfo")[0]).startswith("faulty since "):
        assert time.monotonic() - begin < PATIENCE, files
    assert str(pair[1]) in server.log and str(pair[1]) not in files
    authority.sign("server", "DNS:other.example.com", days=25)
    server.process.send_signal(signal.SIGHUP)
    while not (files := shown("Files", "monitoredInfo")[0]).startswith("in force since "):
        assert time.monotonic() - begin < PATIENCE, files
    assert shown("Certificates", "monitoredInfo")[0].endswith(" other.example.com")


def test_t4_a_client_that_names_the_server_is_shown_its_certificate(serve, authority):
    pairs = [authority.sign("one", "DNS:one.example.com"), authority.sign("two", "DNS:two.example.com", "DNS:*.sub.example.com")]
    port = serve(pairs=pairs).secure_port
    names = {"one.example.com": "one", "two.example.com": "two", "x.sub.example.com": "two", "y.x.sub.example.com": "one", "": "one"}
    assert {name: shown(port, name) for name in names} == names


def test_t6_only_what_is_safe_is_spoken(serve):
    """What openssl can be told to offer; a scanner has more."""
    port = serve().secure_port

    def speaks(*arguments):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments], input="", capture_output=True,
                              text=True, timeout=PATIENCE)
        return "Cipher is (NONE)" not in done.stdout and done.returncode == 0

    assert speaks("-tls1_2") and speaks("-tls1_3")
    for arguments in (["-tls1"], ["-tls1_1"], ["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"],
                      ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"]):
        assert not speaks(*arguments), arguments


def test_t6_tls_1_2_can_be_left_out(serve):
    port = serve('versions = ["1.3"]').secure_port
    for flag, code in (("-tls1_3", 0), ("-tls1_2", 1)):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", flag], input="", capture_output=True, timeout=PATIENCE)
        assert done.returncode == code


REMOTE = """
import sys
sys.path.insert(0, sys.argv[1])
from test_tls import Raw, tlv, integer, ldap_bind
import socket
address, port = sys.argv[2], int(sys.argv[3])
def ask(*messages):
    raw = Raw.__new__(Raw)
    raw.socket, raw.buffer = socket.create_connection((address, port), timeout=20), b""
    codes = []
    for message in messages:
        raw.send(message)
        codes.append(raw.result())
    return codes
bind = ldap_bind(b"cn=admin,dc=example,dc=com", b"secret")
wrong = ldap_bind(b"cn=nobody,dc=example,dc=com", b"secret")
passmod = tlv(0x30, integer(2), tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.1"), tlv(0x81, tlv(0x30, tlv(0x82, b"new")))))
def modify(name):
    change = tlv(0x30, tlv(0x0A, b"\\x02"), tlv(0x30, tlv(4, name), tlv(0x31, tlv(4, b"word"))))
    return tlv(0x30, integer(3), tlv(0x66, tlv(4, b"uid=ada,ou=People,dc=example,dc=com"), tlv(0x30, change)))
def add(name):
    values = [(b"objectClass", b"person"), (b"cn", name), (b"sn", b"x"), (b"userPassword", b"word")]
    attributes = tlv(0x30, *(tlv(0x30, tlv(4, n), tlv(0x31, tlv(4, v))) for n, v in values))
    return tlv(0x30, integer(4), tlv(0x68, tlv(4, b"cn=" + name + b",ou=People,dc=example,dc=com"), attributes))
print(ask(bind), ask(wrong), ask(passmod, modify(b"userPassword"), add(b"new")), ask(ldap_bind(b"", b"")))
"""


@pytest.mark.skipif(not namespaces.possible(), reason="network namespaces cannot be made here")
def test_t7_no_password_passes_in_the_clear_from_another_host(tmp_path):
    """(13) for a bind, right or wrong, a password modify, an add and a modify with a password; on loopback they pass."""
    with namespaces.Pair() as pair:
        for flags, expected in [([], "[13] [13] [13, 13, 13] [0]"), (["bits"], "[0] [49] [8, 32, 32] [0]")]:
            folder = tmp_path / (flags or ["default"])[0]
            folder.mkdir()
            config = folder / "pando.toml"
            events = folder / "security.log"
            config.write_text(f'{"[security]" if flags else ""}\n{"password = 0" if flags else ""}\n[log]\nsecurity-file = "{events}"\n')
            password = folder / "password"
            password.write_text(SECRET + "\n")
            command = [*pair.server, os.environ.get("PANDO", "target/release/pando"), "serve", "--memory", "--config", config, "--suffix", SUFFIX,
                       "--listen", f"ldap://{pair.address}:3389", "--root-dn", ADMIN, "--root-password-file", password]
            with open(folder / "log", "wb") as log:
                process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=log)
            try:
                assert process.stdout.readline().startswith(b"ready"), (folder / "log").read_text()
                script = tmp_path / "remote.py"
                script.write_text(REMOTE)
                here = os.path.dirname(os.path.abspath(__file__))
                done = run(*pair.client, sys.executable, script, here, pair.address, 3389)
                assert done.out.strip() == expected
            finally:
                process.terminate()
                process.wait(PATIENCE)
                process.stdout.close()
            seen = [json.loads(line) for line in events.read_text().splitlines()]
            cleartext = [(event["code"], event.get("target")) for event in seen if event["event"] == "cleartext"]
            assert all(code == 13 for code, _ in cleartext) and len(cleartext) == (0 if flags else 5), seen
            assert flags or ADMIN in [target for _, target in cleartext]


def test_t9_a_slow_reader_and_many_idle_clients(serve, context):
    """Answers of megabytes to a client that reads a little at a time come whole; idle clients cost little."""
    server = serve(*TRUSTING)
    ldif = "".join(f"dn: cn=long {n},{PEOPLE}\nobjectClass: organizationalRole\ncn: long {n}\ndescription: {'x' * 50_000}\n\n" for n in range(100))
    run("ldapadd", *server.admin, stdin=ldif)
    slow = Raw(server.secure_port)
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    slow.secure(context)
    slow.send(ldap_bind(ADMIN.encode(), SECRET.encode(), 1), search(2, PEOPLE.encode(), 1, filter_=tlv(0xA3, tlv(4, b"objectClass"), tlv(4, b"organizationalRole"))))
    assert slow.result() == SUCCESS
    before = server.resident
    idle = []
    for _ in range(500):
        raw = Raw(server.secure_port)
        raw.secure(context)
        raw.send(search(1, attributes=[b"1.1"]))
        assert raw.message() and raw.message()
        idle.append(raw)
    each = (server.resident - before) / len(idle)
    assert each < 64 << 10, f"{each} bytes for a connection"
    entries = 0
    while (message := slow.message())[0:1] == b"\x30" and b"\x65" != message[message.index(b"\x02\x01\x02") + 3 :][:1]:
        entries += 1
    assert entries == 100


def test_a_certificate_that_cannot_be_used_stops_the_start(tmp_path, authority):
    """With what is wrong, and in which file."""
    certificate, key = authority.sign("server")
    other, _ = authority.sign("other")
    config = tmp_path / "pando.toml"
    for lines, text in [
        (f'certificate = "{other}"\nkey = "{key}"', "is not that of the certificate"),
        (f'certificate = "{certificate}"', "1 certificates and 0 keys"),
        (f'certificate = "{tmp_path}/none"\nkey = "{key}"', "none"),
        (f'certificate = "{key}"\nkey = "{key}"', "no certificate is in it"),
    ]:
        config.write_text(f'suffix = "{SUFFIX}"\nlisten = "ldap://127.0.0.1:0"\nmemory = true\n[tls]\n{lines}\n')
        done = run(os.environ.get("PANDO", "target/release/pando"), "serve", "--config", config, code=None)
        assert done.code != 0 and text in done.err, done
    config.write_text(f'suffix = "{SUFFIX}"\nlisten = "ldaps://127.0.0.1:0"\nmemory = true\n')
    done = run(os.environ.get("PANDO", "target/release/pando"), "serve", "--config", config, code=2)
    assert "needs `tls.certificate`" in done.err


def test_a_handshake_that_does_not_end_is_closed(serve):
    raw = Raw(serve("[limits]", "handshake-timeout = 1").secure_port)
    raw.send(b"\x16\x03\x01")
    assert raw.is_closed()
