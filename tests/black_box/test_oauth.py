"""OAUTHBEARER (S7) with the UnboundID SDK, and with messages and tokens that no issuer sends. The ids are rows of docs/sasl.md."""

import hashlib
import hmac
import json
import os
import signal
import time

import pytest

from conftest import ADMIN, PATIENCE, PEOPLE, connect, run, wait_for
from oauth import Issuer
from scram import answer, bind_request
from test_tls import Raw
from test_unboundid import JAR

ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
NAME, CHALLENGE = b"OAUTHBEARER", b'{"status":"invalid_token"}'
WHO_AM_I = bytes.fromhex("301e02010277198017") + b"1.3.6.1.4.1.4203.1.11.3"


@pytest.fixture
def served(tmp_path, server):
    issuer = Issuer(tmp_path / "issuer")
    keys, security = tmp_path / "keys.json", tmp_path / "security.log"
    keys.write_text(issuer.keys())
    config = tmp_path / "pando.toml"
    config.write_text(f"""index = ["uid:eq"]
proxy-dn = ["{BRUNO}"]
[identity.user]
base = "{PEOPLE}"
scope = "one"
filter = "(uid={{}})"
[oauth]
jwks = "{keys}"
issuer = "https://issuer"
audience = "ldap"
claim = "name"
[log]
access = "all"
access-file = "{tmp_path / 'access.log'}"
security-file = "{security}"
""")
    begun = server("--config", config)
    begun.issuer, begun.keys, begun.logs = issuer, keys, (security, tmp_path / "access.log")
    return begun


def claims(name="ada", **changed):
    said = {"iss": "https://issuer", "aud": ["web", "ldap"], "exp": int(time.time()) + 100, "name": name}
    return {claim: value for claim, value in {**said, **changed}.items() if value is not None}


def ask(connection, token, authzid=b""):
    connection.send(bind_request(NAME, b"n," + authzid + b",\x01host=x\x01auth=Bearer " + token.encode() + b"\x01\x01"))
    return answer(connection.message())


def who(connection, token, authzid=b""):
    """Who the client is by a token; `None` if it is told that the token is not good."""
    code, said = ask(connection, token, authzid)
    if code == 14:
        assert said == CHALLENGE
        connection.send(WHO_AM_I)
        assert connection.result() == 1, "nobody is bound between the steps"
        connection.send(bind_request(NAME, b"\x01"))
        assert answer(connection.message()) == (49, None)
        return None
    assert (code, said) == (0, None)
    connection.send(WHO_AM_I)
    return connection.message().split(b"dn:")[1].decode()


@pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")
def test_s7_unboundid(served):
    def search(token, code, *options):
        return run("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", JAR, "com.unboundid.ldap.sdk.unboundidds.tools.LDAPSearch", "-h", "127.0.0.1",
                   "-p", served.port, "--saslOption", "mech=OAUTHBEARER", "--saslOption", f"accessToken={token}", *options, "-b", ADA, "-s", "base",
                   "(objectClass=*)", "uid", code=code, timeout=4 * PATIENCE)

    assert f"dn: {ADA}" in search(served.issuer.token(claims(), "r"), 0).out
    search(served.issuer.token(claims(aud="web"), "r"), 49)


def test_s7_what_the_issuer_has_signed(served):
    connection, issuer = Raw(served.port), served.issuer
    for kid in "red":
        assert who(connection, issuer.token(claims(), kid)) == ADA, kid
    bruno = issuer.token(claims("bruno"))
    assert who(connection, bruno, b"a=u:ada") == ADA and who(connection, bruno, b"a=dn:" + ADA.replace("=", "=3D").replace(",", "=2C").encode()) == ADA
    assert who(connection, bruno, b"a=dn:" + ADMIN.replace("=", "=3D").replace(",", "=2C").encode()) is None
    assert who(connection, issuer.token(claims()), b"a=u:bruno") is None


def test_s7_what_is_refused(served):
    """Not signed, by a secret that everybody knows, by another key; not for us, not now, of nobody."""
    connection, issuer, now = Raw(served.port), served.issuer, int(time.time())
    public = issuer.public("r")
    tokens = {
        "alg none": issuer.token(claims(), header={"alg": "none", "kid": "e"}, signature=lambda _: b""),
        "HS256": issuer.token(claims(), header={"alg": "HS256", "kid": "r"}, signature=lambda signed: hmac.new(public, signed, hashlib.sha256).digest()),
        "another kid": issuer.token(claims(), header={"alg": "ES256", "kid": "d"}),
        "an unknown kid": issuer.token(claims(), header={"alg": "ES256", "kid": "x"}),
        "no kid": issuer.token(claims(), header={"alg": "ES256"}),
        "an extension": issuer.token(claims(), header={"alg": "ES256", "kid": "e", "crit": ["x"], "x": 1}),
        "another signature": issuer.token(claims(), signature=lambda _: bytes(64)),
        "iss": issuer.token(claims(iss="https://issuer/")),
        "no iss": issuer.token(claims(iss=None)),
        "aud": issuer.token(claims(aud="web")),
        "no aud": issuer.token(claims(aud=None)),
        "exp": issuer.token(claims(exp=now - 61)),
        "no exp": issuer.token(claims(exp=None)),
        "nbf": issuer.token(claims(nbf=now + 100)),
        "nobody": issuer.token(claims("nobody")),
        "the root DN": issuer.token(claims("admin")),
        "a filter": issuer.token(claims("*")),
        "no name": issuer.token(claims(name=None, sub="ada")),
        "no token": "x",
    }
    for why, token in tokens.items():
        assert who(connection, token) is None, why
    for message in (b"", b"n,,", b"n,,\x01\x01", b"p=tls-exporter,,\x01auth=Bearer x\x01\x01", b"\xff"):
        connection.send(bind_request(NAME, message))
        assert answer(connection.message()) == (49, None), message
    # G3: tokens are logged nowhere; each failure is, once.
    wait_for(lambda: served.logs[0].read_text().count("bind-failed") == len(tokens) + 5)
    logged = served.logs[0].read_text() + served.logs[1].read_text() + served.log
    assert "OAUTHBEARER" in logged
    assert not any(token in logged or token.split(".")[1][:60] in logged for token in tokens.values() if len(token) > 60)


def test_s7_the_session_ends_with_the_token(served):
    """At `exp` and the minute that clocks may differ by."""
    connection = Raw(served.port)
    begun = time.time()
    assert who(connection, served.issuer.token(claims(exp=int(begun) - 58))) == ADA
    notice = connection.message()
    assert notice[2:5] == b"\x02\x01\x00" and notice[notice.index(b"\x0a\x01") + 2] == 8 and b"1.3.6.1.4.1.1466.20036" in notice
    assert connection.is_closed() and 1 <= time.time() - begun < PATIENCE


def test_s7_keys_are_replaced(served, tmp_path):
    connection, next_one = Raw(served.port), Issuer(tmp_path / "next")
    old, new = served.issuer.token(claims()), next_one.token(claims())
    assert who(connection, old) == ADA and who(connection, new) is None
    served.keys.write_text("nonsense")
    os.kill(served.pid, signal.SIGHUP)
    wait_for(lambda: "the keys of access tokens that were in force stay" in served.log)
    assert who(connection, old) == ADA
    served.keys.write_text(next_one.keys())
    os.kill(served.pid, signal.SIGHUP)
    wait_for(lambda: "keys of access tokens were read" in served.log)
    assert who(connection, new) == ADA and who(connection, old) is None
    listed = connect(served).search_s("", 0, attrlist=["supportedSASLMechanisms"])[0][1]["supportedSASLMechanisms"]
    assert NAME in listed
    assert json.loads(served.keys.read_text())["keys"]
