"""Programs of others with users and rules in the directory: what each tells its user. docs/clients.md has the table."""

import base64
import http.cookiejar
import imaplib
import json
import re
import urllib.error
import urllib.parse
import urllib.request

import pytest

import logins
import programs
from certificates import Authority
from conftest import ADMIN, DATA, PATIENCE, PEOPLE, SECRET, SUFFIX, start
from programs import ADA_WORD, BRUNO_WORD, HIDDEN_WORD

LACKING = programs.lacking()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))


@pytest.fixture(scope="module")
def signer(tmp_path_factory):
    """The authority of the server's certificate."""
    return Authority(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def served(tmp_path_factory, signer):
    """A server with users, sudo's rules, and a name for programs that may not see all."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "all.ldif").write_text((DATA / "people.ldif").read_text() + programs.LDIF)
    certificate, key = (json.dumps(str(path)) for path in signer.sign("server"))
    (folder / "pando.toml").write_text(f"[tls]\ncertificate = {certificate}\nkey = {key}\n")
    rules = [part for rule in programs.RULES for part in ("--access-rule", rule)]
    here = start(folder, "--config", folder / "pando.toml", "--schema", programs.SCHEMA_OF_SUDO, "--index", "uid:eq", "--index", "mail:eq", *rules, ldif=folder / "all.ldif")
    yield here
    here.end()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A machine with the programs, which are configured by their tests."""
    made = logins.Machine(tmp_path_factory.mktemp("machine") / "machine", programs.FILES)
    yield made
    made.end()


@pytest.fixture(scope="module")
def authority(machine, signer):
    """The path of its certificate on the machine."""
    return machine.share(signer)


def test_sudo(served, machine, authority):
    """By sudo's own schema. A role that the name of the machine may not see gives nobody anything."""
    programs.sudo(machine, served.port, authority)
    assert "(root) NOPASSWD: /usr/bin/id" in machine.run("sudo", "--list", "--other-user", "ada").out
    assert machine.run("sudo", "--non-interactive", "/usr/bin/id", "--user", "--name", user=1001).out == "root\n"
    refused = machine.run("sudo", "--non-interactive", "/usr/bin/true", user=1001, code=1)
    assert "password is required" in refused.err, refused
    assert "bruno is not allowed to run sudo" in machine.run("sudo", "--list", "--other-user", "bruno").out
    refused = machine.run("sudo", "--non-interactive", "/usr/bin/id", user=1002, code=1)
    assert "password is required" in refused.err, refused


def test_postfix(served, machine, authority):
    """What postmap finds of an address is what Postfix delivers to. Members of a group are looked up by their names."""
    programs.postfix(machine, served.port, authority)

    def mapped(key, table, code=0):
        return machine.run("postmap", "-q", key, f"ldap:/etc/postfix/{table}.cf", code=code)

    assert mapped("ada@example.com", "mailbox").out == "ada/Maildir/\n"
    assert mapped("staff@example.com", "members").out == "ada@example.com,bruno@example.com\n"
    for absent in ("nobody@example.com", "hidden@example.com", "*@example.com"):
        refused = mapped(absent, "mailbox", code=1)
        assert refused.said == "", refused


def test_dovecot(served, machine, authority):
    """Log-ins over IMAP, users and their numbers."""
    port = programs.dovecot(machine, served.port, authority)

    def log_in(user, word):
        session = imaplib.IMAP4("127.0.0.1", port, PATIENCE)
        try:
            session.login(f'"{user}"', word)
            return session.select("INBOX")
        finally:
            session.shutdown()

    assert log_in("ada", ADA_WORD) == ("OK", [b"0"])
    assert log_in("bruno@example.com", BRUNO_WORD) == ("OK", [b"0"])
    # Each refusal takes half a second.
    for user, word in (("ada", BRUNO_WORD), ("hidden", HIDDEN_WORD), ("a*", ADA_WORD)):
        with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"):
            log_in(user, word)
    found = machine.run("doveadm", "user", "ada").out
    assert re.search(r"^uid\s+1001$", found, re.MULTILINE) and re.search(r"^home\s+\S+/ada$", found, re.MULTILINE), found
    assert machine.run("doveadm", "user", "*").out.split() == ["ada", "bruno"]


def test_apache(served, machine, authority):
    """mod_authnz_ldap: a password, a group by compares, and a filter."""
    port = programs.apache(machine, served.port, authority)

    def code(folder, user, word):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{folder}/page")
        if user:
            request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{word}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                assert answer.read().decode() == f"for {folder}\n"
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    for folder in ("users", "staff", "chairs"):
        assert code(folder, "ada", ADA_WORD) == 200
        assert code(folder, "ada", BRUNO_WORD) == code(folder, None, None) == 401
        assert code(folder, "hidden", HIDDEN_WORD) == 401
    assert code("staff", "bruno", BRUNO_WORD) == 200
    assert code("chairs", "bruno", BRUNO_WORD) == 401


def test_freeradius(served, machine, authority):
    """rlm_ldap: what an access point is answered, with a value and a group of the user."""
    port = programs.freeradius(machine, served.port, authority)

    def answered(user, word, code=0):
        return machine.run("radtest", user, word, f"127.0.0.1:{port}", 0, "testing", code=code).out

    accepted = answered("ada", ADA_WORD)
    assert "Received Access-Accept" in accepted and 'Reply-Message = "Chair"' in accepted and 'Filter-Id = "staff"' in accepted, accepted
    for user, word in (("ada", BRUNO_WORD), ("hidden", HIDDEN_WORD), ("nobody", ADA_WORD), ("*", ADA_WORD)):
        refused = answered(user, word, code=1)
        # What an entry has for the answer is read before its password is tried.
        assert "Received Access-Reject" in refused and ("Reply-Message" in refused) == (user == "ada"), refused


class Browser:
    """Somebody who uses phpLDAPadmin."""

    def __init__(self, port):
        self.place = f"http://127.0.0.1:{port}/"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def page(self, path="cmd.php", fields=None, **query):
        """The text of a page, after all redirections."""
        data = urllib.parse.urlencode(fields).encode() if fields else None
        with self.opener.open(f"{self.place}{path}?{urllib.parse.urlencode({'server_id': 1, **query})}", data, timeout=PATIENCE) as answer:
            return answer.read().decode(errors="replace")

    def log_in(self, dn, word):
        self.page("index.php")
        return self.page(fields={"cmd": "login", "server_id": 1, "nodecode[login_pass]": 1, "login": dn, "login_pass": word, "submit": "Authenticate"})


def test_phpldapadmin(served, machine, authority):
    """Log-in, tree, an entry, a search, the schema; an entry is made and deleted."""
    port = programs.phpldapadmin(machine, served.port, authority)
    browser = Browser(port)
    assert "Invalid Username or Password" in browser.log_in(ADMIN, "wrong")
    assert "Logged in as:" in browser.log_in(ADMIN, SECRET)
    # How many entries are below each.
    tree = browser.page(cmd="expand", dn=SUFFIX)
    assert all(text in tree for text in ("(5)", "(4)", "(3)", "(2)", "Create new entry here"))
    entry = browser.page(cmd="template_engine", dn=f"uid=ada,{PEOPLE}")
    assert all(f'value="{value}"' in entry for value in ("Chair", "ada@example.com", "1001"))
    assert "sudoRole" in browser.page(cmd="schema") and "namingContexts" in browser.page(cmd="server_info")
    search = {"cmd": "query_engine", "query": "none", "base": SUFFIX, "scope": "sub", "filter": "(objectClass=posixAccount)", "display_attrs": "cn,mail",
              "orderby": "sn", "size_limit": 50, "format": "list", "search": 1}
    assert "Entries found: 3" in (found := re.sub("<[^>]*>", "", browser.page(**search))) and "hidden@example.com" in found, found
    # A file is imported, an entry changed, renamed, exported and deleted.
    dn = f"uid=made,ou=Empty,{SUFFIX}"
    entry = f"dn: {dn}\nobjectClass: inetOrgPerson\nuid: made\ncn: ñ\nsn: x\n"
    assert "Success" in browser.page(fields={"cmd": "import", "server_id": 1, "ldif": entry})
    change = {"cmd": "update", "server_id": 1, "dn": dn, "new_values[sn][0]": "changed"}
    assert "was modified" in browser.page(fields=change)
    assert "Rename successful" in browser.page(fields={"cmd": "rename", "server_id": 1, "dn": dn, "new_rdn": "uid=renamed"})
    dn = dn.replace("made", "renamed")
    ldif = browser.page(cmd="export", exporter_id="LDIF", dn=f"ou=Empty,{SUFFIX}", scope="sub", attributes="*")
    assert f"dn: {dn}\ncn:: w7E=\n" in ldif and "sn: changed\nuid: renamed\n" in ldif
    assert "Successfully deleted DN" in browser.page(fields={"cmd": "delete", "server_id": 1, "dn": dn})
    # The same as a name that may not see all.
    other = Browser(port)
    assert "Logged in as:" in other.log_in(programs.SERVICE, programs.SERVICE_WORD)
    found = other.page(**search)
    assert "ada@example.com" in found and "hidden@example.com" not in found and "uid=hidden" not in other.page(cmd="expand", dn=PEOPLE)
