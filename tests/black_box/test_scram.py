"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS with foreign clients, and with messages that no client sends. The ids are rows of docs/sasl.md."""

import contextlib
import hashlib
import os
import re
import select
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import ldap
import ldap.sasl
import pytest
import scramp

from certificates import Authority
from conftest import ADMIN, LDAPTIVE, PATIENCE, PEOPLE, connect, run
from scram import Scram, answer, bind_request
from test_tls import Raw, authority, context, serve, start_tls  # noqa: F401

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "scram word"
NAME, PLUS = b"SCRAM-SHA-256", b"SCRAM-SHA-256-PLUS"


# OpenSSL's SSL_OP_NO_EXTENDED_MASTER_SECRET, for which Python has no name.
NO_EXTENDED_MASTER_SECRET = 1


@pytest.fixture
def served(tmp_path, server):
    return begin(tmp_path, server)


def begin(folder, server, *of_tls):
    """A server with a certificate that stores passwords for SCRAM. Ada has one, Bruno has none."""
    folder.mkdir(exist_ok=True)
    authority = Authority(folder / "ca")
    certificate, key = authority.sign("server")
    config = folder / "pando.toml"
    config.write_text("\n".join(['password-scheme = ["scram-sha-256"]', 'index = ["uid:eq"]', "[tls]", f'certificate = "{certificate}"', f'key = "{key}"', *of_tls]))
    begun = server("--config", config)
    begun.authority, begun.certificate = authority, certificate
    begun.env = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand"}
    run("ldappasswd", *begun.admin, "-s", WORD, ADA)
    return begun


def raw(served, secured=False):
    """A connection of which every byte is chosen, under TLS if it is to be."""
    connection = Raw(served.port)
    if secured:
        secure(connection, ssl.create_default_context(cafile=served.authority.certificate))
    return connection


def secure(connection, context):
    connection.send(start_tls())
    assert connection.result() == 0
    connection.secure(context)


def ask(connection, mechanism, message):
    connection.send(bind_request(mechanism, message))
    return answer(connection.message())


def exchange(connection, scram, mechanism=NAME, **changed):
    """The code and the credentials of the last answer."""
    code, challenge = ask(connection, mechanism, scram.first())
    if code != 14:
        return code, challenge
    return ask(connection, mechanism, scram.final(challenge, **changed))


def end_point(served):
    der = ssl.PEM_cert_to_DER_cert(Path(served.certificate).read_text())
    return hashlib.sha256(der).digest()


def test_s2_foreign_clients(served):
    asked = ["ldapwhoami", "-Q", "-O", "none", "-Y", "SCRAM-SHA-256", "-H", served.url, "-U", "ada"]
    assert run(*asked, "-w", WORD).out.strip() == f"dn:{ADA}"
    assert run(*asked, "-w", "wrong", code=49).out == ""
    assert run(*asked, "-w", WORD, "-X", f"dn:{ADA}").out.strip() == f"dn:{ADA}"
    assert run(*asked, "-w", WORD, "-X", f"dn:{BRUNO}", code=49).out == ""
    assert run(*asked, "-w", WORD, "-ZZ", env=served.env).out.strip() == f"dn:{ADA}"
    unboundid = ["java", "-cp", os.environ["UNBOUNDID_JAR"], "com.unboundid.ldap.sdk.unboundidds.tools.LDAPSearch", "-h", "127.0.0.1", "-p",
                 served.port, "--saslOption", "mech=SCRAM-SHA-256", "--saslOption", "username=ada", "-b", ADA, "-s", "base"]
    assert f"dn: {ADA}" in run(*unboundid, "-w", WORD, "(objectClass=*)", "uid", timeout=4 * PATIENCE).out
    run(*unboundid, "-w", "wrong", "(objectClass=*)", code=49, timeout=4 * PATIENCE)
    for word, refused in ((WORD, False), ("wrong", True)):
        client = ldap.initialize(served.url)
        client.set_option(ldap.OPT_X_SASL_SECPROPS, "none")
        answers = ldap.sasl.sasl({ldap.sasl.CB_AUTHNAME: "ada", ldap.sasl.CB_PASS: word}, NAME.decode())
        with pytest.raises(ldap.INVALID_CREDENTIALS) if refused else contextlib.nullcontext():
            client.sasl_interactive_bind_s("", answers)
        assert client.whoami_s() == ("" if refused else f"dn:{ADA}")
    # A simple bind and a compare verify the same value.
    assert connect(served, ADA, WORD).whoami_s() == f"dn:{ADA}"


def by_scramp(served, user, word, mechanism=NAME, secured=False):
    """The code that scramp's client comes to, which checks the server's signature. Over TLS it works out itself what the channel is bound by."""
    connection = raw(served, secured=secured)
    binding = ("tls-server-end-point", connection.socket) if mechanism == PLUS else None
    client = scramp.ScramClient([mechanism.decode()], user, word, channel_binding=binding)
    code, challenge = ask(connection, mechanism, client.get_client_first().encode())
    assert code == 14
    client.set_server_first(challenge.decode())
    code, end = ask(connection, mechanism, client.get_client_final().encode())
    if code == 0:
        client.set_server_final(end.decode())
    return code


def test_s2_scramp(served):
    """A client of another author, in the clear, under TLS, and bound to the certificate (S3)."""
    for settings in ({}, {"secured": True}, {"mechanism": PLUS, "secured": True}):
        # Under TLS without binding it says that it knows none, which is no downgrade.
        assert [by_scramp(served, user, word, **settings) for user, word in (("ada", WORD), ("ada", "wrong"), ("nobody", WORD))] == [0, 49, 49], settings


def test_s2_ldaptive(served):
    """A client of yet another author, which checks the server's signature, in the clear and under TLS."""
    words = f"ada\t{WORD}\nada\twrong\nnobody\t{WORD}\n"
    out = run(*LDAPTIVE, "scram", served.port, served.authority.certificate, stdin=words, timeout=120).out
    assert out.splitlines() == [f"code 0 dn:{ADA}"] * 2 + ["code 49 "] * 4


def test_s3_openldaps_tools(served):
    """libldap tells libsasl what the channel is bound by. By the name of the mechanism alone nothing is bound."""
    asked = ["ldapwhoami", "-O", "none", "-ZZ", "-H", served.url, "-U", "ada", "-o", "SASL_CBINDING=tls-endpoint", "-d", 2]
    for mechanism, header in (("SCRAM-SHA-256-PLUS", "p=ldap,,"), (None, "p=ldap,,"), ("SCRAM-SHA-256", "n,,")):
        named = ["-Y", mechanism] if mechanism else []
        for word, code in ((WORD, 0), ("wrong", 49)):
            done = run(*asked, *named, "-w", word, code=code, env=served.env)
            assert (done.out.strip() == f"dn:{ADA}") == (code == 0)
            # What it sends is shown as a dump, sixteen octets a line.
            assert header in "".join(re.findall(r"^  [0-9a-f]{4}:  .{51}(.{16})", done.err, re.MULTILINE)), done.err


class Middle:
    """Somebody in the middle of a client and a server, whose certificate the client trusts: all passes through both sessions of TLS."""

    def __init__(self, pair, port, context):
        self.port, self.context = port, context
        shown = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        shown.load_cert_chain(*pair)
        self.listener = shown.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.port)), server_hostname="localhost")
                threading.Thread(target=self.pass_on, args=[client, server], daemon=True).start()

    @staticmethod
    def pass_on(client, server):
        """Both ways in one thread: a session of TLS must not be read and written at the same time."""
        other = {client: server, server: client}
        with client, server, contextlib.suppress(OSError):
            while True:
                for one in select.select(list(other), [], [])[0]:
                    while (some := Middle.take(one)) is not None:
                        if not some:
                            return
                        other[one].sendall(some)

    @staticmethod
    def take(one):
        """What has come by now: None if it is no data, as a ticket of TLS, nothing at the end."""
        one.setblocking(False)
        try:
            return one.recv(1 << 16)
        except ssl.SSLWantReadError:
            return None
        finally:
            one.setblocking(True)

    def __enter__(self):
        return f"ldaps://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(PATIENCE)


def test_s3_openldaps_tools_notice_somebody_in_the_middle(serve, authority, context):  # noqa: F811
    """By the binding alone: without it the certificate is as good as the server's."""
    here = serve(arguments=["--index", "uid:eq", "--password-scheme", "scram-sha-256"])
    run("ldappasswd", *here.admin, "-s", WORD, ADA)
    env = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand"}
    asked = ["ldapwhoami", "-Q", "-O", "none", "-U", "ada", "-w", WORD, "-o"]
    bound = [*asked, "SASL_CBINDING=tls-endpoint", "-Y", "SCRAM-SHA-256-PLUS"]
    with Middle(authority.sign("middle"), here.secure_port, context) as middle:
        for url, code in ((f"ldaps://127.0.0.1:{here.secure_port}", 0), (middle, 49)):
            assert run(*bound, "-H", url, code=code, env=env).out.strip() == ("" if code else f"dn:{ADA}")
        assert run(*asked, "SASL_CBINDING=none", "-Y", "SCRAM-SHA-256", "-H", middle, env=env).out.strip() == f"dn:{ADA}"


def test_s2_every_failure_is_the_same(served):
    """Wrong word, unknown name, a user without a value, a user with another form: the same messages with the same sizes."""
    def failed(user, password="wrong"):
        connection, scram = raw(served), Scram(user, password, nonce=b"fixed-nonce-of-the-client")
        code, challenge = ask(connection, NAME, scram.first())
        assert code == 14
        end = ask(connection, NAME, scram.final(challenge))
        return scram.salt, (len(challenge), len(scram.salt), scram.count, end)

    seen = [failed(name) for name in ("ada", "nobody", "bruno", f"dn:{BRUNO}", "dn:cn=nothing", ADMIN, "admin")]
    assert len({shape for _, shape in seen}) == 1, seen
    assert seen[0][1][3] == (49, b"e=invalid-proof")
    # The salt is the same at every try, for all, and differs from name to name.
    again = [failed(name) for name in ("ada", "nobody", "bruno")]
    assert [salt for salt, _ in again] == [salt for salt, _ in seen[:3]] and len({salt for salt, _ in seen[:3]}) == 3
    assert failed("NoBody")[0] == seen[1][0]


def test_s2_the_salt_of_nobody_outlives_a_restart(keep, tmp_path):
    def salt(here):
        connection, scram = raw(here), Scram("nobody", "x")
        _, challenge = ask(connection, NAME, scram.first())
        scram.final(challenge)
        return scram.salt

    here = keep("--password-scheme", "scram-sha-256", ldif="people.ldif")
    before = salt(here)
    here.end()
    assert salt(keep("--password-scheme", "scram-sha-256")) == before


def test_s2_it_is_listed_where_it_is_served(served, server):
    def listed(here, *flags, env=None):
        out = run("ldapsearch", "-x", *flags, "-H", here.url, "-LLL", "-s", "base", "-b", "", "supportedSASLMechanisms", env=env).out
        return {line.split()[1] for line in out.splitlines() if line.startswith("supported")}

    assert listed(served) == {"SCRAM-SHA-256", "PLAIN"}
    assert listed(served, "-ZZ", env=served.env) == {"SCRAM-SHA-256", "SCRAM-SHA-256-PLUS", "PLAIN"}
    without = server()
    assert listed(without) == {"PLAIN"}
    assert ask(raw(without), NAME, Scram("ada", WORD).first())[0] == 7
    assert ask(raw(served), PLUS, Scram("ada", WORD, header=b"p=tls-exporter,,").first())[0] == 7, "in the clear"


def test_s3_bound_to_the_certificate(served):
    """By the two names that clients have for it; another certificate, as somebody in the middle has, is none. libsasl names the mechanism without -PLUS."""
    of_libldap = b"p=ldap,,", b"tls-server-end-point:" + end_point(served)
    for mechanism, header, data in ((PLUS, b"p=tls-server-end-point,,", end_point(served)), (PLUS, *of_libldap), (NAME, *of_libldap)):
        connection, scram = raw(served, secured=True), Scram("ada", WORD, header, data)
        assert exchange(connection, scram, mechanism) == (0, scram.expected)
        for wrong in (hashlib.sha256(b"another").digest(), b"", data[:-1]):
            scram = Scram("ada", WORD, header, wrong)
            assert exchange(raw(served, secured=True), scram, mechanism) == (49, b"e=invalid-proof"), header
    assert exchange(raw(served), Scram("ada", WORD, *of_libldap)) == (49, b"e=unsupported-channel-binding-type"), "in the clear"
    # The session keeps what it was shown, whatever is in force by now.
    connection, shown = raw(served, secured=True), end_point(served)
    served.authority.sign("server")
    os.kill(served.pid, 1)
    scram = Scram("ada", WORD, b"p=tls-server-end-point,,", shown)
    assert exchange(connection, scram, PLUS) == (0, scram.expected)


class Openssl:
    """A connection by the client of OpenSSL's tool, which says what the TLS session exports (RFC 5705). Python's library does not."""

    def __init__(self, served, *options):
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{served.port}", "-starttls", "ldap", "-CAfile", served.authority.certificate, "-ign_eof",
             "-keymatexport", "EXPORTER-Channel-Binding", "-keymatexportlen", "32", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.seen = b""
        self.exported = bytes.fromhex(self.find(rb"Keying material: ([0-9A-F]{64})\n")[1].decode())

    def more(self):
        until = time.monotonic() + PATIENCE
        assert select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0], self.seen
        piece = os.read(self.process.stdout.fileno(), 1 << 16)
        assert piece, self.seen
        self.seen += piece

    def find(self, pattern):
        """The match in what comes, which is text of the tool too. What is up to its end is done with."""
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            self.more()
        self.seen = self.seen[found.end() :]
        return found

    def send(self, message):
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def message(self):
        """The next answer to a bind: the first message that begins like one."""
        found = self.find(rb"\x30(?:([\x00-\x7f])|\x81(.))(?=\x02\x01\x01\x61)")
        size = (found[1] or found[2])[0]
        while len(self.seen) < size:
            self.more()
        message, self.seen = self.seen[:size], self.seen[size:]
        return message

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def test_s3_bound_to_the_session(served):
    """By what both ends export of the session (RFC 9266); what another session exports is none, and TLS 1.2 has none,
    unless each of its sessions must have an extended master secret."""
    header = b"p=tls-exporter,,"
    one, another, old = Openssl(served, "-tls1_3"), Openssl(served, "-tls1_3"), Openssl(served, "-tls1_2")
    with contextlib.ExitStack() as ends:
        [ends.callback(each.end) for each in (one, another, old)]
        assert one.exported != another.exported
        for wrong in (another.exported, end_point(served), b""):
            assert exchange(one, Scram("ada", WORD, header, wrong), PLUS) == (49, b"e=invalid-proof")
        for each in (one, another):
            scram = Scram("ada", WORD, header, each.exported)
            assert exchange(each, scram, PLUS) == (0, scram.expected)
        # The other binding works beside it.
        scram = Scram("ada", WORD, b"p=tls-server-end-point,,", end_point(served))
        assert exchange(one, scram, PLUS) == (0, scram.expected)
        assert exchange(old, Scram("ada", WORD, header, old.exported), PLUS) == (49, b"e=unsupported-channel-binding-type")


def test_s3_bound_to_a_session_of_tls_1_2(tmp_path, server):
    """With `tls.require-ems`. A client without an extended master secret (OpenSSL 1.0 has none) is refused there, and only there."""
    strict, lax = begin(tmp_path / "strict", server, "require-ems = true"), begin(tmp_path / "lax", server)
    header = b"p=tls-exporter,,"
    with contextlib.ExitStack() as ends:
        one, another = Openssl(strict, "-tls1_2"), Openssl(strict, "-tls1_2")
        [ends.callback(each.end) for each in (one, another)]
        assert exchange(one, Scram("ada", WORD, header, another.exported), PLUS) == (49, b"e=invalid-proof")
        scram = Scram("ada", WORD, header, one.exported)
        assert exchange(one, scram, PLUS) == (0, scram.expected)
    for each, is_refused in ((strict, True), (lax, False)):
        context = ssl.create_default_context(cafile=each.authority.certificate)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.options |= NO_EXTENDED_MASTER_SECRET
        refused = pytest.raises(ssl.SSLError) if is_refused else contextlib.nullcontext()
        with refused:
            secure(Raw(each.port), context)


def test_s4_downgrades_and_altered_messages(served):
    clear, wrong = raw(served), (49, b"e=invalid-proof")
    scram = Scram("ada", WORD, b"y,,")
    assert exchange(raw(served), scram) == (0, scram.expected), "in the clear there is no channel binding to be hidden"
    # Under TLS the list has -PLUS: a client that was not shown it has been cheated.
    assert exchange(raw(served, secured=True), Scram("ada", WORD, b"y,,"))[0] == 49
    assert exchange(raw(served, secured=True), Scram("ada", WORD, b"p=tls-server-end-point,,", end_point(served)))[0] == 49
    for header in (b"n,,", b"y,,"):
        assert exchange(raw(served, secured=True), Scram("ada", WORD, header), PLUS)[0] == 49, header
    assert exchange(raw(served, secured=True), Scram("ada", WORD, b"p=tls-unique,,"), PLUS) == (49, b"e=unsupported-channel-binding-type")
    assert exchange(clear, Scram("ada", WORD), binding=b"eSws") == wrong, "another header"
    assert exchange(clear, Scram("ada", WORD), binding=b"biwsAAA=") == wrong, "data that nobody asked for"
    assert exchange(clear, Scram("ada", WORD), nonce=b"another") == wrong
    assert exchange(clear, Scram("ada", WORD), proof=bytes(32)) == wrong
    assert exchange(clear, Scram("ada", WORD), proof=b"") == wrong
    # A proof is of one exchange.
    old = Scram("ada", WORD, nonce=b"the-same-nonce-again")
    _, challenge = ask(clear, NAME, old.first())
    message = old.final(challenge)
    assert ask(clear, NAME, message) == (0, old.expected)
    assert ask(clear, NAME, message)[0] == 49
    assert ask(clear, NAME, old.first())[0] == 14 and ask(clear, NAME, message) == wrong
    for message in (b"", b"n,,m=x,n=ada,r=x", b"n,,n=a=da,r=x", b"n,,n=ada\0,r=x", b"n,,n=ada", b"\xff"):
        assert ask(clear, NAME, message)[0] == 49, message
    # Nobody is bound between the steps, and another mechanism begins anew.
    scram = Scram("ada", WORD)
    _, challenge = ask(clear, NAME, scram.first())
    assert ask(clear, b"PLAIN", b"\0ada\0wrong")[0] == 49
    assert ask(clear, NAME, scram.final(challenge))[0] == 49


def test_s2_names_with_signs(served):
    """Commas and the sign of equality are escaped; the root DN and DNs work as in every bind."""
    person = f"uid=a\\2Cb\\3Dc,{PEOPLE}"
    connect(served).add_s(person, [("objectClass", [b"account", b"simpleSecurityObject"]), ("uid", [b"a,b=c"]), ("userPassword", [WORD.encode()])])
    for user in ("a,b=c", "dn:" + person):
        scram = Scram(user, WORD)
        assert exchange(raw(served), scram) == (0, scram.expected), user


def test_s2_the_policy_counts(served):
    """Failures lock, a lock is answered like any failure, and a password that has expired is none."""
    admin = connect(served)
    name = f"cn=policy,{PEOPLE}"
    admin.add_s(name, [("objectClass", [b"pwdPolicy", b"device"]), ("pwdAttribute", [b"userPassword"]), ("pwdLockout", [b"TRUE"]),
                       ("pwdMaxFailure", [b"3"]), ("pwdMaxAge", [b"1000"])])
    admin.modify_s(ADA, [(0, "pwdPolicySubentry", [name.encode()])])
    for _ in range(3):
        assert exchange(raw(served), Scram("ada", "wrong")) == (49, b"e=invalid-proof")
    assert exchange(raw(served), Scram("ada", WORD)) == (49, b"e=invalid-proof")
    [(_, entry)] = admin.search_s(ADA, 0, attrlist=["pwdAccountLockedTime"])
    assert entry["pwdAccountLockedTime"]
    admin.modify_s(ADA, [(1, "pwdAccountLockedTime", None)])
    scram = Scram("ada", WORD)
    assert exchange(raw(served), scram) == (0, scram.expected)
    admin.modify_s(ADA, [(2, "pwdChangedTime", [b"20200101000000Z"])])
    assert exchange(raw(served), Scram("ada", WORD)) == (49, b"e=invalid-proof")
