"""SASL binds of foreign clients over TCP and TLS; those over Unix sockets are in test_ldapi.py. The ids are rows of docs/sasl.md."""

import os
import ssl

import ldap3
import pytest

from certificates import Authority
from conftest import ADMIN, PEOPLE, SECRET, run

PLAIN_NAME = f"dn:{ADMIN}"


@pytest.fixture
def served(tmp_path, server):
    """A server with a certificate, where a password needs a protected connection from this machine too."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("server")
    config = tmp_path / "pando.toml"
    config.write_text(f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\n[security]\npassword = 1\n')
    begun = server("--config", config, "--index", "uid:eq")
    begun.authority = authority
    return begun


def connection(server, credentials, secured=True, mechanism="PLAIN"):
    """An ldap3 connection that binds by SASL."""
    tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=str(server.authority.certificate))
    made = ldap3.Connection(ldap3.Server("localhost", port=server.port, tls=tls, get_info=ldap3.DSA), authentication=ldap3.SASL,
                            sasl_mechanism=mechanism, sasl_credentials=credentials)
    made.open()
    if secured:
        assert made.start_tls()
    return made


def test_s1_plain_over_tls_with_and_without_another_identity(served):
    user = f"uid=plain,{PEOPLE}"
    env = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(served.authority.certificate), "LDAPTLS_REQCERT": "demand"}
    run("ldapadd", "-ZZ", *served.admin, env=env, stdin=f"dn: {user}\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: plain\nuserPassword: word\n")
    asked = ["ldapwhoami", "-Q", "-O", "none", "-Y", "PLAIN", "-ZZ", "-H", served.url, "-w", "word", "-U", "plain"]
    assert run(*asked, env=env).out.strip() == f"dn:{user}"
    assert run(*asked, "-X", "u:plain", env=env).out.strip() == f"dn:{user}"
    assert run(*asked, "-X", PLAIN_NAME, env=env, code=49).out == ""
    for credentials, who in [((None, PLAIN_NAME, SECRET), ADMIN), (("u:plain", PLAIN_NAME, SECRET), user), ((None, "plain", "word"), user),
                             (("u:plain", "u:plain", "word"), user), ((PLAIN_NAME, "plain", "word"), None), ((None, "plain", "wrong"), None),
                             ((None, "nobody", "word"), None)]:
        made = connection(served, credentials)
        assert made.bind() == (who is not None), (credentials, made.result)
        assert made.result["result"] == (0 if who else 49)
        assert (made.extend.standard.who_am_i() or "") == (f"dn:{who}" if who else "")


def test_s1_plain_is_neither_listed_nor_taken_in_the_clear(served):
    made = connection(served, (None, PLAIN_NAME, SECRET), secured=False)
    assert not made.server.info.supported_sasl_mechanisms
    assert not made.bind() and made.result["result"] == 7 and "in the clear" in made.result["message"]
    made = connection(served, (None, PLAIN_NAME, SECRET))
    assert made.bind()
    assert made.server.info.supported_sasl_mechanisms == ["PLAIN"], "it was asked again after StartTLS"
    external = connection(served, None, mechanism=ldap3.EXTERNAL)
    assert not external.bind() and external.result["result"] == 48


def test_s6_one_verdict_on_all_ways(tmp_path, server):
    """By PLAIN, SCRAM, EXTERNAL and the control, as ldap-utils ask for it: Bruno may act as users, and nobody as the root DN."""
    socket, ada, bruno, word = tmp_path / "ldapi", f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}", "a long word"
    url = "ldapi://" + str(socket).replace("/", "%2F")
    config = tmp_path / "pando.toml"
    config.write_text(f"""password-scheme = ["ssha", "scram-sha-256"]
index = ["uid:eq"]
proxy-dn = ["{bruno}"]
[[identity.peer]]
uid = {os.getuid()}
dn = "{bruno}"
[[listener]]
url = "{url}"
""")
    here = server("--config", config)
    run("ldappasswd", *here.admin, "-s", word, bruno)
    sasl = ["ldapwhoami", "-Q", "-O", "none", "-w", word, "-H", here.url, "-U", "bruno"]
    seen = {}
    for asked in ("u:ada", f"dn:{ada.upper()}", "u:bruno", "u:nobody", f"dn:{ADMIN}"):
        tools = [run(*sasl, "-Y", mechanism, "-X", asked, code=None) for mechanism in ("PLAIN", "SCRAM-SHA-256")]
        tools.append(run("ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", url, "-X", asked, code=None))
        assert {tool.code for tool in tools} <= {0, 49}, tools
        tools.append(run("ldapwhoami", "-x", "-H", here.url, "-D", bruno, "-w", word, "-e", f"!authzid={asked}", code=None))
        seen[asked] = {tool.out.strip() if tool.code == 0 else None for tool in tools}
    assert all(len(verdicts) == 1 for verdicts in seen.values()), seen
    assert seen["u:ada"] == {f"dn:{ada}"} and seen[f"dn:{ADMIN}"] == {None} and seen["u:nobody"] == {None} and seen["u:bruno"] == {f"dn:{bruno}"}
