"""GSSAPI (S8) with the Kerberos of MIT and OpenLDAP's tools. The id is a row of docs/sasl.md."""

import subprocess

import pytest

from certificates import Authority
from conftest import PANDO, PEOPLE, run
from kerberos import REALM, Kerberos

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORD = "word of a principal"


@pytest.fixture
def kerberos(tmp_path):
    begun = Kerberos(tmp_path / "kerberos")
    try:
        for name in ("ada", "bruno", "nobody", "ada/admin"):
            begun.add(name, WORD)
        begun.add("ldap/127.0.0.1")
        yield begun
    finally:
        begun.end()


def configured(folder, kerberos, *lines):
    authority = Authority(folder / "ca")
    certificate, key = authority.sign("server")
    config = folder / "pando.toml"
    config.write_text("\n".join(['index = ["uid:eq"]', f'proxy-dn = ["{BRUNO}"]', f'[gssapi]\nkeytab = "{kerberos.keytab}"\nrealm = "{REALM}"',
                                 f'[identity.user]\nbase = "{PEOPLE}"', f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"', *lines, ""]))
    kerberos.environment.update({"LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand"})
    checked = subprocess.run([PANDO, "check-config", config, "--suffix", "dc=example,dc=com"], capture_output=True, text=True, timeout=60)
    if "this binary has no GSSAPI" in checked.stdout + checked.stderr:
        pytest.skip("this binary has no GSSAPI: cargo build --features pando/gssapi")
    return config


def of_clients(kerberos):
    return {**kerberos.environment, "LDAPNOINIT": None}


def who(kerberos, served, *flags, code=0):
    """What the client is told that it is, and what its library says of the layer."""
    # By address: the library takes "localhost" for the machine's own name.
    done = run("ldapwhoami", "-Y", "GSSAPI", "-N", "-H", served.url, *flags, code=code, env=of_clients(kerberos))
    return done.out.strip(), done.err


def test_s8_tickets_under_tls(tmp_path, server, kerberos):
    config = configured(tmp_path, kerberos, "[security]\npassword = 1")
    served = server("--config", config, env=kerberos.environment)

    def listed(*flags):
        out = run("ldapsearch", "-x", "-H", served.url, *flags, "-LLL", "-s", "base", "-b", "", "supportedSASLMechanisms", env=of_clients(kerberos)).out
        return "GSSAPI" in out

    kerberos.log_in("ada", WORD)
    assert not listed() and listed("-ZZ")
    assert who(kerberos, served, code=7)[0] == ""
    name, said = who(kerberos, served, "-ZZ")
    assert name == f"dn:{ADA}" and f"SASL username: ada@{REALM}" in said and "SASL SSF: 0" in said
    assert who(kerberos, served, "-ZZ", "-X", f"dn:{ADA}")[0] == f"dn:{ADA}"
    assert who(kerberos, served, "-ZZ", "-X", "u:bruno", code=49)[0] == ""
    for principal in ("nobody", "ada/admin"):
        kerberos.log_in(principal, WORD)
        assert who(kerberos, served, "-ZZ", code=49)[0] == "", principal
    kerberos.log_in("bruno", WORD)
    assert who(kerberos, served, "-ZZ")[0] == f"dn:{BRUNO}"
    assert who(kerberos, served, "-ZZ", "-X", "u:ada")[0] == f"dn:{ADA}"


def test_s8_no_layer_is_given(tmp_path, server, kerberos):
    """Where a password may come in the clear: the library takes a layer if it can have one, and ends the bind if it must have one."""
    served = server("--config", configured(tmp_path, kerberos), env=kerberos.environment)
    kerberos.log_in("ada", WORD)
    name, said = who(kerberos, served)
    assert name == f"dn:{ADA}" and "SASL SSF: 0" in said and "SASL data security layer installed" not in said
    assert who(kerberos, served, "-O", "maxssf=0")[0] == f"dn:{ADA}"
    assert who(kerberos, served, "-O", "minssf=1", code=None)[0] == ""
