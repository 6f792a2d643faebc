"""`pando init`: the files that it writes are served as they are, by the commands that it prints."""

import os
import pty
import re
import select
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import PANDO, PATIENCE, SUFFIX, run

FILES = {"pando.toml": 0o644, "root.password": 0o600, "base.ldif": 0o644, "server.crt": 0o644, "server.key": 0o600, "authority.crt": 0o644}


@pytest.fixture
def folder():
    """A folder whose name is short enough for a socket in it."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    yield path
    shutil.rmtree(path)


def init(folder, *arguments, suffix=SUFFIX, code=0, stdin=""):
    socket = "ldapi://" + str(folder / "dir" / "ldapi").replace("/", "%2F")
    listen = [word for url in ("ldap://127.0.0.1:0", "ldaps://127.0.0.1:0", socket) for word in ("--listen", url)]
    return run(PANDO, "init", "--suffix", suffix, *listen, *arguments, folder / "dir", code=code, stdin=stdin)


class Served:
    """The server of such a folder."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [PANDO, "serve", "--config", folder / "dir" / "pando.toml"], stdout=subprocess.PIPE, stderr=open(folder / "log", "wb"), bufsize=0
        )
        self.urls = []
        for _ in range(3):
            assert select.select([self.process.stdout], [], [], PATIENCE)[0], (folder / "log").read_text()
            line = self.process.stdout.readline().decode()
            assert line.startswith("ready "), (folder / "log").read_text()
            self.urls.append(line.split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


def test_what_is_written_is_served(folder):
    done = init(folder)
    made = re.search(r"shown this once: (\S+)", done.err)[1]
    for name, mode in FILES.items():
        path = folder / "dir" / name
        assert stat.S_IMODE(path.stat().st_mode) == mode, name
        assert made not in path.read_text(), name
    assert stat.S_IMODE((folder / "dir").stat().st_mode) == 0o700
    assert made not in done.out and "ldapwhoami -Y EXTERNAL" in done.out and "ldapsearch -x -ZZ" in done.out
    run(PANDO, "check-config", folder / "dir" / "pando.toml")
    environment = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(folder / "dir" / "authority.crt")}
    admin = ["-D", f"cn=admin,{SUFFIX}", "-w", made]
    with Served(folder) as served:
        plain, tls, local = served.urls
        # The user that the server runs as is the administrator over the socket.
        assert run("ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", local).out.strip() == f"dn:cn=admin,{SUFFIX}"
        run("ldapadd", "-Q", "-Y", "EXTERNAL", "-H", local, "-f", folder / "dir" / "base.ldif")
        for way in (["-ZZ", "-H", plain], ["-H", tls]):
            out = run("ldapsearch", "-x", *way, *admin, "-LLL", "-b", SUFFIX, env=environment).out
            assert f"dn: {SUFFIX}" in out
            # Nobody takes it for the server who was not given its authority.
            assert run("ldapsearch", "-x", *way, *admin, "-b", SUFFIX, code=None, env={"LDAPNOINIT": None, "LDAPTLS_CACERT": None}).code not in (0, None)
        # Anonymous clients see that there is a server, and nothing of the directory.
        assert run("ldapsearch", "-x", "-H", plain, "-LLL", "-b", SUFFIX, code=None).dns == []


def test_the_certificate_names_the_hosts_and_ends_soon(folder):
    init(folder, "--host", "ldap.example.com", "--host", "192.0.2.7")
    text = run("openssl", "x509", "-in", folder / "dir" / "server.crt", "-noout", "-text").out
    for name in ("DNS:ldap.example.com", "IP Address:192.0.2.7", "DNS:localhost", "IP Address:127.0.0.1"):
        assert name in text, name
    month, more = 31 * 86400, 29 * 86400
    run("openssl", "x509", "-in", folder / "dir" / "server.crt", "-noout", "-checkend", more)
    run("openssl", "x509", "-in", folder / "dir" / "server.crt", "-noout", "-checkend", month, code=1)


def test_nothing_is_replaced(folder):
    init(folder)
    before = {name: (folder / "dir" / name).read_bytes() for name in FILES}
    failed = init(folder, code=1)
    assert failed.err.count("it is there already") == len(FILES)
    (folder / "dir" / "pando.toml").unlink()
    init(folder, code=1)
    assert not (folder / "dir" / "pando.toml").exists(), "all or nothing"
    assert all((folder / "dir" / name).read_bytes() == before[name] for name in FILES if name != "pando.toml")


def test_a_disk_that_is_full_leaves_nothing(folder):
    """A limit on the size of files stands for it: the configuration is longer."""
    socket = "ldapi://" + str(folder / "dir" / "ldapi").replace("/", "%2F")
    command = f"ulimit -f 1; exec {PANDO} init --suffix {SUFFIX} --listen {socket} {folder / 'dir'}"
    assert "pando.toml" in run("bash", "-c", command, code=1).err
    assert list((folder / "dir").iterdir()) == []
    init(folder)


def test_a_password_and_a_certificate_of_ones_own(folder):
    init(folder, "--host", "localhost")
    certificate, key = folder / "own.crt", folder / "own.key"
    os.rename(folder / "dir" / "server.crt", certificate)
    os.rename(folder / "dir" / "server.key", key)
    os.rename(folder / "dir" / "authority.crt", folder / "own-authority.crt")
    shutil.rmtree(folder / "dir")
    done = init(folder, "--certificate", certificate, "--key", key, "--password-stdin", stdin="own root word\n")
    assert "shown this once" not in done.err and sorted(path.name for path in (folder / "dir").iterdir()) == ["base.ldif", "pando.toml", "root.password"]
    with Served(folder) as served:
        who = run("ldapwhoami", "-x", "-ZZ", "-H", served.urls[0], "-D", f"cn=admin,{SUFFIX}", "-w", "own root word",
                  env={"LDAPNOINIT": None, "LDAPTLS_CACERT": str(folder / "own-authority.crt")})
        assert who.out.strip() == f"dn:cn=admin,{SUFFIX}"


def test_what_is_missing_or_wrong_is_named(folder):
    assert "--suffix" in run(PANDO, "init", folder / "dir", code=2).err
    assert "no DN" in init(folder, suffix="nonsense", code=2).err
    assert "--host" in init(folder, "--host", "not a name\u00fc", code=2).err
    assert "no password" in init(folder, "--password-stdin", stdin="\n", code=2).err
    run(PANDO, "init", "--certificate", "x", folder / "dir", code=2)
    assert not (folder / "dir").exists()


@pytest.mark.parametrize("suffix, first", [("o=Example", "organization"), ("ou=a,c=DE", "organizationalUnit"), ("c=DE", "country"), ("cn=x", "device")])
def test_the_first_entry_of_any_suffix(folder, suffix, first):
    init(folder, suffix=suffix)
    with Served(folder) as served:
        run("ldapadd", "-Q", "-Y", "EXTERNAL", "-H", served.urls[2], "-f", folder / "dir" / "base.ldif")
        out = run("ldapsearch", "-Q", "-LLL", "-Y", "EXTERNAL", "-H", served.urls[2], "-b", suffix, "-s", "base", "objectClass").out
        assert f"objectClass: {first}" in out


def test_three_questions_on_a_terminal(folder):
    """Each has an answer that is taken by the return key."""
    controller, terminal = pty.openpty()
    asked = subprocess.Popen([PANDO, "init", folder / "dir"], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(terminal)
    said = b""
    for question, answer in ((b"Suffix [", b"dc=typed,dc=org\n"), (b"Name of this host [", b"\n"), (b"Root password [", b"\n")):
        while question not in said or not said.endswith(b": "):
            assert select.select([asked.stderr], [], [], PATIENCE)[0], said
            piece = os.read(asked.stderr.fileno(), 1000)
            assert piece, said
            said += piece
        os.write(controller, answer)
        said = said if question.startswith(b"Root") else b""
    out, err = asked.communicate(timeout=PATIENCE)
    os.close(controller)
    assert asked.returncode == 0, err
    text = (folder / "dir" / "pando.toml").read_text()
    assert 'suffix = "dc=typed,dc=org"' in text and "ldapi://" in text
    assert b"pando serve --config" in out and b"shown this once" in err
