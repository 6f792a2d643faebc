"""Listeners with names and rules, what connections need to be protected by, and sockets that a service manager passes."""

import os
import socket
import subprocess
import sys

import pytest

from certificates import Authority
from conftest import ADMIN, PANDO, PATIENCE, SECRET, SUFFIX, run
from test_tls import CONFIDENTIALITY_REQUIRED, OPERATIONS_ERROR, PROTOCOL_ERROR, SUCCESS, Raw, search, start_tls
from ber import ldap_bind

WHO = ["-x", "-D", ADMIN, "-w", SECRET]


@pytest.fixture
def serve(tmp_path, server):
    """`serve(...)` starts a server with a certificate and these lines of configuration; `urls` are those of its listeners, in order."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("server")

    def begin(*lines, count=1, **settings):
        config = tmp_path / "pando.toml"
        config.write_text("\n".join(["[tls]", f'certificate = "{certificate}"', f'key = "{key}"', *lines, ""]))
        begun = server("--config", config, **settings)
        begun.urls = [begun.process.stdout.readline().decode().split()[1] for _ in range(count)]
        begun.env = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand"}
        return begun

    return begin


def listener(url, *lines):
    return ["[[listener]]", f'url = "{url}"', *lines]


def port_of(url):
    return int(url.rsplit(":", 1)[1])


def extensions(url):
    return run("ldapsearch", "-x", "-H", url, "-LLL", "-s", "base", "-b", "", "supportedExtension").out


def test_tls_of_a_listener_is_off_optional_or_required(serve):
    """Beside an address of `--listen`; off: StartTLS is neither listed nor taken; required: without it there is nothing but binds."""
    server = serve(*listener("ldap://127.0.0.1:0", 'name = "open"', 'tls = "off"'), *listener("ldap://127.0.0.1:0", 'tls = "required"'),
                   *listener("ldaps://127.0.0.1:0", 'name = "secure"'), count=3)
    is_open, required, secure = server.urls
    assert secure.startswith("ldaps://")
    oid = "1.3.6.1.4.1.1466.20037"
    assert oid in extensions(server.url) and oid not in extensions(is_open) and oid in extensions(required)
    raw = Raw(port_of(is_open))
    raw.send(start_tls())
    assert raw.result() == PROTOCOL_ERROR
    assert run("ldapwhoami", "-H", is_open, *WHO).out.strip() == f"dn:{ADMIN}"
    assert "(13)" in run("ldapwhoami", "-H", required, *WHO, code=1).said
    for url, flags in [(required, ["-ZZ"]), (secure, []), (server.url, ["-ZZ"])]:
        assert run("ldapwhoami", "-H", url, *flags, *WHO, env=server.env).out.strip() == f"dn:{ADMIN}"
    raw = Raw(port_of(required))
    raw.send(search(1))
    assert raw.message() and raw.result() == SUCCESS, "the root DSE says how to go on"
    raw.send(search(2, SUFFIX.encode()))
    assert raw.result() == CONFIDENTIALITY_REQUIRED
    # What follows a StartTLS in the clear is not interpreted here either.
    raw.send(start_tls(3), ldap_bind(ADMIN.encode(), SECRET.encode(), 4))
    assert raw.result() == OPERATIONS_ERROR and raw.is_closed()


def test_reads_and_writes_need_strengths_of_their_own(serve):
    server = serve("[security]", "read = 128", "write = 1", count=0)
    who = ["-H", server.url, *WHO]
    assert "13 Confidentiality" in run("ldapsearch", *who, "-b", SUFFIX, code=13).said
    assert "(13)" in run("ldapcompare", *who, SUFFIX, "dc:example", code=13).said
    assert "(13)" in run("ldapmodify", *who, stdin=f"dn: {SUFFIX}\nchangetype: modify\nreplace: description\ndescription: x\n", code=13).said
    assert run("ldapwhoami", *who).out.strip() == f"dn:{ADMIN}"
    assert len(run("ldapsearch", "-ZZ", *who, "-LLL", "-b", SUFFIX, "1.1", env=server.env).dns) > 5


def test_mistakes_are_named_with_their_lines(tmp_path):
    config = tmp_path / "pando.toml"
    config.write_text('suffix = "dc=x"\n[[listener]]\nurl = "ldap://h"\nname = "a"\n[[listener]]\nurl = "ldap://h2"\nname = "a"\n[[listener]]\nurl = "ldap://h3"\ntls = "required"\n')
    out = run(PANDO, "check-config", config, code=1).out
    assert "two listeners are called `a`" in out and "`ldap://h3:389` needs `tls.certificate`" in out
    config.write_text('suffix = "dc=x"\n[[listener]]\nurl = "ldap://h"\nport = 3\n')
    assert f"{config}:2:1: `listener`: `port` is none of" in run(PANDO, "check-config", config, code=1).out


HANDOVER = """
import os, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
# Above the places that they go to, so that none is overwritten.
high = [os.dup2(number, 100 + at) for at, number in enumerate(numbers)]
for at, number in enumerate(high):
    os.dup2(number, 3 + at)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(numbers)), LISTEN_FDNAMES=sys.argv[2])
os.execv(sys.argv[3], sys.argv[3:])
"""


def hand_over(tmp_path, sockets, names, *listeners):
    """A server that is passed sockets, as a service manager does it."""
    config = tmp_path / "pando.toml"
    config.write_text("\n".join(line for one in listeners for line in one) + "\n")
    numbers = [one.fileno() for one in sockets]
    command = [sys.executable, "-c", HANDOVER, ",".join(map(str, numbers)), names, PANDO, "serve", "--memory", "--suffix", SUFFIX, "--config", config]
    return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=numbers)


def test_sockets_that_a_service_manager_hands_over(tmp_path):
    """By the names of listeners: of TCP, twice, and of a Unix socket, whose file stays."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)] + [socket.socket(socket.AF_UNIX)]
    path = tmp_path / "ldapi"
    sockets[2].bind(str(path))
    sockets[2].listen()
    ports = [one.getsockname()[1] for one in sockets[:2]]
    url = "ldapi://" + str(path).replace("/", "%2F")
    # A client may come before the server does.
    early = socket.create_connection(("127.0.0.1", ports[0]), timeout=PATIENCE)
    early.sendall(search(1))
    # Port 1 could not be bound by another than the superuser, and is not.
    process = hand_over(tmp_path, sockets, "tcp:tcp:local", listener("ldap://127.0.0.1:1", 'name = "tcp"'), listener(url, 'name = "local"'))
    try:
        lines = [process.stdout.readline().decode().strip() for _ in range(3)]
        assert lines == [f"ready ldap://127.0.0.1:{ports[0]}", f"ready ldap://127.0.0.1:{ports[1]}", f"ready {url}"], process.stderr.read()
        assert early.recv(10)
        for where in [f"ldap://127.0.0.1:{ports[1]}", url]:
            assert run("ldapwhoami", "-x", "-H", where).out.strip() == "anonymous"
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close(), process.stderr.close()
    assert path.exists(), "it is not the server's own"


def test_sockets_that_no_listener_asks_for_are_an_error(tmp_path):
    one = socket.create_server(("127.0.0.1", 0))
    for names, listeners, text in [("other", [listener("ldap://127.0.0.1:0", 'name = "tcp"')], "`other` is no name of a listener"),
                                   ("local", [listener("ldapi://%2Fx", 'name = "local"')], "of another kind")]:
        process = hand_over(tmp_path, [one], names, *listeners)
        _, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1 and text in error.decode(), error
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    process = hand_over(tmp_path, [datagram], "tcp", listener("ldap://127.0.0.1:0", 'name = "tcp"'))
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "no listening socket" in error.decode(), error
