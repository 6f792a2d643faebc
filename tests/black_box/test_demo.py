"""What people see: the demo of `make run`, the progress bar on a terminal and its absence elsewhere."""

import os
import pty
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import PANDO, PATIENCE, SUFFIX, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder as `make run` makes it, with fewer people."""
    folder = tmp_path_factory.mktemp("demo")
    people = run(PANDO, "gen", "--template", "slamd", "--suffix", SUFFIX, "--count", "6000", "--groups", "2", "--members", "3000", "-o", "-").out
    (folder / "demo.ldif").write_text(people + "\n" + (ROOT / "crates/pando/data/organisation.ldif").read_text())
    (folder / "root.password").write_text("secret\n")
    return folder


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_demo_and_the_commands_it_prints(demo):
    url = f"ldap://127.0.0.1:{free_port()}"
    process = subprocess.Popen([ROOT / ".ci/demo", PANDO, demo, url, SUFFIX], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, start_new_session=True)
    try:
        text = ""
        while "Ctrl-C" not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
        assert text.startswith(f"ready {url}\n")
        commands = [command.strip() for command in re.split(r"\n\n", text) if command.strip().startswith(("ldap", "printf", "LDAP"))]
        expected = [
            (0, "dn: uid=user.4711,ou=People,"),
            (0, "dn: cn=group.1,ou=Groups,"),
            (0, "modifying entry"),
            (50, "insufficient rights"),
            (49, "Account locked"),
            (49, "Password expired"),
            (0, "supportedSASLMechanisms: PLAIN"),
            (0, f"dn:cn=admin,{SUFFIX}"),
        ]
        assert len(commands) == len(expected), text
        for command, (code, says) in zip(commands, expected):
            done = run("bash", "-ec", f"unset LDAPNOINIT; {command}", code=code)
            assert says.lower() in done.said.lower(), (command, done)
    finally:
        # As Ctrl-C does: to all of its process group.
        os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE)
        process.stdout.close()


def serve(demo, stderr):
    """A server that imports the demo directory; ended once it is ready."""
    command = [PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", "--import", demo / "demo.ldif"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout.readline().startswith("ready ldap://")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


def test_no_bar_where_nobody_looks(demo, tmp_path):
    log = tmp_path / "log"
    with open(log, "w") as file:
        serve(demo, file)
    text = log.read_text()
    assert "\r" not in text and "\x1b" not in text, text
    [line] = [line for line in text.splitlines() if line.startswith("imported ")]
    count = len(re.findall(r"^dn: ", (demo / "demo.ldif").read_text(), re.M))
    assert re.fullmatch(rf"imported {count:,} entries in [\d.]+ s: [\d,]+ entries/s, [\d.]+ MB/s", line) \
        or re.fullmatch(rf"imported {count} entries in [\d.]+ s: \d+ entries/s, [\d.]+ MB/s", line), line


def test_a_bar_on_a_terminal(demo):
    ours, theirs = pty.openpty()
    command = [PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", "--import", demo / "demo.ldif"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = []

    def take():
        # A terminal has a buffer: what is written there has to be taken. Its end is an error.
        try:
            while piece := os.read(ours, 65536):
                shown.append(piece)
        except OSError:
            pass

    reader = threading.Thread(target=take)
    reader.start()
    assert process.stdout.readline().startswith("ready ldap://")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    process.stdout.close()
    reader.join(PATIENCE)
    os.close(ours)
    shown = b"".join(shown).decode()
    assert re.search(r"importing .* \d+ %  [\d,]+ entries/s, [\d.]+ MB/s  .* left", shown), shown
    assert "imported" in shown
