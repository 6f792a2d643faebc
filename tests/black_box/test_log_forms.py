"""G1: the access log in the forms of other servers, beside slapd itself, and digested by 389 Directory Server's own tool."""

import difflib
import json
import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from pathlib import Path

import ldap
import pytest
from ldap.controls.simple import ProxyAuthzControl

from ber import ldap_bind, tlv
from conftest import ADMIN, PANDO, PATIENCE, SECRET, SUFFIX, run, wait_for
from test_access_slapd import SLAPD, Slapd
from test_logs import WORD, forms, has_codes, send_hostile_texts

# .ci/packages takes it out of its package, which is not installed.
LOGCONV = Path(os.environ.get("LOGCONV", "logconv"))
OWN, NEW = f"ou=forms,{SUFFIX}", f"uid=new,ou=forms,{SUFFIX}"


def session(url):
    """One of each operation, answered by any server with the same result; and two connections more: one without a word, one that abandons."""
    client = ldap.initialize(url)
    client.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    client.simple_bind_s(ADMIN, SECRET)
    client.add_s(OWN, [("objectClass", [b"organizationalUnit"]), ("ou", [b"forms"])])
    client.add_s(NEW, [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"]), ("userPassword", [WORD.encode()])])
    client.search_s(OWN, ldap.SCOPE_SUBTREE, "(&(objectClass=person)(uid=new))", ["cn", "sn"])
    client.search_s(OWN, ldap.SCOPE_ONELEVEL)
    client.search_ext_s(NEW, ldap.SCOPE_BASE, serverctrls=[ProxyAuthzControl(True, f"dn:{NEW}".encode())])
    client.modify_s(NEW, [(ldap.MOD_REPLACE, "description", [b"d"]), (ldap.MOD_DELETE, "description", None)])
    client.compare_s(NEW, "cn", b"n")
    client.whoami_s()
    client.simple_bind_s(NEW, WORD)
    for password in ("wrong", "worse"):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            client.simple_bind_s(NEW, password)
    client.simple_bind_s(ADMIN, SECRET)
    client.rename_s(NEW, "uid=newer", OWN)
    client.delete_s(f"uid=newer,{OWN}")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        client.delete_s(f"uid=newer,{OWN}")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        client.search_s(NEW, ldap.SCOPE_BASE, "(cn=*)", ["+"])
    client.unbind_s()
    address = re.search(r"//(.*):(\d+)", url).groups()
    socket.create_connection(address, PATIENCE).close()
    with socket.create_connection(address, PATIENCE) as raw:
        raw.sendall(ldap_bind(b"", b"", 1))
        assert raw.recv(1 << 16)
        raw.sendall(tlv(0x30, tlv(2, b"\2") + tlv(0x50, b"\7")) + tlv(0x30, tlv(2, b"\3") + b"\x42\0"))
        while raw.recv(1 << 16):
            pass


def serve(server, tmp_path, form):
    """A server, and the file that it writes in a form."""
    path, config = tmp_path / f"{form}.log", tmp_path / f"{form}.toml"
    config.write_text(f'[log]\naccess = "all"\nformat = "{form}"\naccess-file = "{path}"\n')
    return server("--config", config), path


def logged(server, tmp_path, form):
    """The file that Pando writes of a session; no password is in it."""
    here, path = serve(server, tmp_path, form)
    session(here.url)
    here.end()
    assert not [word for word in forms(WORD) if word in path.read_bytes()]
    return path


def of_session(text):
    """Lines of the last three connections, the longest last, without the words that differ from server to server and run to run. slapd's
    threads may write a result behind the request that follows it."""
    lines = [line for line in re.findall(r"conn=\d+ .*", text)]
    last = sorted({int(line.split()[0][5:]) for line in lines})[-3:]
    by_place = {f"conn={number}": [] for number in last}
    for line in lines:
        place, words = line.split(" ", 1)
        for what, instead in [
            (r"fd=\d+", "fd"), (r"([qe])time=\d+\.\d{6}(?!\d)", r"\1time"), (r"text=.*", "text"),
            (r"from IP=127\.0\.0\.1:\d+ \(IP=127\.0\.0\.1:\d+\)", "from"),
        ]:
            words = re.sub(what, instead, words)
        # slapd puts a request off while a bind of its connection is not done with.
        if place in by_place and not words.startswith("deferring "):
            by_place[place].append(words)
    number = lambda words: int((re.match(r"op=(\d+)", words) or [0, -1 if "ACCEPT" in words else 99])[1])
    return sorted((sorted(lines, key=number) for lines in by_place.values()), key=len)


@pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
def test_g1_lines_of_openldap_are_those_of_slapd(server, tmp_path):
    """Each line of a session, word by word, but for times and numbers of the system."""
    slapd = Slapd(tmp_path / "slapd", ["access to attrs=userPassword by * auth", "access to * by * write"], ["authz-policy any"], "stats")
    session(slapd.url)
    # It may notice late that a client without a word has gone.
    wait_for(lambda: all("fd closed" in " ".join(lines) for lines in of_session(slapd.log.read_text())), "slapd logs no end of a connection")
    slapd.end()
    path = logged(server, tmp_path, "openldap")
    head = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z \S+ slapd\[\d+\]: ")
    assert all(head.match(line) for line in path.read_text().splitlines())
    expected, found = of_session(slapd.log.read_text()), of_session(path.read_text())
    assert len(expected[-1]) > 40
    assert found == expected, "\n".join(difflib.ndiff(sum(expected, []), sum(found, [])))


def test_g1_records_come_to_lines(server, tmp_path):
    """The binary form has no password, and comes to the lines of any other form. What is cut off or damaged is named, and costs nothing else."""
    path = logged(server, tmp_path, "binary")
    text = run(PANDO, "log", "cat", path).out
    lines = [json.loads(line) for line in text.splitlines()]
    assert Counter(line["op"] for line in lines if line["id"].count("-") == 2 and line["op"] not in ("bind", "unbind", "search")) == {
        "add": 2, "modify": 1, "compare": 1, "extended": 1, "rename": 1, "delete": 2, "abandon": 1,
    }
    assert sum(line["code"] == 49 for line in lines if line["op"] == "bind") == 2
    [close] = [line["operations"] for line in lines if line["op"] == "close" and line["operations"] > 10]
    [opened] = [line for line in lines if line.get("msgid") == 3 and line["op"] == "add"]
    assert close == 18 and opened["target"] == NEW and opened["dn"] == ADMIN
    for form, word in [("389", "RESULT err="), ("openldap", "RESULT tag=")]:
        shown = run(PANDO, "log", "cat", "--format", form, path).out
        assert shown.count(word) + shown.count("RESULT oid=") == sum("code" in line for line in lines)
    # The same process may have several files; another one begins anew.
    path = logged(server, tmp_path, "binary")
    both = [json.loads(line) for line in run(PANDO, "log", "cat", path).out.splitlines()]
    assert both[: len(lines)] == lines and len({line["id"].split("-")[0] for line in both}) == 2
    whole = path.read_bytes()
    expected = run(PANDO, "log", "cat", path).out.splitlines()
    path.write_bytes(whole[:-5])
    cut = run(PANDO, "log", "cat", path, code=1)
    assert cut.out.splitlines() == expected[:-1] and re.search(rf"octets \d+ to {len(whole) - 5} are no record", cut.err)
    at = whole.index(b"uid=newer")
    path.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    damaged = run(PANDO, "log", "cat", path, code=1)
    [(begin, end)] = re.findall(r"octets (\d+) to (\d+) are no record", damaged.err)
    assert int(begin) < at < int(end) and len(damaged.out.splitlines()) == len(expected) - 1
    assert run(PANDO, "log", "cat", tmp_path / "nowhere", code=1).out == ""
    (tmp_path / "no-file.toml").write_text(f'suffix = "{SUFFIX}"\n[log]\naccess = "all"\nformat = "binary"\n')
    assert "needs a file" in run(PANDO, "check-config", tmp_path / "no-file.toml", code=1).out


def test_g4_no_name_forges_a_line_in_any_form(server, tmp_path):
    """Each line has the head of its form, its quotes are pairs, and no code for a terminal is in it."""
    here, path = serve(server, tmp_path, "binary")
    send_hostile_texts(here.port)
    here.end()
    heads = {
        "json": r'\{"t":".*\}', "openldap": r"\d{4}-\S+Z \S+ slapd\[\d+\]: conn=\d+ (op|fd)=\d+ .*",
        "389": r"(\t.*)?|\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\.\d{9} \+0000\] conn=\d+ (op|fd)=-?\d+ .*",
    }
    for form, head in heads.items():
        text = run(PANDO, "log", "cat", "--format", form, path).out
        lines = text.split("\n")
        assert lines.pop() == "" and len(lines) > 12 and not has_codes(text)
        for line in lines:
            assert re.fullmatch(head, line) and line.replace('\\"', "").count('"') % 2 == 0, line


@pytest.mark.skipif(not shutil.which(LOGCONV), reason="there is no logconv; .ci/packages fetches it")
def test_g1_logconv_digests_lines_of_389(server, tmp_path):
    """The sums of 389 Directory Server's own tool are those of the client."""
    path = logged(server, tmp_path, "389")
    done = subprocess.run([LOGCONV, "-D", tmp_path, "-V", path], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert not done.stderr
    # Values stand behind a colon; codes and DNs behind their number.
    report = {name.strip(" -"): int(number) for name, number in re.findall(r"^(.*?): +(\d+)\b", done.stdout, re.M)}
    counts = Counter(re.findall(r"op=\d+ (SRCH|MODRDN|MOD|ADD|DEL|CMP|BIND|EXT|UNBIND|ABANDON|RESULT)\b", path.read_text()))
    expected = {
        "Searches": "SRCH", "Modifications": "MOD", "Adds": "ADD", "Deletes": "DEL", "Mod RDNs": "MODRDN", "Compares": "CMP", "Binds": "BIND",
        "Unbinds": "UNBIND", "Extended Operations": "EXT", "Abandoned Requests": "ABANDON",
    }
    assert {name: report[name] for name in expected} == {name: counts[word] for name, word in expected.items()}
    of_client = {"SRCH": 4, "MOD": 1, "ADD": 2, "DEL": 2, "MODRDN": 1, "CMP": 1, "EXT": 1, "ABANDON": 1}
    others = {"BIND", "UNBIND", "RESULT"}
    assert {word: count for word, count in counts.items() if word not in others} == of_client
    assert report["Proxied Auth Operations"] == 1 and report["Restarts"] == 1
    assert report["Total Connections"] == report["FDs Taken"] == report["FDs Returned"]
    # An abandon counts as one, for it has no other.
    assert report["Total Results"] == counts["RESULT"] + counts["ABANDON"]
    codes = Counter(int(code) for code in re.findall(r"RESULT err=(\d+)", path.read_text()))
    assert codes[49] == 2 and codes[32] == 2 and codes[6] == 1
    for code, count in codes.items():
        assert re.search(rf"^err={code} +{count} ", done.stdout, re.M), (code, count)
