"""The audit log: every change that was applied has a line, each once, whatever ends the server."""

import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

import ldap
import pytest
from ldap.controls import RequestControl
from ldap.controls.simple import ProxyAuthzControl

from ber import tlv
from conftest import ADMIN, FOLLOWER, KILLS, PATIENCE, PEOPLE, chances, connect, run, start

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "Hunter2-in-no-audit"
TRACKING = "1.3.6.1.4.1.21008.108.63.1"


def config(path, audit, more=""):
    path.write_text(f'[log]\naudit-file = "{audit}"\n{more}')
    return path


def lines(path):
    """The lines of an audit log, which is whole."""
    text = path.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def changes(read):
    """Those that tell of changes. Places go up, so none is there twice."""
    places = [(line["index"], line["n"] or float("inf")) for line in read]
    assert places == sorted(places)
    reported = [line for line in read if line["op"] not in ("begin", "snapshot", "lost", "import", "settings")]
    assert len({(line["index"], line["n"]) for line in reported}) == len(reported)
    return reported


def wait(path, is_there):
    """Until the file has lines that are as asked. It may be missing first, and its last line half written."""
    end = time.monotonic() + PATIENCE
    while True:
        text = path.read_text() if path.exists() else ""
        read = [json.loads(line) for line in text.split("\n")[:-1]]
        if read and is_there(read):
            return
        assert time.monotonic() < end, text
        select.select([], [], [], 0.02)


def add(client, uid):
    client.add_s(f"uid={uid},{PEOPLE}", [("objectClass", [b"inetOrgPerson"]), ("cn", [uid.encode()]), ("sn", [b"s"])])


def test_g5_who_whence_and_as_whom(keep, tmp_path):
    """Each change with who asked, whence, as whom, the entry, its number and its values; no password, hashed or not."""
    audit = tmp_path / "audit.log"
    settings = config(tmp_path / "pando.toml", audit, f'access = "all"\naccess-file = "{tmp_path}/access.log"\n')
    here = keep("--config", settings, "--proxy-dn", BRUNO, ldif="people.ldif")
    client = connect(here)
    add(client, "new")
    client.modify_s(ADA, [(ldap.MOD_REPLACE, "description", [b"d", "\xfc".encode()]), (ldap.MOD_ADD, "userPassword", [WORD.encode()])])
    found = client.search_s(ADA, ldap.SCOPE_BASE, attrlist=["entryUUID", "entryCSN"])[0][1]
    session = tlv(0x30, tlv(4, b"192.0.2.9"), tlv(4, b"desk"), tlv(4, b"1.2.3"), tlv(4, b"of-new"))
    client.rename_s(f"uid=new,{PEOPLE}", "uid=newer", serverctrls=[RequestControl(TRACKING, False, session)])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        client.delete_s(f"uid=nobody,{PEOPLE}")
    client.delete_s(f"uid=newer,{PEOPLE}")
    client.passwd_s(BRUNO, None, WORD)
    client.modify_s("cn=config", [(ldap.MOD_REPLACE, "pandoTxnAgeMax", [b"40000"])])
    proxy = connect(here, BRUNO, WORD)
    as_ada = ProxyAuthzControl(True, f"dn:{ADA}".encode())
    proxy.modify_ext_s(ADA, [(ldap.MOD_REPLACE, "userPassword", [WORD.encode()])], serverctrls=[as_ada])
    here.modify(f"dn: {ADA}\nchangetype: modify\nreplace: title\ntitle: a\n\ndn: {BRUNO}\nchangetype: modify\nreplace: title\ntitle: b\n", "-E", "txn=commit")
    client.unbind_s()
    proxy.unbind_s()
    here.end()
    read = lines(audit)
    # A node begins with the snapshot of another one.
    first = ["begin"] if FOLLOWER else ["begin", "settings", "import"]
    assert [line["op"] for line in read][: len(first)] == first
    reported = changes(read)
    added, modified, renamed, deleted, password, setting, proxied, first, second = reported
    assert [line["op"] for line in reported] == ["add", "modify", "rename", "delete", "modify", "modify", "modify", "modify", "modify"]
    assert all(line["peer"].startswith("127.0.0.1:") and "recovered" not in line for line in reported)
    assert all(line["dn"] == ADMIN and "as" not in line for line in reported if line is not proxied)
    assert (added["entry"], added["changes"][1]) == (f"uid=new,{PEOPLE}", {"do": "add", "attr": "cn", "values": ["new"]})
    assert added["entryUUID"] == renamed["entryUUID"] == deleted["entryUUID"]
    assert (renamed["session"], renamed["session_ip"]) == ("of-new", "192.0.2.9") and "session" not in deleted
    assert (renamed["entry"], renamed["newrdn"]) == (f"uid=new,{PEOPLE}", "uid=newer")
    assert modified["changes"] == [
        {"do": "replace", "attr": "description", "values": ["d", "ü"]}, {"do": "add", "attr": "userPassword", "values": ["{ARGON2}<hidden>"]},
    ]
    assert (modified["entryUUID"].encode(), modified["csn"].encode()) == (found["entryUUID"][0], found["entryCSN"][0])
    assert password["entry"] == BRUNO and {"do": "replace", "attr": "userPassword", "values": ["{ARGON2}<hidden>"]} in password["changes"]
    assert setting["entry"] == "cn=config" and setting["changes"] == [{"do": "replace", "attr": "pandoTxnAgeMax", "values": ["40000"]}]
    assert (proxied["dn"], proxied["as"], proxied["entry"]) == (BRUNO, ADA, ADA)
    assert first["txn"] == second["txn"] and first["csn"] < second["csn"]
    access = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert [line["op"] for line in access if line["id"].rsplit("-", 1)[0] == renamed["id"] and line["op"] == "rename"] == ["rename"]
    assert WORD not in audit.read_text() and "argon2id" not in audit.read_text()
    assert os.stat(audit).st_mode & 0o777 == 0o600


@pytest.mark.kills
def test_g2_no_gap_and_nothing_twice_over_kills(keep, tmp_path):
    """Every change that was answered is there once, in the log's order, over kills at random moments, cut lines and snapshots."""
    audit = tmp_path / "audit.log"
    settings = config(tmp_path / "pando.toml", audit)
    moments, answered = chances("audit"), []
    for round_ in range(KILLS):
        # A snapshot takes from the log what a later start could be reported by.
        here = keep("--config", settings, "--snapshot-after", "2000", ldif=None if round_ else "people.ldif")
        client = connect(here)
        for number in range(moments.randrange(20, 60)):
            add(client, f"r{round_}n{number}")
            answered.append(f"uid=r{round_}n{number},{PEOPLE}")
        pending = [client.modify(ADA, [(ldap.MOD_REPLACE, "description", [str(number).encode()])]) for number in range(moments.randrange(40))]
        here.kill()
        del pending
        if round_ % 2:
            # As a power loss would: the last lines are gone, one of them by half.
            text = audit.read_bytes()
            audit.write_bytes(text[: text.rindex(b"\n", 0, len(text) - moments.randrange(2, 40)) + moments.randrange(1, 30)])
    here = keep("--config", settings)
    there = here.search("-b", PEOPLE, "-s", "one", "(uid=r*n*)", "1.1").dns
    description = here.search("-b", ADA, "-s", "base", "description").out
    here.end()
    read = lines(audit)
    reported = changes(read)
    assert not [line for line in read if line["op"] == "lost"]
    adds = [line["entry"] for line in reported if line["op"] == "add"]
    assert adds == [dn for dn in adds if dn in there] and sorted(adds) == sorted(there) and set(answered) <= set(adds)
    last = [line["changes"][0]["values"][0] for line in reported if line["entry"] == ADA]
    assert not last or f"description: {last[-1]}\n" in description
    recovered = [line for line in reported if line.get("recovered")]
    assert recovered and all("peer" not in line and line["dn"] == ADMIN for line in recovered)
    assert [line for line in reported if "peer" in line] and len({line["csn"] for line in reported}) == len(reported)


@pytest.mark.parametrize("mode", ["continue", "read-only"])
def test_g2_an_audit_log_that_is_gone_or_full(keep, tmp_path, mode):
    """A folder that is gone, and a full disk: changes are refused or go on, and all are in the log when it can be written again."""
    folder, away = tmp_path / "audit", tmp_path / "away"
    folder.mkdir()
    audit = folder / "audit.log"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True).returncode == 0
    settings = config(tmp_path / "pando.toml", audit, f'audit-on-failure = "{mode}"\n')
    try:
        here = keep("--config", settings, ldif="people.ldif")
        client = connect(here)
        add(client, "before")
        wait(audit, lambda read: [line for line in read if line["op"] == "add"])

        def change(number):
            client.modify_s(ADA, [(ldap.MOD_REPLACE, "description", [b"x" * 3000 + number])])

        if mounted:
            filler = folder / "filler"
            with pytest.raises(OSError), open(filler, "wb", 0) as file:
                while True:
                    file.write(b"x" * 512)
        else:
            folder.rename(away)
        if mode == "read-only":
            end = time.monotonic() + PATIENCE
            with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="log.audit-file cannot be written"):
                while time.monotonic() < end:
                    change(b"0")
            connect(here, BRUNO, "bruno's password").unbind_s()
        else:
            for number in range(30):
                change(str(number).encode())
        assert client.whoami_s() == f"dn:{ADMIN}"
        filler.unlink() if mounted else away.rename(folder)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                change(b"after")
                break
            except ldap.UNWILLING_TO_PERFORM:
                assert time.monotonic() < end
        client.unbind_s()
        wait(audit, lambda read: "xafter" in json.dumps(read[-1]))
        here.end()
        reported = changes(lines(audit))
        values = [line["changes"][0]["values"][0].strip("x") for line in reported if line["op"] == "modify"]
        assert values[-1] == "after" and not [line for line in lines(audit) if line["op"] == "lost"]
        assert mode == "read-only" or values == [*map(str, range(30)), "after"]
        assert "log.audit-file" in here.log
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


def test_g2_a_moved_file_begins_anew_and_the_next_start_goes_on(keep, tmp_path):
    """What was moved away and what was begun in its place are one log. A new directory beside an old file is noticed."""
    audit, old = tmp_path / "audit.log", tmp_path / "audit.1"
    settings = config(tmp_path / "pando.toml", audit)
    here = keep("--config", settings, ldif="people.ldif")
    client = connect(here)
    add(client, "one")
    wait(audit, lambda read: read[-1]["op"] == "add")
    audit.rename(old)
    wait(audit, lambda read: read[0]["op"] == "begin")
    here.kill()
    here = keep("--config", settings)
    add(connect(here), "two")
    here.end()
    entries = [line["entry"] for line in changes(lines(old) + lines(audit)) if line["op"] == "add"]
    assert entries == [f"uid=one,{PEOPLE}", f"uid=two,{PEOPLE}"] and lines(audit)[0]["op"] == "begin"
    foreign = tmp_path / "notes"
    foreign.write_text("no audit log\n")
    for path, why in [(foreign, "none of an audit log"), (tmp_path, "regular file"), (tmp_path / "no/where", "No such file")]:
        with pytest.raises(AssertionError, match=f"log.audit-file: {path}.*{why}"):
            start(Path(tempfile.mkdtemp(dir=tmp_path)), "--config", config(tmp_path / "other.toml", path), data=keep.data)
    run("rm", "-r", keep.data)
    ahead = tmp_path / "ahead"
    ahead.write_text('{"index":4000,"n":2,"op":"add"}\n')
    here = keep("--config", config(tmp_path / "other.toml", ahead), ldif="people.ldif")
    add(connect(here), "three")
    here.end()
    read = lines(ahead)
    assert read[1]["op"] == "begin" and read[-2]["entry"] == f"uid=three,{PEOPLE}"
    assert "the audit log has changes that are not in the log" in here.log


def test_an_audit_log_follows_a_log(server, tmp_path):
    """Without a data directory there is no log of changes."""
    with pytest.raises(AssertionError, match="with `memory` there is no log of changes"):
        server("--config", config(tmp_path / "pando.toml", tmp_path / "audit.log"))
