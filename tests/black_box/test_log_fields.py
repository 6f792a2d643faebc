"""What lines of the access log have that is not in the bytes of requests and answers."""

import ssl

import ldap
import pytest
from ldap.controls import RequestControl

from ber import integer, tlv
from certificates import Authority
from conftest import PANDO, PEOPLE, connect, run
from test_logs import ADA, Logs, by
from test_tls import Raw, start_tls

TRACKING = "1.3.6.1.4.1.21008.108.63.1"
WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
PERSONS = 150


def test_g1_what_requests_and_answers_do_not_say(server, tmp_path):
    """How far a search has looked, that it lacks an index, which rule has refused, version and cipher of TLS, session and transaction; in the binary form, too."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("server")
    rule = f'[[access.rule]]\nname = "no-titles"\nto = {{ all = true, attrs = ["title"] }}\nby = [{{ dn = "{ADA}" }}]\ndeny = ["write", "compare"]\nrank = 5\n'
    text = f'tls.certificate = "{certificate}"\ntls.key = "{key}"\n{rule}'
    for number, form in enumerate(("json", "binary")):
        folder = tmp_path / form
        folder.mkdir()
        log = Logs(server, folder, text=text, form=form)
        admin = connect(log.here)
        for person in range(PERSONS):
            admin.add(f"uid=p{person},{PEOPLE}", [("objectClass", [b"inetOrgPerson"]), ("cn", [b"n"]), ("sn", [b"n"]), ("description", [b"%d" % person])])
        admin.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(description=7)", ["1.1"])
        admin.search_s(f"uid=p7,{PEOPLE}", ldap.SCOPE_BASE, "(cn=n)", ["1.1"])
        log.here.modify(f"dn: {ADA}\nchangetype: modify\nreplace: description\ndescription: a\n", "-E", "txn=commit")
        value = tlv(0x30, tlv(4, b"192.0.2.9"), tlv(4, b"host"), tlv(4, b"1.2.3"), tlv(4, b"session-of-ada"))
        user = connect(log.here, ADA, "ada's password")
        user.search_ext_s(ADA, ldap.SCOPE_BASE, "(cn=nobody)", serverctrls=[RequestControl(TRACKING, False, value)])
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            user.modify_s(ADA, [(ldap.MOD_REPLACE, "title", [b"t"])])
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            user.compare_s(ADA, "title", b"t")
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            user.delete_s(ADA)
        secured = Raw(log.here.port)
        secured.send(start_tls(1))
        assert secured.message()
        secured.secure(ssl.create_default_context(cafile=authority.certificate))
        secured.send(tlv(0x30, integer(2), tlv(0x77, tlv(0x80, WHO_AM_I.encode()))))
        assert secured.message()
        log.here.end()
        if form == "binary":
            log.access.write_text(run(PANDO, "log", "cat", log.access).out)
        lines = log.lines(log.access)
        far, near, tracked = by(lines, op="search")
        assert (far["entries"], far["unindexed"]) == (1, True) and far["looked"] > PERSONS
        assert (near["entries"], near["looked"]) == (1, 1) and "unindexed" not in near
        assert (tracked["entries"], tracked["looked"]) == (0, 1)
        assert [tracked[key] for key in ("session", "session_format", "session_ip", "session_host")] == ["session-of-ada", "1.2.3", "192.0.2.9", "host"]
        in_transaction, refused = by(lines, op="modify")
        assert in_transaction["txn"] and "txn" not in refused
        assert [line.get("rule") for line in by(lines, code=50)] == ["no-titles", "no-titles", None]
        [whoami] = by(lines, oid=WHO_AM_I)
        assert whoami["tls"] in ("TLSv1.2", "TLSv1.3") and "AES" in whoami["cipher"] and whoami["ssf"] >= 128
