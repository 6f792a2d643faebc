"""SASL binds of foreign clients over TCP and TLS; those over Unix sockets are in test_ldapi.py. The ids are rows of docs/sasl.md."""

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
