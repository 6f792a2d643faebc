"""Where logs go besides to a file that grows: files that are begun anew, syslog, the journal, standard output; and which values they have."""

import json
import os
import re
import select
import signal
import socket
import time

import ldap
import pytest

from ber import ldap_bind
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, connect
from test_audit import changes, lines
from test_tls import Raw

ADA = f"uid=ada,{PEOPLE}"
ROTATED = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


@pytest.fixture
def logged(server, tmp_path):
    """`logged(text)` starts a server with this part `[log]`."""

    def begin(*text, start=server, **settings):
        config = tmp_path / "pando.toml"
        config.write_text("\n".join(["[log]", *text, ""]))
        return start("--config", config, **settings)

    return begin


def until(is_so, what=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, what()
        select.select([], [], [], 0.02)


def rotated(path):
    """The files that were moved away, the oldest first."""
    return sorted(found for found in path.parent.iterdir() if ROTATED.fullmatch(found.name.removeprefix(f"{path.name}.")))


def test_g2_files_are_begun_anew_and_so_many_are_kept(logged, tmp_path):
    """By size: no line is lost or cut, and only the youngest files are kept. A file that somebody else has named is left alone."""
    access, other = tmp_path / "access.log", tmp_path / "access.log.1"
    other.write_text("mine\n")
    here = logged(f'access-file = "{access}"', 'access = "all"', "rotate-bytes = 20000", "keep-files = 2")
    admin = connect(here)
    count = 0
    seen = {}

    def work():
        nonlocal count
        for _ in range(100):
            admin.compare_s(ADA, "uid", b"ada")
            count += 1
        seen.update({path.name: path.read_text() for path in rotated(access)})
        return len(seen) >= 4

    until(work)
    admin.unbind_s()
    here.end()
    kept = rotated(access)
    assert len(kept) == 2 and other.read_text() == "mine\n"
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (access, *kept))
    text = "".join([seen[name] for name in sorted(seen)] + [path.read_text() for path in kept if path.name not in seen] + [access.read_text()])
    compares = [json.loads(line) for line in text.split("\n")[:-1] if '"compare"' in line]
    assert [line["msgid"] for line in compares] == list(range(2, count + 2))


def test_g2_files_are_begun_anew_by_time_and_the_audit_log_keeps_all(logged, keep, tmp_path):
    """By time; the audit log goes on in the next file without a gap, and none of its files is deleted. SIGHUP opens a file that was moved away at once."""
    audit, security = tmp_path / "audit.log", tmp_path / "security.log"
    here = logged(f'audit-file = "{audit}"', f'security-file = "{security}"', "rotate-seconds = 1", "keep-files = 1", start=keep, ldif="people.ldif")
    admin = connect(here)

    def work():
        admin.modify_s(ADA, [(ldap.MOD_REPLACE, "title", [str(time.monotonic()).encode()])])
        # A bind of the root DN is an event.
        connect(here).unbind_s()
        return len(rotated(audit)) >= 3 and rotated(security)

    until(work)
    assert len(rotated(security)) <= 2
    moved = tmp_path / "moved.log"
    security.rename(moved)
    os.kill(here.process.pid, signal.SIGHUP)
    until(lambda: security.exists())
    here.end()
    read = [line for path in [*rotated(audit), audit] for line in lines(path)]
    assert all(lines(path)[0]["op"] == "begin" for path in [*rotated(audit)[1:], audit])
    assert len({line["csn"] for line in changes(read) if line.get("entry") == ADA}) >= 3
    assert not [line for line in read if line["op"] == "lost"]


class Service:
    """The socket of syslog or of the journal."""

    def __init__(self, path):
        self.path = path
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(PATIENCE)

    def close(self):
        self.socket.close()
        self.path.unlink()

    def get(self):
        return self.socket.recv(1 << 20)


def test_g1_lines_go_to_syslog_and_to_the_journal(logged, tmp_path):
    """RFC 5424 with the object as the message; the journal has each key as a field of its own."""
    syslog, journal = Service(tmp_path / "syslog"), Service(tmp_path / "journal")
    here = logged(f'access-file = "syslog:{syslog.path}"', 'access = "all"', f'security-file = "journald:{journal.path}"')
    admin = connect(here)
    form = re.compile(rb"<30>1 \d{4}-\d\d-\d\dT[0-9:.]+Z [!-~]+ pando %d access - (\{.*\})" % here.process.pid)
    read = [json.loads(form.fullmatch(syslog.get()).group(1)) for _ in range(2)]
    assert [line["op"] for line in read] == ["open", "bind"] and read[1]["target"] == ADMIN
    fields = dict(field.split(b"=", 1) for field in journal.get().split(b"\n")[:-1])
    assert (fields[b"PANDO_LOG"], fields[b"PANDO_EVENT"], fields[b"SYSLOG_IDENTIFIER"], fields[b"PRIORITY"]) == (b"security", b"root-bind", b"pando", b"5")
    assert json.loads(fields[b"MESSAGE"])["dn"].encode() == fields[b"PANDO_DN"] == ADMIN.encode()
    admin.unbind_s()


def test_g2_a_service_that_takes_nothing_or_is_gone(logged, tmp_path):
    """The server answers on; what found no room is counted, and a line says so when the service is back."""
    syslog = Service(tmp_path / "syslog")
    here = logged(f'access-file = "syslog:{syslog.path}"', 'access = "all"')
    admin = connect(here)

    def work():
        pending = [admin.search(ADA, ldap.SCOPE_BASE, f"(cn={'x' * 3000})", ["1.1"]) for _ in range(500)]
        for message in pending:
            assert admin.result(message)[0] == ldap.RES_SEARCH_RESULT

    # It takes nothing: what waits is more than the room of the log and of the rings.
    def dropped():
        return int(admin.search_s("cn=AccessLost,cn=Logs,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorCounter"])[0][1]["monitorCounter"][0])

    until(lambda: work() or dropped() > 0)
    syslog.close()
    work()
    syslog.open()
    work()
    counted = None
    # First comes what has waited.
    while counted is None:
        line = json.loads(syslog.get().split(b" - ", 1)[1])
        counted = line["count"] if line["op"] == "lost" else None
    assert counted > 0
    admin.unbind_s()


def test_g3_values_may_be_hashed_or_left_out(logged, keep, tmp_path):
    """`log.values`: filters and changes say as much as is wanted; equal values have equal hashes."""
    for number, (values, hidden) in enumerate((("none", r"<value>"), ("hash", r"<[0-9a-f]{16}>"))):
        access, audit = tmp_path / f"access{number}.log", tmp_path / f"audit{number}.log"
        here = logged(f'access-file = "{access}"', 'access = "all"', f'audit-file = "{audit}"', f'values = "{values}"', start=keep, ldif=None if number else "people.ldif")
        admin = connect(here)
        for word in ("Zanzibar", "Zanzibar", "Yokohama"):
            admin.search_s(PEOPLE, ldap.SCOPE_SUBTREE, f"(&(cn={word})(sn=*{word}*))")
            admin.modify_s(ADA, [(ldap.MOD_REPLACE, "title", [word.encode()])])
        admin.unbind_s()
        here.end()
        assert not re.search("Zanzibar|Yokohama", access.read_text() + audit.read_text())
        filters = [line["filter"] for line in lines(access) if line["op"] == "search"]
        assert all(re.fullmatch(rf"\(&\(cn={hidden}\)\(sn={hidden}\*\)\)", text) for text in filters), filters
        titles = [change["values"] for line in changes(lines(audit)) for change in line.get("changes", []) if change["attr"] == "title"][-3:]
        assert titles[0] == titles[1] and filters[0] == filters[1]
        assert (titles[1] == titles[2], filters[1] == filters[2]) == ((True, True) if values == "none" else (False, False))


def test_x9_sessions_end_with_their_account(server):
    """A session whose entry was deleted, or locked by an administrator, gets a Notice of Disconnection within a second or so; others go on."""
    here = server()
    admin = connect(here)
    admin.modify_s(f"uid=bruno,{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", [b"bruno's password"])])
    sessions, other = {}, connect(here, ADMIN, SECRET)
    for name in ("bruno", "ada"):
        sessions[name] = Raw(here.port)
        sessions[name].send(ldap_bind(f"uid={name},{PEOPLE}".encode(), f"{name}'s password".encode()))
        assert sessions[name].result() == 0, name
    admin.delete_s(f"uid=bruno,{PEOPLE}")
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "pwdAccountLockedTime", [b"000001010000Z"])])
    for name, word in (("bruno", b"deleted"), ("ada", b"locked")):
        # Without another request; and then the end of the connection.
        notice = sessions[name].message()
        assert notice[2:5] == b"\x02\x01\x00" and b"1.3.6.1.4.1.1466.20036" in notice and word in notice
        assert notice[notice.index(b"\x0a\x01") + 2] == 8, "strongerAuthRequired"
        assert sessions[name].is_closed()
    other.whoami_s()
    admin.whoami_s()
