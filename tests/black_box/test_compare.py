"""`pando compare`: two servers that hold the same, and all ways in which they do not."""

import json
import socket
import threading

import pytest

from certificates import Authority
from conftest import ADMIN, PANDO, PEOPLE, SECRET, SUFFIX, run
from test_access_slapd import SLAPD, Slapd
from verdicts import ANN, LDIF


def compare(folder, first, second, *arguments, code=0):
    (folder / "root.password").write_text(SECRET + "\n")
    bind = ["--bind-dn", ADMIN, "--password-file", folder / "root.password"]
    return run(PANDO, "compare", getattr(first, "url", first), getattr(second, "url", second), *bind, *arguments, code=code)


def test_what_differs_is_told_by_entry_and_value(server, tmp_path):
    (tmp_path / "content.ldif").write_text(LDIF)
    first, second = (server(ldif=tmp_path / "content.ldif") for _ in range(2))
    # Each server hashes the passwords with a salt of its own.
    same = compare(tmp_path, first, second, "--ignore", "userPassword")
    assert (same.out, same.err) == ("", "compared 11 entries with 11: the same\n")
    referral = f"dn: ou=Away,{SUFFIX}\nchangetype: add\nobjectClass: referral\nobjectClass: extensibleObject\nou: Away\nref: ldap://%s/\n"
    for each, host in ((first, "a"), (second, "b")):
        each.modify(referral % host, "-M")
    second.modify(
        f"dn: {ANN}\nchangetype: modify\nreplace: title\ntitle: boss\n-\nadd: mail\nmail: ann@example.com\n-\n"
        "replace: cn\ncn: ANN\n-\nadd: description;lang-de\ndescription;lang-de: eins\n\n"
        f"dn: uid=boss,{PEOPLE}\nchangetype: delete\n\n"
        f"dn: ou=Extra,{SUFFIX}\nchangetype: modrdn\nnewrdn: ou=More\ndeleteoldrdn: 1\n"
    )
    found = compare(tmp_path, first, second, "--ignore", "USERPASSWORD", "--wait", "0", code=1)
    assert found.err == "compared 12 entries with 11: 2 differ, 2 only in 1, 1 only in 2\n"
    lines = found.out.splitlines()
    told = lines[lines.index(f"differs: {ANN}") :][:5]
    assert told[1:] == ["  + description;lang-de: eins", "  + mail: ann@example.com", "  - title: t", "  + title: boss"]
    away = lines[lines.index(f"differs: ou=Away,{SUFFIX}") :][:3]
    assert away[1:] == ["  - ref: ldap://a/", "  + ref: ldap://b/"]
    names = {f"only in 1: uid=boss,{PEOPLE}", f"only in 1: ou=Extra,{SUFFIX}", f"only in 2: ou=More,{SUFFIX}"}
    assert names == {line for line in lines if line.startswith("only")}
    # The bound of what is printed is none of what is counted.
    short = compare(tmp_path, first, second, "--ignore", "userPassword", "--wait", "0", "--limit", "1", code=1)
    assert short.err == found.err and sum(not line.startswith(" ") for line in short.out.splitlines()) == 1
    # Below a base, a filter, and what is created by each server.
    part = ["--ignore", "userPassword", "--wait", "0", "--base", f"ou=Groups,{SUFFIX}"]
    assert compare(tmp_path, first, second, *part).err == "compared 3 entries with 3: the same\n"
    assert compare(tmp_path, first, second, *part, "--scope", "one", "--filter", "(cn=staff)").err == "compared 1 entries with 1: the same\n"
    assert "- entryUUID: " in compare(tmp_path, first, second, *part, "--operational", "--quiet", code=1).out
    gone = compare(tmp_path, first, second, "--base", f"ou=gone,{SUFFIX}", code=2)
    assert gone.err == "pando compare: neither server has the base\n"
    assert compare(tmp_path, first, second, "--wait", "0", "--base", f"ou=More,{SUFFIX}", code=1).out == f"only in 2: ou=More,{SUFFIX}\n"


def test_secrets_are_compared_and_not_told(server, tmp_path):
    (tmp_path / "content.ldif").write_text(LDIF)
    first, second = (server(ldif=tmp_path / "content.ldif") for _ in range(2))
    found = compare(tmp_path, first, second, "--wait", "0", code=1)
    lines = found.out.splitlines()
    assert lines[:2] == [f"differs: {ANN}", "  ! userPassword: differs"] and len(lines) == 10
    assert "SSHA" not in found.said and SECRET not in found.said


def ending(url, after):
    """A server that is another one, until it has said so many bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = int(url.rsplit(":", 1)[1])

    def serve():
        with listener, listener.accept()[0] as client, socket.create_connection(("127.0.0.1", port)) as real:
            up = threading.Thread(target=pipe, args=(client, real, None), daemon=True)
            up.start()
            pipe(real, client, after)

    def pipe(source, sink, left):
        try:
            while data := source.recv(65536):
                if left is not None and len(data) > left:
                    sink.sendall(data[:left])
                    sink.shutdown(socket.SHUT_RDWR)
                    return
                left = left and left - len(data)
                sink.sendall(data)
        except OSError:
            pass

    threading.Thread(target=serve, daemon=True).start()
    return f"ldap://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_cannot_be_asked_is_no_difference(server, tmp_path):
    first, second = server(), server()
    ended = compare(tmp_path, first, ending(second.url, 700), code=2)
    assert ended.out == "" and "server 2: the server closed the connection" in ended.err
    ended = compare(tmp_path, ending(first.url, 700), second, code=2)
    assert ended.out == "" and "server 1: the server closed the connection" in ended.err
    wrong = run(PANDO, "compare", first.url, second.url, "--bind-dn", ADMIN, "--password-file", __file__, code=2)
    assert "invalidCredentials (49)" in wrong.err and first.url in wrong.err
    assert run(PANDO, "compare", first.url, "http://x", code=2).err == "pando compare: http://x: a URL is ldap://HOST, ldaps://HOST, or one of them with :PORT\n"
    # Who may read nothing compares nothing.
    assert "have no naming context in common" in run(PANDO, "compare", first.url, server(suffix="dc=other", ldif=None).url, code=2).err


def test_servers_are_compared_over_tls(server, tmp_path):
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    certificate, key = authority.sign("server", "IP:127.0.0.1")
    file = tmp_path / "pando.toml"
    file.write_text(f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\n[security]\nany = 128\n')
    (tmp_path / "content.ldif").write_text(LDIF)
    first = server("--listen", "ldaps://127.0.0.1:0", "--config", file, ldif=tmp_path / "content.ldif")
    secure = first.process.stdout.readline().decode().split()[1]
    second = server(ldif=tmp_path / "content.ldif")
    trusted = ["--ca-file", authority.certificate, "--ignore", "userPassword"]
    for url, more in ((secure, []), (first.url, ["--start-tls"])):
        same = compare(tmp_path, url, secure, *trusted, *more)
        assert same.err == "compared 11 entries with 11: the same\n"
    # The second has no certificate.
    assert compare(tmp_path, secure, second, *trusted).err == "compared 11 entries with 11: the same\n"
    assert "StartTLS" in compare(tmp_path, secure, second, *trusted, "--start-tls", code=2).err
    # Nobody is believed whom the authorities do not know, or who has another name.
    for url, ca in ((secure, other.certificate), (secure.replace("127.0.0.1", "localhost"), authority.certificate)):
        refused = compare(tmp_path, url, secure, "--ca-file", ca, code=2)
        assert ": TLS: invalid peer certificate: " in refused.err
    assert "--ca-file names the authorities" in compare(tmp_path, secure, second, code=2).err
    assert "it has no certificate" in compare(tmp_path, secure, second, "--ca-file", file, code=2).err
    # Without TLS the first answers nothing.
    assert "confidentialityRequired" in compare(tmp_path, first, second, code=2).err


@pytest.mark.skipif(not SLAPD.exists(), reason="there is no slapd; .ci/packages fetches it")
def test_slapd_and_what_it_was_exported_to(server, tmp_path):
    slapd = Slapd(tmp_path / "slapd", ["access to * by * read", "index objectClass,uid eq", "index cn eq,sub,approx"])
    try:
        (tmp_path / "all.ldif").write_text(slapd.tool("cat"))
        into = ["--data", tmp_path / "data", "--suffix", SUFFIX, "--passwords", "keep", "--quiet"]
        whose = ["--from", "openldap", "--source-config", slapd.conf, "--report", tmp_path / "report.json"]
        report = run(PANDO, "import", *into, *whose, tmp_path / "all.ldif")
        lines = report.out.splitlines()
        assert lines[0] == "11 records" and "kept: entryUUID: 11" in lines
        assert "left out: structuralObjectClass: 11: this server derives them" in lines
        assert "translated: userPassword in the clear: 5: what --passwords says" in lines
        assert lines[-2:] == ["no index: cn approx: there is no such kind of index", 'index = ["cn:eq,sub","objectClass:eq","uid:eq"]']
        written = json.loads((tmp_path / "report.json").read_text())
        assert (written["records"], written["indexes"]) == (11, ["cn:eq,sub", "objectClass:eq", "uid:eq"])
        assert {"name": "entryUUID", "fate": "kept", "why": None, "count": 11} in written["values"]
        indexes = [part for index in written["indexes"] for part in ("--index", index)]
        pando = server(*indexes, ldif=None, data=tmp_path / "data")
        same = compare(tmp_path, slapd, pando, "--operational")
        assert same.said == "compared 11 entries with 11: the same\n"
        pando.modify(f"dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: Other\n")
        found = compare(tmp_path, slapd, pando, "--wait", "0", code=1)
        assert found.out == f"differs: {ANN}\n  - sn: S\n  + sn: Other\n"
    finally:
        slapd.end()
