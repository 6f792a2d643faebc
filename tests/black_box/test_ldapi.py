"""ldapi: clients of the same machine over a Unix socket. T1: what foreign clients do with it."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import ldap
import pytest

from ber import ldap_bind
from conftest import ADMIN, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, run


def url_of(path):
    """The URL of a socket."""
    return "ldapi://" + str(path).replace("/", "%2F")


@pytest.fixture
def local(tmp_path, server):
    """`local(...)` starts a server that listens on a socket, too: `socket_url` names it, `socket_path` is where it lies."""

    # Other users reach it, as they do a socket below /run.
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)

    def begin(*lines, mode="", arguments=(), **settings):
        config = tmp_path / "pando.toml"
        config.write_text("\n".join([*lines, ""]))
        path = folder / "ldapi"
        begun = server("--listen", url_of(path) + mode, "--config", config, *arguments, **settings)
        line = begun.process.stdout.readline().decode().split()
        assert line == ["ready", url_of(path)], begun.log
        begun.socket_path, begun.socket_url = path, line[1]
        return begun

    yield begin
    shutil.rmtree(folder)


def test_t1_ldap_utils_and_python_ldap(local):
    """Simple binds, searches and changes over a socket."""
    server = local()
    who = ["-x", "-H", server.socket_url, "-D", ADMIN, "-w", SECRET]
    assert run("ldapwhoami", *who).out.strip() == f"dn:{ADMIN}"
    assert len(run("ldapsearch", *who, "-LLL", "-b", SUFFIX, "(objectClass=*)", "1.1").dns) > 5
    connection = ldap.initialize(server.socket_url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.simple_bind_s(ADMIN, SECRET)
    people = connection.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=*)", ["cn"])
    connection.modify_s(people[0][0], [(ldap.MOD_REPLACE, "description", b"x" * 100_000)])
    assert connection.read_s(people[0][0])["description"] == [b"x" * 100_000]


def test_the_file_has_its_permissions_and_goes_with_the_server(local):
    server = local(mode="?mode=0640")
    assert stat.S_IMODE(os.stat(server.socket_path).st_mode) == 0o640
    assert stat.S_ISSOCK(os.stat(server.socket_path).st_mode)
    server.end()
    assert not server.socket_path.exists()
    assert [name for name in os.listdir(server.socket_path.parent) if "ldapi" in name] == []


def test_what_a_killed_server_left_is_replaced(local, tmp_path):
    """And nothing else: neither the socket of a server that lives nor a file."""
    first = local()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(PATIENCE)
    assert first.socket_path.exists()
    second = local()
    first.end = lambda: None
    assert run("ldapwhoami", "-x", "-H", second.socket_url).out.strip() == "anonymous"
    arguments = ["serve", "--memory", "--suffix", SUFFIX, "--listen"]
    refused = run(PANDO, *arguments, second.socket_url, code=1)
    assert "another process listens there" in refused.err
    (tmp_path / "text").write_text("text")
    refused = run(PANDO, *arguments, url_of(tmp_path / "text"), code=1)
    assert "no socket" in refused.err and (tmp_path / "text").read_text() == "text"
    assert run("ldapwhoami", "-x", "-H", second.socket_url).out.strip() == "anonymous"


def test_limits_by_address_are_not_for_sockets(local):
    """Each connection over TCP from an address counts, one over a socket does not."""
    server = local("[limits]", "connections-per-address = 2")
    sockets = []
    for _ in range(5):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(str(server.socket_path))
        client.sendall(ldap_bind(ADMIN.encode(), SECRET.encode(), 1))
        assert client.recv(100)[-7:].startswith(b"\x0a\x01\x00")
        sockets.append(client)
    assert run("ldapwhoami", "-x", "-H", server.url).out.strip() == "anonymous"


def test_a_socket_counts_for_bits_of_a_key(local):
    """`security.ldapi-ssf`: what a password needs of a connection."""
    server = local("[security]", "password = 71")
    who = ["-x", "-D", ADMIN, "-w", SECRET]
    assert run("ldapwhoami", "-H", server.socket_url, *who).out.strip() == f"dn:{ADMIN}"
    assert "(13)" in run("ldapwhoami", "-H", server.url, *who, code=13).said
    server.end()
    weaker = local("[security]", "password = 71", "ldapi-ssf = 70")
    assert "(13)" in run("ldapwhoami", "-H", weaker.socket_url, *who, code=13).said


def test_what_is_no_address_of_a_socket_is_said(tmp_path):
    for url, text in [("ldapi:///", "%2F for each slash"), ("ldapi://%2Fx?mode=9", "no permissions"),
                      (url_of(tmp_path / "none" / "x"), "No such file")]:
        done = subprocess.run([PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", url], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode != 0 and text in done.stderr, done.stderr


def who_am_i(server, *arguments, **settings):
    """`ldapwhoami -Y EXTERNAL` over the socket."""
    return run("ldapwhoami", "-Y", "EXTERNAL", "-H", server.socket_url, *arguments, **settings)


POSIX = f"""dn: uid=unix,{PEOPLE}
objectClass: account
objectClass: posixAccount
uid: unix
cn: unix
uidNumber: {{}}
gidNumber: 100
homeDirectory: /
"""


def test_t10_the_superuser_is_the_root_dn(local):
    """`ldapwhoami -Y EXTERNAL` prints OpenLDAP's name for the process, and the server who that is."""
    server = local()
    told = who_am_i(server)
    assert told.out.strip() == f"dn:{ADMIN}"
    name = f"gidNumber={os.getegid()}+uidNumber={os.geteuid()},cn=peercred,cn=external,cn=auth"
    assert f"SASL username: {name}" in told.err and "SASL SSF: 0" in told.err
    run("ldapadd", "-Q", "-Y", "EXTERNAL", "-H", server.socket_url, stdin=POSIX.format(1000))
    connection = ldap.initialize(server.socket_url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    connection.sasl_external_bind_s()
    assert connection.whoami_s() == f"dn:{ADMIN}"
    connection.sasl_external_bind_s(authz_id=f"dn:uid=unix,{PEOPLE}")
    assert connection.whoami_s() == f"dn:uid=unix,{PEOPLE}"


def test_t10_without_a_root_dn_the_name_is_that_of_openldap(tmp_path, server):
    path = tmp_path / "ldapi"
    begun = server("--listen", url_of(path), root=False)
    begun.process.stdout.readline()
    name = f"gidNumber={os.getegid()}+uidNumber={os.geteuid()},cn=peercred,cn=external,cn=auth"
    begun.socket_url = url_of(path)
    assert who_am_i(begun).out.strip() == f"dn:{name}"


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can be had by the superuser only")
def test_t10_users_are_mapped_or_unknown(local):
    """By their number to an entry; the number of nobody is nobody (49); so is one that two entries have."""
    server = local("[[identity.peer]]", 'filter = "(&(uidNumber={uid})(objectClass=posixAccount))"', f'base = "{PEOPLE}"',
                   arguments=["--index", "uidNumber:eq"])
    run("ldapadd", *server.admin, stdin=POSIX.format(4321))
    as_user = lambda uid: ["setpriv", f"--reuid={uid}", "--regid=100", "--clear-groups"]
    ask = lambda uid: run(*as_user(uid), "ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", server.socket_url, code=None)
    assert ask(4321).out.strip() == f"dn:uid=unix,{PEOPLE}"
    assert ask(4322).code == 49
    run("ldapadd", *server.admin, stdin=POSIX.format(4321).replace("uid=unix", "uid=twin").replace("uid: unix", "uid: twin"))
    assert ask(4321).code == 49


def mechanisms(url, *arguments, **settings):
    out = run("ldapsearch", "-x", "-H", url, *arguments, "-LLL", "-s", "base", "-b", "", "supportedSASLMechanisms", **settings).out
    return [line.split()[1] for line in out.splitlines() if line.startswith("supportedSASL")]


def test_the_root_dse_lists_what_the_session_is_offered(local):
    server = local()
    assert mechanisms(server.socket_url) == ["EXTERNAL", "PLAIN"]
    assert mechanisms(server.url) == ["PLAIN"], "passwords may pass on this machine"
    server.end()
    server = local("[security]", "password = 100")
    assert mechanisms(server.socket_url) == ["EXTERNAL"] and mechanisms(server.url) == []
