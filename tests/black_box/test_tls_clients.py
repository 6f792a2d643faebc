"""T1: StartTLS, ldaps and ldapi with clients of other languages, whose own code speaks LDAP and whose own library speaks TLS."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from certificates import Authority
from conftest import ADMIN, DATA, LDAPTIVE, PEOPLE, SECRET, run
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
