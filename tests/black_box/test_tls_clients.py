"""T1: StartTLS, ldaps and ldapi with clients of other languages, whose own code speaks LDAP and whose own library speaks TLS."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from certificates import Authority
from conftest import ADMIN, DATA, LDAPTIVE, PANDO, PEOPLE, SECRET, run
from test_ldapi import url_of
from test_tls import authority, serve  # noqa: F401

ADA = f"uid=ada,{PEOPLE}"
GO = Path(__file__).parents[1] / "go_ldap"
LDAPTS = Path(__file__).parents[1] / "node_ldapts" / "main.cjs"
# Where its packages are; tests/run says it.
MODULES = os.environ.get("NODE_MODULES", "")


def has_perl():
    return subprocess.run(["perl", "-MNet::LDAP", "-MIO::Socket::SSL", "-e", "1"], capture_output=True).returncode == 0


@pytest.fixture
def served(serve, tmp_path):  # noqa: F811
    """A server with all three ways, an authority that signed its certificate and one that did not."""
    socket = tmp_path / "ldapi"
    begun = serve(arguments=["--listen", url_of(socket)])
    assert begun.process.stdout.readline().decode().split() == ["ready", url_of(socket)], begun.log
    other = Authority(tmp_path / "other")
    begun.authorities = [tmp_path / "ca" / "ca.crt", other.certificate]
    begun.places = [begun.port, begun.secure_port, socket]
    return begun


def lines(who, local):
    """What a client prints that trusts the first of two authorities only."""
    return [f"StartTLS {who}", f"ldaps {who}", "StartTLS refused", "ldaps refused", *([f"ldapi {who}"] if local else [])]


@pytest.mark.skipif(not has_perl(), reason="Perl's LDAP is not there")
def test_t1_net_ldap(served):
    out = run("perl", DATA / "net_ldap.pl", *served.places, ADMIN, SECRET, *served.authorities).out
    assert out.splitlines() == lines(f"dn:{ADMIN}", local=True)


def test_t1_jndi(served):
    """It knows no sockets of the machine."""
    java = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", DATA / "Jndi.java"]
    out = run(*java, *served.places[:2], ADMIN, SECRET, ADA, *served.authorities, timeout=120).out
    assert out.splitlines() == lines("uid: ada", local=False)


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not there")
def test_t1_go_ldap(served, tmp_path):
    program = tmp_path / "go-ldap"
    run("go", "build", "-C", GO, "-buildvcs=false", "-o", program, ".", timeout=300)
    out = run(program, "tls", *served.places, ADMIN, SECRET, *served.authorities).out
    assert out.splitlines() == lines(f"dn:{ADMIN}", local=True)


def test_t1_ldaptive(served):
    """Its TLS is that of Java, by Netty."""
    out = run(*LDAPTIVE, "tls", *served.places[:2], ADMIN, SECRET, *served.authorities, timeout=120).out
    assert out.splitlines() == lines(f"dn:{ADMIN}", local=False)


@pytest.mark.skipif(not MODULES, reason="NODE_MODULES names no folder of packages; tests/run sets it")
def test_t1_ldapts(served):
    """It knows no sockets of the machine."""
    out = run("node", LDAPTS, *served.places[:2], ADMIN, SECRET, *served.authorities, env={"NODE_PATH": MODULES}).out
    assert out.splitlines() == lines(f"dn:{ADMIN}", local=False)


def test_t1_commands_of_the_server_itself(served, tmp_path):
    """import, export, index and config; `pando compare` has a test of its own."""
    (tmp_path / "root.password").write_text(SECRET + "\n")
    who = ["--bind-dn", ADMIN, "--password-file", tmp_path / "root.password"]
    known, other = (["--ca-file", authority] for authority in served.authorities)
    secure, start_tls = ["--url", served.secure_url, *known], ["--url", served.url, *known, "--start-tls"]
    # More than TLS takes before its handshake has ended.
    big = tmp_path / "big.ldif"
    big.write_text(f"dn: uid=big,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: big\ncn: big\nsn: big\ndescription: {'x' * 300_000}\n")
    refused = run(PANDO, "import", *secure, "--quiet", big, code=1)
    assert "limits.message-anonymous" in refused.err, refused.err
    run(PANDO, "import", *secure, *who, "--quiet", big)
    out = tmp_path / "out.ldif"
    run(PANDO, "export", *start_tls, *who, "--filter", "(uid=big)", "-o", out, "--quiet")
    assert "x" * 70 in out.read_text()
    for way in (secure, start_tls):
        assert run(PANDO, "config", "get", *way, *who, "anonymous").out == "none\n"
        run(PANDO, "index", "list", *way, *who)
        # A server that nobody vouches for is sent no password.
        refused = run(PANDO, "index", "list", *way[:2], *way[4:], *other, *who, code=1)
        assert "TLS: invalid peer certificate: " in refused.err, refused.err
    clear = run(PANDO, "index", "list", "--url", served.url, *known, *who, code=2)
    assert "--ca-file is for ldaps:// or --start-tls" in clear.err
    assert "--ca-file names the authorities" in run(PANDO, "index", "list", "--url", served.secure_url, *who, code=2).err
    # No TLS where it is expected, and TLS where it is not.
    assert run(PANDO, "index", "list", "--url", f"ldaps://127.0.0.1:{served.port}", *known, *who, code=1).err
    assert run(PANDO, "index", "list", "--url", f"ldap://127.0.0.1:{served.secure_port}", *who, code=1).err
