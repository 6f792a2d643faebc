"""The access log and the security log, as real clients fill them."""

import base64
import json
import os
import resource
import select
import shutil
import signal
import socket
import time

import ldap
import ldap.sasl
import pytest
from ldap.controls.simple import ProxyAuthzControl

from ber import ldap_bind, tlv
from certificates import Authority
from conftest import ADMIN, PATIENCE, PEOPLE, SECRET, SUFFIX, connect, run, wait_for
from test_password_policy import put_policy

ADA = f"uid=ada,{PEOPLE}"
WORD = "Hunter2-in-no-log"


class Logs:
    """A server whose logs are files, and their lines."""

    def __init__(self, server, tmp_path, access="all", text="", form="json", **settings):
        self.access, self.security = tmp_path / "access.log", tmp_path / "security.log"
        config = tmp_path / "pando.toml"
        config.write_text(f'{text}\n[log]\nformat = "{form}"\naccess = "{access}"\naccess-file = "{self.access}"\nsecurity-file = "{self.security}"\n')
        self.here = server("--config", config, **settings)

    def ended(self):
        """All lines, once the server has ended and written the last."""
        self.here.end()
        return self.lines(self.access), self.lines(self.security)

    @staticmethod
    def lines(path):
        text = path.read_text()
        assert text == "" or text.endswith("\n")
        # Not splitlines: a name may have what Python takes for the end of a line.
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def wait(self, path, is_there):
        """Waits until such a line is written."""
        end = time.monotonic() + PATIENCE
        while not any(map(is_there, self.lines(path))):
            assert time.monotonic() < end, path.read_text()
            select.select([], [], [], 0.02)


@pytest.fixture
def logs(server, tmp_path):
    return lambda *args, **settings: Logs(server, tmp_path, *args, **settings)


def by(lines, **wanted):
    return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]


def test_g1_each_operation_has_a_line(logs):
    """Every operation of a session, with who asked, what for, and what came of it."""
    log = logs()
    admin = connect(log.here)
    admin.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(&(objectClass=person)(uid=ada))", ["cn", "sn"])
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "description", [b"d"]), (ldap.MOD_DELETE, "description", None)])
    admin.compare_s(ADA, "uid", b"ada")
    admin.add_s(f"uid=new,{PEOPLE}", [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"])])
    admin.rename_s(f"uid=new,{PEOPLE}", "uid=newer", PEOPLE)
    admin.delete_s(f"uid=newer,{PEOPLE}")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        admin.delete_s(f"uid=nobody,{PEOPLE}")
    admin.whoami_s()
    admin.unbind_s()
    lines, _ = log.ended()
    assert [line["op"] for line in lines] == [
        "open", "bind", "search", "modify", "compare", "add", "rename", "delete", "delete", "extended", "unbind", "close",
    ]
    assert len({line["id"] for line in lines[1:-1]}) == len(lines) - 2
    assert all(line["dn"] == ADMIN and line["peer"].startswith("127.0.0.1:") for line in lines[1:-1])
    _, bind, search, modify, compare, add, rename, delete, failed, extended, _, close = lines
    assert bind["method"] == "simple" and bind["target"] == ADMIN and bind["code"] == 0
    assert (search["base"], search["scope"], search["filter"], search["attrs"], search["entries"]) == (
        PEOPLE, "one", "(&(objectClass=person)(uid=ada))", ["cn", "sn"], 1,
    )
    assert modify["target"] == ADA and modify["mods"] == ["replace:description", "delete:description"]
    assert compare["attrs"] == ["uid"] and compare["code"] == 6
    assert add["attrs"] == ["objectClass", "cn", "sn"]
    assert rename["newrdn"] == "uid=newer" and rename["superior"] == PEOPLE
    assert delete["code"] == 0 and failed["code"] == 32 and extended["oid"] == "1.3.6.1.4.1.4203.1.11.3"
    assert close["operations"] == 10 and all(line["us"] >= 0 for line in lines[1:-2])


def test_g1_a_sample_counts_what_it_leaves_out(logs):
    """Each operation is written or counted: the sums are the client's."""
    log = logs("sample")
    user = connect(log.here, ADA, "ada's password")
    searches, took = 0, 1
    # On a machine with much else to do they may be few in a second, or slow, and then each has a line.
    while took >= 0.5 and searches < 60_000:
        searches, began = searches + 3000, time.monotonic()
        for _ in range(100):
            pending = [user.search(ADA, ldap.SCOPE_BASE, "(objectClass=*)", ["1.1"]) for _ in range(30)]
            for message in pending:
                user.result(message)
        took = time.monotonic() - began
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        user.search_s(f"uid=nobody,{PEOPLE}", ldap.SCOPE_BASE)
    user.unbind_s()
    lines, _ = log.ended()
    [close] = by(lines, op="close")
    assert close["operations"] == searches + 3
    written = len(by(lines, op="search", code=0))
    assert 0 < written < searches and written + close["counted_search"] == searches
    assert len(by(lines, op="bind")) == 1 and len(by(lines, op="search", code=32)) == 1


def test_g1_identities_within_one_bundle(logs):
    """Requests before and behind a bind in one segment are logged as whom they ran."""
    log = logs()
    who = tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3"))
    message = lambda number, op: tlv(0x30, tlv(2, bytes([number])) + op)
    with socket.create_connection(("127.0.0.1", log.here.port), PATIENCE) as client:
        client.sendall(
            message(1, who) + ldap_bind(ADMIN.encode(), SECRET.encode(), 2) + message(3, who)
            + ldap_bind(ADMIN.encode(), b"wrong", 4) + message(5, who) + message(6, b"\x42\0")
        )
        while client.recv(1 << 16):
            pass
    lines, _ = log.ended()
    assert [line.get("dn") for line in by(lines, op="extended")] == [None, ADMIN, None]


def test_g2_a_file_that_is_moved_away_or_gone(logs):
    """The log begins anew where it was moved away; a folder that is gone harms nobody."""
    log = logs()
    client = connect(log.here)
    log.wait(log.access, lambda line: line["op"] == "bind")
    log.access.rename(log.access.with_suffix(".1"))
    end = time.monotonic() + PATIENCE
    while not log.access.exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.05)
    client.whoami_s()
    log.wait(log.access, lambda line: line["op"] == "extended")
    assert os.stat(log.access).st_mode & 0o777 == 0o600
    client.whoami_s()
    client.unbind_s()
    log.ended()


def test_g2_a_reader_that_takes_nothing(server, tmp_path):
    """Nobody reads the FIFO: requests are answered, what was lost is counted, and the end is not held up."""
    fifo, config = tmp_path / "fifo", tmp_path / "pando.toml"
    os.mkfifo(fifo)
    config.write_text(f'[log]\naccess = "all"\naccess-file = "{fifo}"\n')
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    here = server("--config", config, "--threads", "1")
    client = connect(here)
    # More than the pipe, the lines that wait and the ring together hold.
    for _ in range(12):
        pending = [client.search(PEOPLE, ldap.SCOPE_BASE, f"(cn={'x' * 1500})", ["1.1"]) for _ in range(500)]
        for message in pending:
            client.result(message)
    text, end = b"", time.monotonic() + PATIENCE
    while b'"op":"lost"' not in text:
        assert time.monotonic() < end
        if select.select([reader], [], [], 0.05)[0]:
            text += os.read(reader, 1 << 20)
    [lost] = [json.loads(line) for line in text.split(b"\n") if b'"op":"lost"' in line][:1]
    assert lost["count"] > 0
    assert client.whoami_s() == f"dn:{ADMIN}"
    began = time.monotonic()
    here.end()
    assert time.monotonic() - began < PATIENCE / 2
    os.close(reader)


def counters(server):
    """What the monitor says of logs."""
    entries = connect(server).search_s("cn=Logs,cn=Monitor", ldap.SCOPE_ONELEVEL, attrlist=["monitorCounter"])
    return {dn.split(",")[0][3:]: int(attributes["monitorCounter"][0]) for dn, attributes in entries}


def test_g2_an_access_log_on_a_full_disk(server, tmp_path):
    """Requests are answered, what finds no room is counted in the monitor and in a line, and lines are written again when there is room. No
    line is cut. A device that is always full harms nobody either."""
    path, config = tmp_path / "access.log", tmp_path / "pando.toml"
    config.write_text(f'[log]\naccess = "all"\naccess-file = "{path}"\n')
    here = server("--config", config, "--threads", "1")
    client = connect(here)
    end = time.monotonic() + PATIENCE
    while not by(Logs.lines(path), op="bind"):
        assert time.monotonic() < end
        select.select([], [], [], 0.02)
    # The size that files may have stands for the disk; it ends within a line.
    _, hard = resource.prlimit(here.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(here.process.pid, resource.RLIMIT_FSIZE, (path.stat().st_size + 5000, hard))
    searches = 0
    while not (shown := counters(here))["AccessLost"]:
        assert time.monotonic() < end, shown
        pending = [client.search(PEOPLE, ldap.SCOPE_BASE, f"(cn={'x' * 1500})", ["1.1"]) for _ in range(500)]
        searches += len(pending)
        for message in pending:
            client.result(message)
    assert shown["Failures"] > 0 and shown["EventsLost"] == 0
    # A part of a line is there for the moment in which the server takes it back.
    wait_for(lambda: path.read_text().endswith("\n"), "what is there are whole lines")
    resource.prlimit(here.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    wait_for(lambda: '"op":"lost"' in path.read_text(), "lines are written again")
    client.whoami_s()
    client.unbind_s()
    shown = counters(here)
    here.end()
    lines = Logs.lines(path)
    lost = sum(line["count"] for line in by(lines, op="lost"))
    written = len(by(lines, op="search", base=PEOPLE))
    assert lost == shown["AccessLost"] and len(by(lines, op="extended")) == 1
    # A request and its answer are two records.
    assert written < searches <= written + lost
    assert "log.access-file: lines of the log cannot be written" in here.log

    config.write_text('[log]\naccess = "all"\naccess-file = "/dev/full"\n')
    here = server("--config", config)
    while not counters(here)["Failures"]:
        assert time.monotonic() < end
        select.select([], [], [], 0.05)
    assert connect(here).whoami_s() == f"dn:{ADMIN}"


def forms(word):
    """A word as a log may have it; in base64 at each of the three places where it may begin."""
    yield word.encode()
    yield word.encode().hex().encode()
    for ahead in range(3):
        yield base64.b64encode(b"x" * ahead + word.encode())[4 if ahead else 0 : -4]


def test_g3_no_password_in_any_log(logs):
    """Passwords where they belong, and where people type them: as a name, in a filter, as an attribute's value, in an extended operation. Neither has
    cn=Monitor one, nor cn=config.
    """
    log = logs(ldif="people.ldif")
    admin = connect(log.here)
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    stored = admin.search_s(ADA, ldap.SCOPE_BASE, attrlist=["userPassword"])[0][1]["userPassword"][0].decode()
    run("ldappasswd", *log.here.admin, "-s", WORD, f"uid=bruno,{PEOPLE}")
    connect(log.here, ADA, WORD).unbind_s()
    admin.add_s(
        f"uid=new,{PEOPLE}", [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"]), ("userPassword", [WORD.encode()])]
    )
    admin.compare_s(ADA, "userPassword", WORD.encode())
    for name, password in [(WORD, WORD), (ADA, WORD + "x"), (f"userPassword={WORD},{SUFFIX}", WORD), ("", WORD)]:
        with pytest.raises(ldap.LDAPError):
            connection = ldap.initialize(log.here.url)
            connection.simple_bind_s(name, password)
    with pytest.raises(ldap.LDAPError):
        connection = ldap.initialize(log.here.url)
        connection.sasl_interactive_bind_s("", ldap.sasl.sasl({ldap.sasl.CB_AUTHNAME: "ada", ldap.sasl.CB_PASS: WORD + "y"}, "PLAIN"))
    for text in ["userPassword={}", "userPassword>={}", "userPassword={}*", "userPasswort={}", "userPassword:octetStringMatch:={}"]:
        try:
            admin.search_s(SUFFIX, ldap.SCOPE_SUBTREE, f"(!({text.format(WORD)}))", ["1.1"])
        except ldap.LDAPError:
            pass
    for base in [WORD, f"userPassword={WORD}"]:
        with pytest.raises(ldap.LDAPError):
            admin.search_s(base, ldap.SCOPE_BASE)
    with pytest.raises(ldap.LDAPError):
        admin.modify_s(ADA, [(ldap.MOD_DELETE, "userPassword", [b"not-" + WORD.encode()])])
    with pytest.raises(ldap.LDAPError):
        admin.passwd_s(WORD, None, WORD)
    monitor = admin.search_s("cn=Monitor", ldap.SCOPE_SUBTREE, attrlist=["*", "+"])
    configuration = admin.search_s("cn=config", ldap.SCOPE_SUBTREE, attrlist=["*", "+"])
    assert len(monitor) > 20 and configuration
    admin.unbind_s()
    access, security = log.ended()
    assert len(access) > 20 and by(security, event="bind-failed")
    shown = b"\n".join(value for _, entry in monitor + configuration for values in entry.values() for value in values)
    texts = [log.access.read_bytes(), log.security.read_bytes(), log.here.log.encode(), shown]
    for secret in [WORD, stored, stored.split("$")[-1]]:
        for form in forms(secret):
            assert not [text for text in texts if form in text], (secret, form)


def send_hostile_texts(port):
    """Line breaks, quotes, octets that are no text, and codes for terminals, in every place where a client puts a text."""
    text = b'\n{"op":"forged"}\r\n\x1b[2J\x00"\\\xc2\x85 '
    evil = text + b"\xff\xfe"
    escaped = b"".join(b"\\%02x" % octet for octet in evil)
    names = [b"cn=" + escaped + b",dc=x", b"cn=" + text + b",dc=x", text]
    message = lambda number, op: tlv(0x30, tlv(2, bytes([number])) + op)
    searches = [
        tlv(0x63, tlv(4, name) + tlv(10, b"\0") + tlv(10, b"\0") + tlv(2, b"\0") * 2 + tlv(1, b"\0") + tlv(0xA3, tlv(4, b"cn") + tlv(4, evil))
            + tlv(0x30, tlv(4, evil)))
        for name in [*names, evil]
    ]
    control = tlv(0xA0, tlv(0x30, tlv(4, evil)))
    others = [tlv(0x77, tlv(0x80, evil)), tlv(0x4A, names[0]), tlv(0x6E, tlv(4, names[0]) + tlv(0x30, tlv(4, evil) + tlv(4, b"x")))]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        for name in names:
            client.sendall(ldap_bind(name, b"wrong", 1))
            assert client.recv(1 << 16)
        client.sendall(b"".join(message(number, op) for number, op in enumerate(searches + others, 2)))
        client.sendall(message(20, tlv(0x4A, names[0]) + control) + message(21, b"\x42\0"))
        while client.recv(1 << 16):
            pass


def has_codes(text):
    return [c for c in text if c not in "\n\t" and (ord(c) < 32 or 127 <= ord(c) < 160)]


def test_g4_no_name_forges_a_line(logs):
    """Hostile texts make neither a line nor a code in any log."""
    log = logs()
    send_hostile_texts(log.here.port)
    access, security = log.ended()
    assert not by(access, op="forged") and not by(security, op="forged")
    for path in (log.access, log.security):
        assert not has_codes(path.read_text()) and "\t" not in path.read_text()
    assert len(by(security, event="bind-failed")) == 3


def test_g3_events_of_the_security_log(logs):
    """Failed binds, binds of the root DN, a lock and changes of the configuration: who, whence, what was answered; no values."""
    log = logs()
    admin = put_policy(log.here, pwdLockout="TRUE", pwdMaxFailure=2)
    for _ in range(2):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            connect(log.here, ADA, "wrong")
    user = connect(log.here, f"uid=bruno,{PEOPLE}", "bruno's password")
    with pytest.raises(ldap.LDAPError):
        user.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", [b"40"])])
    admin.unbind_s()
    user.unbind_s()
    _, events = log.ended()
    [root] = by(events, event="root-bind")
    assert root["target"] == ADMIN and root["code"] == 0 and root["peer"].startswith("127.0.0.1:")
    assert [(event["target"], event["code"]) for event in by(events, event="bind-failed")] == [(ADA, 49)] * 2
    assert [event["target"] for event in by(events, event="locked")] == [ADA]
    assert [(event["dn"], event["detail"], event["code"] == 0) for event in by(events, event="configuration")] == [
        (ADMIN, "pandoPasswordsDefaultPolicy", True),
        (f"uid=bruno,{PEOPLE}", "pandoTxnAgeMax", False),
    ]


def test_g3_rights_over_others_reloads_and_limits_are_events(logs, tmp_path):
    """Who acts as whom, once and then by number; who manages what; a limit; certificates that are read anew or are faulty."""
    pair = Authority(tmp_path / "authority").sign("server")
    bruno = f"uid=bruno,{PEOPLE}"
    rules = "\n".join(
        f'[[access.rule]]\nname = "{name}"\nto = {to}\nby = [{{ dn = "{bruno}" }}]\nallow = {allow}\n'
        for name, to, allow in [
            ("passwords", f'{{ subtree = "{PEOPLE}", attrs = ["userPassword"] }}', '["write", "manage"]'),
            ("proxy", f'{{ base = "{ADA}" }}', '["proxy"]'),
        ]
    )
    log = logs(text=f'tls.certificate = "{pair[0]}"\ntls.key = "{pair[1]}"\n{rules}')
    user = connect(log.here, bruno, "bruno's password")
    for _ in range(3):
        user.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[ProxyAuthzControl(True, f"dn:{ADA}".encode())])
    with pytest.raises(ldap.PROXIED_AUTHORIZATION_DENIED):
        user.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[ProxyAuthzControl(True, f"dn:{ADMIN}".encode())])
    user.modify_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    user.modify_s(bruno, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])])
    rights = ldap.controls.RequestControl("1.3.6.1.4.1.42.2.27.9.5.2", False, f"dn:{ADA}".encode())
    user.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[rights])
    with socket.create_connection(("127.0.0.1", log.here.port), PATIENCE) as client:
        # Longer than a client may send that has not bound.
        client.sendall(b"\x30\x83\x01\x86\xa0\x02\x01\x01\x63")
        while client.recv(1 << 16):
            pass
    log.wait(log.security, lambda line: line["event"] == "limit")
    pair[1].write_text("nonsense")
    log.here.process.send_signal(signal.SIGHUP)
    log.wait(log.security, lambda line: line["event"] == "reload")
    Authority(tmp_path / "authority").sign("other")
    shutil.copy(tmp_path / "authority/other.crt", pair[0])
    shutil.copy(tmp_path / "authority/other.key", pair[1])
    log.here.process.send_signal(signal.SIGHUP)
    log.wait(log.security, lambda line: line.get("detail") == "certificates were read and are in force")
    user.unbind_s()
    _, events = log.ended()
    assert [(event["dn"], event["target"], event.get("count", 1)) for event in by(events, event="proxy")] == [(bruno, ADA, 1), (bruno, ADA, 2)]
    assert sorted((event["dn"], event["target"], event["detail"]) for event in by(events, event="manage")) == [
        (bruno, ADA, "effective rights"), (bruno, ADA, "passwords"),
    ]
    assert {(event["peer"], event["detail"]) for event in by(events, event="limit")} == {("127.0.0.1", "message-anonymous")}
    assert [event["detail"].startswith("the certificates that were in force stay") for event in by(events, event="reload")] == [True, False]
    assert not [event for event in events if WORD in json.dumps(event)]


def test_a_file_of_the_access_log_is_enough(server, tmp_path):
    """A name is relative to the configuration; without `log.access` there is a sample."""
    (tmp_path / "pando.toml").write_text('[log]\naccess-file = "access.log"\n')
    here = server("--config", tmp_path / "pando.toml")
    connect(here).unbind_s()
    here.end()
    assert [line["op"] for line in Logs.lines(tmp_path / "access.log")] == ["bind", "close"]


def test_a_log_that_cannot_be_written_is_no_start(tmp_path, server):
    config = tmp_path / "pando.toml"
    config.write_text('[log]\naccess = "all"\naccess-file = "nowhere/access.log"\n')
    with pytest.raises(AssertionError, match="log.access-file"):
        server("--config", config)
