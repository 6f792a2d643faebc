"""T6: what a scanner finds of protocols and suites, and what openssl does not get."""

import shutil
import ssl
import subprocess
import xml.etree.ElementTree

import pytest

from ber import integer, tlv
from conftest import PATIENCE, run
from test_tls import Raw, authority, context, search, serve  # noqa: F401

SUITES = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"} | {
    f"ECDHE-{key}-{cipher}" for key in ("ECDSA", "RSA") for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")}


def rsa(folder):
    """A certificate by itself with an RSA key: the exchange of keys by RSA needs one."""
    certificate, key = folder / "rsa.crt", folder / "rsa.key"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 30, "-subj", "/CN=rsa", "-keyout", key, "-out", certificate)
    return certificate, key


@pytest.mark.skipif(not shutil.which("sslscan"), reason="sslscan is not there")
def test_t6_sslscan_finds_the_nine_suites_only(serve, authority, tmp_path):  # noqa: F811
    """Not the trial of groups and of heartbeats: it waits for answers to what is closed, three seconds each."""
    found = set()
    for pair in (authority.sign("server"), rsa(tmp_path)):
        port = serve("[limits]", 'trusted = ["127.0.0.1"]', pairs=[pair]).secure_port
        out = run("sslscan", "--no-heartbleed", "--no-groups", "--xml=-", f"127.0.0.1:{port}").out
        [scan] = xml.etree.ElementTree.fromstring(out)
        enabled = {(item.get("type"), item.get("version")) for item in scan.iter("protocol") if item.get("enabled") == "1"}
        assert enabled == {("tls", "1.2"), ("tls", "1.3")}, out
        assert {item.get("enabled") for item in scan.iter("protocol")} == {"0", "1"} and len(list(scan.iter("protocol"))) == 6
        assert [item.get("supported") for item in scan.iter("renegotiation")] == ["0"], out
        assert not [item for item in scan.iter("compression") if item.get("supported") != "0"], out
        found |= {item.get("cipher") for item in scan.iter("cipher")}
    assert found == SUITES


def test_t6_nothing_early_no_heartbeat_no_renegotiation(serve, context, tmp_path):  # noqa: F811
    """A ticket allows no early data; a record of another kind and a second ClientHello inside of the session end it."""
    port = serve().secure_port
    ticket, early = tmp_path / "ticket", tmp_path / "early"
    early.write_bytes(search(1))

    def client(until, *arguments, text=b""):
        """What s_client says. It is sent the text, or the end of its input, when it has said `until`."""
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = b""
        while until not in out:
            line = process.stdout.readline()
            assert line, out
            out += line
        return out + process.communicate(text, timeout=PATIENCE)[0]

    # The server closes after an unbind; what it has sent is read until then.
    unbind = tlv(0x30, integer(1), tlv(0x42))
    first = client(b"Early data", "-tls1_3", "-ign_eof", "-sess_out", ticket, text=unbind)
    assert b"Max Early Data: 0" in first
    resumed = client(b"Early data", "-tls1_3", "-sess_in", ticket, "-early_data", early, "-ign_eof", text=unbind)
    assert b"Reused, TLSv1.3" in resumed and b"Early data was not sent" in resumed, resumed
    # s_client asks for a renegotiation at this line.
    asked = client(b"Extended master secret", "-tls1_2", text=b"R\n")
    assert b"RENEGOTIATING" in asked and b"no renegotiation" in asked, asked
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.maximum_version = version
        raw, incoming, outgoing = Raw(port), ssl.MemoryBIO(), ssl.MemoryBIO()
        with pytest.raises(ssl.SSLWantReadError):
            context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
        raw.send(outgoing.read())
        assert raw.socket.recv(1 << 16)
        # A heartbeat that asks for 16 KiB back (CVE-2014-0160): an alert, and the end.
        raw.send(b"\x18\x03\x03\x00\x03\x01\x40\x00")
        rest = b""
        while more := raw.socket.recv(1 << 16):
            rest += more
        assert len(rest) < 2000, rest
