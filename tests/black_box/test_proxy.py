"""The PROXY protocol: what a load balancer says of clients counts, and nobody else may say it (T8)."""

import json
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from ber import integer, ldap_bind, tlv
from certificates import Authority
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, run
from test_tls import CONFIDENTIALITY_REQUIRED, SUCCESS, Raw, search

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BIND = ldap_bind(ADMIN.encode(), SECRET.encode(), 1)


def version_1(source, port=4000):
    family = "TCP6" if ":" in source else "TCP4"
    return f"PROXY {family} {source} {'::1' if ':' in source else '10.0.0.1'} {port} 389\r\n".encode()


def version_2(source, command=0x21, values=b""):
    family, kind = (socket.AF_INET6, 0x21) if ":" in source else (socket.AF_INET, 0x11)
    addresses = 2 * socket.inet_pton(family, source) + b"\x10\x00\x01\x85"
    return SIGNATURE + bytes([command, kind]) + (len(addresses) + len(values)).to_bytes(2, "big") + addresses + values


CLIENT_TLS = b"\x20\x00\x05\x01\x00\x00\x00\x00"


@pytest.fixture
def serve(tmp_path, server):
    """`serve(...)` starts a server; `ports` are those of two listeners behind load balancers, the second with TLS from the first byte."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("server")

    def begin(*lines, proxy='["127.0.0.1", "::1"]', rules=(), limits=(), **settings):
        config = tmp_path / "pando.toml"
        text = ["[tls]", f'certificate = "{certificate}"', f'key = "{key}"', *lines, "[limits]", *limits]
        for scheme in ("ldap", "ldaps"):
            text += ["[[listener]]", f'url = "{scheme}://127.0.0.1:0"', f"proxy = {proxy}", *rules]
        config.write_text("\n".join(text) + "\n")
        begun = server("--config", config, **settings)
        begun.ports = [int(begun.process.stdout.readline().decode().rsplit(":", 1)[1]) for _ in range(2)]
        begun.context = ssl.create_default_context(cafile=authority.certificate)
        return begun

    return begin


def code(port, header, request=BIND):
    """The code of a bind behind a header; None if the connection is closed."""
    raw = Raw(port)
    try:
        raw.send(header, request)
        return raw.result()
    except (AssertionError, ConnectionResetError, BrokenPipeError):
        return None


def test_t8_the_stated_address_is_the_clients(serve):
    """A password may pass from this machine and not from others, whatever the load balancer's address is."""
    port = serve().ports[0]
    for header, expected in [(version_1("127.0.0.1"), SUCCESS), (version_1("192.0.2.7"), CONFIDENTIALITY_REQUIRED), (version_1("::1"), SUCCESS),
                             (version_1("2001:db8::7"), CONFIDENTIALITY_REQUIRED), (b"PROXY UNKNOWN\r\n", SUCCESS), (version_2("127.0.0.1"), SUCCESS),
                             (version_2("192.0.2.7"), CONFIDENTIALITY_REQUIRED), (version_2("2001:db8::7"), CONFIDENTIALITY_REQUIRED),
                             (version_2("192.0.2.7", command=0x20), SUCCESS), (version_2("192.0.2.7", values=CLIENT_TLS), CONFIDENTIALITY_REQUIRED),
                             (SIGNATURE + b"\x20\x00\x00\x00", SUCCESS)]:
        assert code(port, header) == expected, header
    # In pieces, with the request in the same segment as the end of the header.
    for header in (version_1("127.0.0.1"), version_2("127.0.0.1")):
        for cut in range(1, len(header), 5):
            raw = Raw(port)
            raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.send(header[:cut])
            raw.send(header[cut:] + BIND)
            assert raw.result() == SUCCESS


def test_t8_what_is_said_of_tls_counts_where_it_is_trusted(serve):
    port = serve(rules=["proxy-tls = true"]).ports[0]
    assert code(port, version_2("192.0.2.7", values=CLIENT_TLS)) == SUCCESS
    assert code(port, version_2("192.0.2.7")) == CONFIDENTIALITY_REQUIRED
    assert code(port, version_2("192.0.2.7", values=CLIENT_TLS.replace(b"\x05\x01", b"\x05\x02"))) == CONFIDENTIALITY_REQUIRED


def test_t8_the_header_comes_before_tls(serve):
    server = serve()
    raw = Raw(server.ports[1])
    raw.send(version_2("192.0.2.7"))
    raw.secure(server.context)
    raw.send(BIND)
    assert raw.result() == SUCCESS


def test_t8_limits_count_the_stated_address(serve):
    """Two connections of an address, however many come by the load balancer."""
    server = serve(limits=["connections-per-address = 2"])
    kept = []
    for number in range(1, 6):
        raw = Raw(server.ports[0])
        raw.send(version_1(f"192.0.2.{number}"), search(1))
        assert raw.message() and raw.message()
        kept.append(raw)
    second, third = Raw(server.ports[0]), Raw(server.ports[0])
    second.send(version_1("192.0.2.1", 4001), search(1))
    assert second.message()
    third.send(version_1("192.0.2.1", 4002), search(1))
    assert third.is_closed()
    begin = time.monotonic()
    while 'limit="connections-per-address" peer=192.0.2.1 count=1' not in server.log:
        assert time.monotonic() - begin < PATIENCE, server.log


def test_t8_rules_and_logs_see_the_stated_address(serve, tmp_path):
    """A rule by network, lines of both logs: the client is where the load balancer says."""
    access, security = tmp_path / "access.log", tmp_path / "security.log"
    server = serve("[[access.rule]]", 'name = "near"', 'to = { all = true, attrs = ["title"] }', 'by = [{ peer = "192.0.2.0/24" }]', 'deny = ["see"]', "rank = 5",
                   "[log]", 'access = "all"', f'access-file = "{access}"', f'security-file = "{security}"', rules=["proxy-tls = true"])
    wrong, ada = b"uid=bruno," + PEOPLE.encode(), b"uid=ada," + PEOPLE.encode()
    for source, is_shown in (("192.0.2.7", False), ("198.51.100.7", True), ("2001:db8::7", True)):
        raw = Raw(server.ports[0])
        raw.send(version_2(source, values=CLIENT_TLS), ldap_bind(wrong, b"wrong", 1), ldap_bind(ada, b"ada's password", 2))
        assert (raw.result(), raw.result()) == (49, SUCCESS)
        raw.send(search(3, base=ada, attributes=[b"title", b"sn"]))
        found = raw.message()
        assert b"Okafor" in found and (b"Chair" in found) == is_shown, source
        assert raw.message()
    server.end()
    sources = ["192.0.2.7:4096", "198.51.100.7:4096", "[2001:db8::7]:4096"]
    for path, wanted in ((access, {"op": "search"}), (access, {"op": "bind", "code": 0}), (security, {"event": "bind-failed"})):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        seen = [line["peer"] for line in lines if all(line.get(key) == value for key, value in wanted.items())]
        assert sorted(seen) == sorted(sources), (wanted, seen)


def modify(message_id, entry, value):
    change = tlv(0x30, integer(2, 10), tlv(0x30, tlv(4, b"title"), tlv(0x31, tlv(4, value))))
    return tlv(0x30, integer(message_id), tlv(0x66, tlv(4, entry.encode()), tlv(0x30, change)))


def test_t8_logs_have_the_load_balancer_too(serve, tmp_path):
    """The address of the load balancer is `via` in all logs, and of a client that came without one there is none."""
    access, security, audit = (tmp_path / f"{name}.log" for name in ("access", "security", "audit"))
    balanced = serve("[log]", 'access = "all"', f'access-file = "{access}"', f'security-file = "{security}"', f'audit-file = "{audit}"',
                     rules=["proxy-tls = true"], data=tmp_path / "data")
    sources = []
    for header in (version_2("192.0.2.7", values=CLIENT_TLS), b"PROXY UNKNOWN\r\n"):
        raw = Raw(balanced.ports[0])
        raw.send(header, BIND)
        assert raw.result() == SUCCESS
        raw.send(modify(3, f"uid=ada,{PEOPLE}", header[-5:].hex().encode()), ldap_bind(b"uid=bruno," + PEOPLE.encode(), b"wrong", 4))
        assert (raw.result(), raw.result()) == (SUCCESS, 49)
        balancer = "%s:%s" % raw.socket.getsockname()
        sources.append(("192.0.2.7:4096", balancer) if header.startswith(SIGNATURE) else (balancer, None))
    balanced.end()
    for path, wanted in ((access, {"op": "open"}), (access, {"op": "modify"}), (security, {"event": "bind-failed"}), (audit, {"op": "modify"})):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found = [(line["peer"], line.get("via")) for line in lines if all(line.get(key) == value for key, value in wanted.items())]
        assert sorted(found, key=str) == sorted(sources, key=str), (path, found)


def test_t8_what_is_missing_cut_long_or_from_others_is_closed(serve):
    server = serve()
    port = server.ports[0]
    for header in [b"", b"GARBAGE ", b"PROXY TCP4 x y 1 2\r\n", b"PROXY UNKNOWN " + b"x" * 100 + b"\r\n", SIGNATURE + b"\x21\x11\x04\x01" + bytes(1025),
                   SIGNATURE + b"\x31\x11\x00\x00", version_2("127.0.0.1", values=b"\x20\x00")]:
        assert code(port, header) is None, header
    # Not whole in three seconds, though a byte comes now and then.
    begin = time.monotonic()
    raw = Raw(port)
    raw.send(SIGNATURE[:5])
    assert raw.is_closed() and time.monotonic() - begin < 20
    # Of a listener that trusts others it is no header, and no LDAP either.
    assert code(server.port, b"", BIND) == SUCCESS
    for header in (version_1("127.0.0.1"), version_2("127.0.0.1")):
        raw = Raw(server.port)
        raw.send(header, BIND)
        message = raw.message()
        assert (not message or b"1.3.6.1.4.1.1466.20036" in message) and raw.is_closed()
    server.end()
    other = serve(proxy='["192.0.2.0/24"]')
    assert code(other.ports[0], b"", BIND) == SUCCESS


@pytest.mark.skipif(not shutil.which("haproxy"), reason="haproxy is not there")
@pytest.mark.parametrize("form", ["send-proxy", "send-proxy-v2", "send-proxy-v2-ssl"])
def test_t8_behind_haproxy(serve, tmp_path, form):
    """It says where its client is; what it says of itself (LOCAL, when it looks whether the server is there) is understood, too."""
    server = serve()
    front = socket.socket()
    front.bind(("127.0.0.1", 0))
    port = front.getsockname()[1]
    front.close()
    config = tmp_path / "haproxy.cfg"
    config.write_text(f"defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\nlisten ldap\n bind 127.0.0.1:{port}\n"
                      f" server pando 127.0.0.1:{server.ports[0]} {form} check inter 200ms\n")
    process = subprocess.Popen(["haproxy", "-db", "-f", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        begin = time.monotonic()
        while (done := run("ldapwhoami", "-x", "-H", f"ldap://127.0.0.1:{port}", "-D", ADMIN, "-w", SECRET, code=None)).code != 0:
            assert time.monotonic() - begin < PATIENCE, done
        assert done.out.strip() == f"dn:{ADMIN}"
        assert "PROXY" not in server.log
    finally:
        process.terminate()
        process.wait(PATIENCE)
