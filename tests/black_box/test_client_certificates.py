"""Certificates of clients, and EXTERNAL by them. The ids are rows of docs/tls.md and docs/sasl.md."""

import hashlib
import signal
import ssl
import subprocess
import time

import pytest

from ber import integer, tlv
from certificates import Authority
from conftest import ADMIN, PANDO, PATIENCE, PEOPLE, SECRET, SUFFIX, run
from test_tls import SUCCESS, Raw, search

SASL_IN_PROGRESS, INAPPROPRIATE, INVALID_CREDENTIALS = 14, 48, 49


def external(message_id=1, credentials=b""):
    """A SASL bind by EXTERNAL."""
    sasl = [tlv(4, b"EXTERNAL"), *([] if credentials is None else [tlv(4, credentials)])]
    return tlv(0x30, integer(message_id), tlv(0x60, integer(3), tlv(4, b""), tlv(0xA3, *sasl)))


WHO_AM_I = tlv(0x30, integer(9), tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3")))


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "ca")


@pytest.fixture
def serve(tmp_path, authority, server):
    """`serve(mode, ...)` starts a server that asks clients for certificates; `mappings` are lines of tables."""

    def begin(mode, *mappings, revoked=None, tls=(), listeners=(), **settings):
        certificate, key = authority.sign("server")
        lines = ["[tls]", f'certificate = "{certificate}"', f'key = "{key}"', f'client-certificate = "{mode}"', f'client-ca = "{authority.certificate}"', *tls]
        lines += [f'client-crl = "{revoked}"'] if revoked else []
        config = tmp_path / "pando.toml"
        config.write_text("\n".join([*lines, *mappings, *listeners, ""]))
        begun = server("--listen", "ldaps://127.0.0.1:0", "--config", config, "--index", "uid:eq", "--index", "mail:eq", "--index", "description:eq", **settings)
        begun.secure_port = int(begun.process.stdout.readline().decode().rsplit(":", 1)[1])
        return begun

    return begin


def context_of(authority, pair=None, maximum=None):
    context = ssl.create_default_context(cafile=authority.certificate)
    if pair:
        context.load_cert_chain(*pair)
    if maximum:
        context.maximum_version = maximum
    return context


def ask(port, context, *requests, session=None):
    """The codes of binds, the name of the session afterwards, the mechanisms listed, and the socket; None if the handshake fails."""
    raw = Raw(port)
    try:
        raw.socket = context.wrap_socket(raw.socket, server_hostname="localhost", session=session)
        raw.send(search(8, attributes=[b"supportedSASLMechanisms"]))
        listed = raw.message()
        if not listed:
            return None
        assert raw.message()
        codes = []
        for request in requests or [external()]:
            raw.send(request)
            codes.append(raw.result())
        raw.send(WHO_AM_I)
        message = raw.message()
        name = message.split(b"dn:", 1)[1].decode() if b"dn:" in message else ""
        return codes, name, b"EXTERNAL" in listed, raw
    except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return None


MAPPED = ["[[identity.certificate]]", 'by = "filter"', 'filter = "(uid={subject.CN})"']


def add_user(server, name="ann", **attributes):
    lines = "".join(f"{attribute}: {value}\n" for attribute, value in attributes.items())
    run("ldapadd", *server.admin, stdin=f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n{lines}")
    return f"uid={name},{PEOPLE}"


def test_t5_client_certificates_by_mode(serve, authority, tmp_path, server):
    """None, good, expired, of another authority, revoked, not for clients: each with `request`, `require` and `none`."""
    other = Authority(tmp_path / "other")
    pairs = {
        "none": None,
        "good": authority.sign_client("ann", "/CN=ann"),
        "expired": authority.sign_client("old", "/CN=ann", end="20200201000000Z"),
        "early": authority.sign_client("new", "/CN=ann", begin="20480101000000Z"),
        "foreign": other.sign_client("ann", "/CN=ann"),
        "revoked": authority.sign_client("bad", "/CN=ann"),
        "server": authority.sign_client("web", "/CN=ann", usage="serverAuth"),
    }
    revoked = authority.revoke(pairs["revoked"][0])
    for mode, passes in [("request", {"none", "good"}), ("require", {"good"}), ("none", set(pairs))]:
        begun = serve(mode, *MAPPED, revoked=revoked)
        dn = add_user(begun)
        for name, pair in pairs.items():
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                got = ask(begun.secure_port, context_of(authority, pair, version))
                assert (got is not None) == (name in passes), (mode, name, version, got)
                if got:
                    codes, who, is_listed, _ = got
                    is_known = name == "good" and mode != "none"
                    assert (codes, who, is_listed) == (([SUCCESS], dn, True) if is_known else ([INAPPROPRIATE], "", False)), (mode, name)
        begun.end()


def test_t5_an_outdated_list_of_revoked_certificates_refuses(serve, authority):
    good = authority.sign_client("ann", "/CN=ann")
    begun = serve("request", *MAPPED, revoked=authority.revoke(hours=None))
    assert ask(begun.secure_port, context_of(authority, good)) is None
    assert ask(begun.secure_port, context_of(authority)) is not None


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_t5_a_ticket_ends_with_the_authorities_that_it_was_given_under(serve, authority, version):
    """It is resumed, with the client's identity, until the list of revoked certificates is another."""
    good = authority.sign_client("ann", "/CN=ann")
    begun = serve("require", *MAPPED, revoked=authority.revoke())
    dn = add_user(begun)
    context = context_of(authority, good, version)

    def again(session):
        codes, who, _, raw = ask(begun.secure_port, context, session=session)
        assert (codes, who) == ([SUCCESS], dn)
        return raw.socket.session_reused, raw.socket.session

    _, session = again(None)
    reused, session = again(session)
    assert reused
    authority.revoke(good[0])
    begun.process.send_signal(signal.SIGHUP)
    begin = time.monotonic()
    # With the old ticket it would get in.
    while ask(begun.secure_port, context, session=session) is not None:
        assert time.monotonic() - begin < PATIENCE, begun.log


def test_t5_a_listener_has_a_mode_of_its_own(serve, authority):
    """A handshake where no certificate is asked for is not resumed where one is required."""
    good = authority.sign_client("ann", "/CN=ann")
    listeners = ["[[listener]]", 'url = "ldaps://127.0.0.1:0"', 'client-certificate = "require"']
    begun = serve("none", *MAPPED, listeners=listeners)
    strict = int(begun.process.stdout.readline().decode().rsplit(":", 1)[1])
    dn = add_user(begun)
    plain = context_of(authority)
    *_, raw = ask(begun.secure_port, plain)
    assert ask(strict, plain, session=raw.socket.session) is None
    assert ask(strict, context_of(authority, good))[1] == dn


def test_s5_external_by_each_mapping_and_start_tls(serve, authority):
    """By fingerprint, subject and filters; absent and empty credentials differ; another identity as of the control; ldap-utils over StartTLS."""
    pair = authority.sign_client("ann", f"/DC=com/DC=example/OU=People/UID=ann", names=["email:Ann@example.com", "DNS:ann.example.com"])
    fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair[0].read_text())).hexdigest()
    for mapping in [['by = "fingerprint"', 'attribute = "description"'], ['by = "subject-dn"'], ['by = "filter"', 'filter = "(mail={san.email})"'],
                    ['by = "filter"', 'filter = "(&(uid={subject.UID})(objectClass=person))"', f'base = "{PEOPLE}"']]:
        begun = serve("request", "[[identity.certificate]]", *mapping)
        dn = add_user(begun, description=fingerprint, mail="ann@example.com")
        codes, who, is_listed, _ = ask(begun.secure_port, context_of(authority, pair), external(credentials=None), external(), external(3, b"dn:" + ADMIN.encode()),
                                       external(4, b"u:ann"))
        assert (codes, who, is_listed) == ([SASL_IN_PROGRESS, SUCCESS, INVALID_CREDENTIALS, SUCCESS], dn, True), mapping
        env = {"LDAPNOINIT": None, "LDAPTLS_CACERT": str(authority.certificate), "LDAPTLS_REQCERT": "demand", "LDAPTLS_CERT": str(pair[0]), "LDAPTLS_KEY": str(pair[1])}
        assert run("ldapwhoami", "-Q", "-ZZ", "-Y", "EXTERNAL", "-H", begun.url, env=env).out.strip() == f"dn:{dn}"
        begun.end()


def test_s5_what_names_nobody(serve, authority):
    """A name that is a filter, one that two have, one that nobody has; a certificate without mappings."""
    begun = serve("request", *MAPPED)
    add_user(begun)
    run("ldapadd", *begun.admin, stdin=f"dn: uid=twin,{PEOPLE}\nobjectClass: account\nuid: twin\n\ndn: uid=twin,{SUFFIX}\nobjectClass: account\nuid: twin\n")
    for name in ["*)(uid=*", "ann)(objectClass=*", "twin", "nobody", "a,b=c"]:
        pair = authority.sign_client("odd", "/CN=" + name)
        codes, who, is_listed, _ = ask(begun.secure_port, context_of(authority, pair))
        assert (codes, who, is_listed) == ([INVALID_CREDENTIALS], "", True), name
    begun.end()
    begun = serve("request")
    assert ask(begun.secure_port, context_of(authority, authority.sign_client("ann", "/CN=ann")))[0] == [INVALID_CREDENTIALS]


def test_what_is_missing_stops_the_start(tmp_path, authority):
    certificate, key = authority.sign("server")
    config = tmp_path / "pando.toml"
    for lines, text in [(['client-certificate = "request"'], "needs `tls.client-ca`"), (['client-certificate = "maybe"'], "none of `none`"),
                        (['client-certificate = "require"', f'client-ca = "{key}"'], "no certificate is in it"),
                        (['client-certificate = "require"', f'client-ca = "{certificate}"', f'client-crl = "{certificate}"'], "no list of revoked")]:
        config.write_text("\n".join([f'suffix = "{SUFFIX}"', "memory = true", 'listen = "ldaps://127.0.0.1:0"', "[tls]", f'certificate = "{certificate}"', f'key = "{key}"', *lines, ""]))
        done = subprocess.run([PANDO, "serve", "--config", config], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and text in done.stderr, done.stderr
