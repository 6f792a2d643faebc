"""Libraries of other languages, each by a program that logs in, searches in pages and sorted, and changes entries. Each is refused some of it."""

import shutil

import pytest

from conftest import ADMIN, DATA, PEOPLE, SECRET, SUFFIX, run
from test_tls_clients import GO, LDAPTS, MODULES, has_perl

ADA = f"uid=ada,{PEOPLE}"
MOVED = f"cn=moved,ou=Empty,{SUFFIX}"


def lines(server, *command, **settings):
    """What a program prints that is given a right password and a wrong one."""
    return run(*command, server.port, ADMIN, SECRET, SUFFIX, ADA, "ada's password", "wrong", **settings).out.splitlines()


@pytest.mark.skipif(not has_perl(), reason="Perl's LDAP is not there")
def test_net_ldap(fresh):
    assert lines(fresh, "perl", DATA / "net_ldap_updates.pl") == [
        "log-in LDAP_SUCCESS LDAP_INVALID_CREDENTIALS",
        f"contexts {SUFFIX} pages",
        "schema cn objectClass sn",
        "pages 3 9",
        "sorted Okafor Keller Dubois",
        "refused LDAP_ALREADY_EXISTS LDAP_OBJECT_CLASS_VIOLATION",
        "own password LDAP_SUCCESS",
        f"moved dn: {MOVED} | cn: moved | mail: new@example.com | title: b",
        "compared LDAP_COMPARE_TRUE",
        "left 0",
    ]


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not there")
def test_go_ldap(fresh, tmp_path):
    program = tmp_path / "go-ldap"
    run("go", "build", "-C", GO, "-buildvcs=false", "-o", program, ".", timeout=300)
    assert lines(fresh, program, "updates") == [
        "log-in Success, Invalid Credentials",
        "pages 9",
        "sorted Okafor Keller Dubois",
        "refused Entry Already Exists, Object Class Violation",
        "compared true",
        "own password Success",
        f"moved {MOVED} moved b 00ff80",
        "deleted Not Allowed On Non Leaf, Success",
        "left No Such Object",
    ]


@pytest.mark.skipif(not MODULES, reason="NODE_MODULES names no folder of packages; tests/run sets it")
def test_ldapts(fresh):
    assert lines(fresh, "node", LDAPTS.with_name("updates.cjs"), env={"NODE_PATH": MODULES}) == [
        "log-in success InvalidCredentialsError",
        "pages 4 4 1",
        "sorted Okafor Keller Dubois",
        "refused AlreadyExistsError ObjectClassViolationError",
        "compared true false",
        f"moved {MOVED} moved b new@example.com 00ff80",
        "left NoSuchObjectError",
    ]
