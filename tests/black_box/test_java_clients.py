"""Spring LDAP, and the LDAP code of Keycloak, both of which speak LDAP by JNDI."""

import pytest

from conftest import DATA, JARS, PEOPLE, SUFFIX, run
from test_unboundid import JAR

pytestmark = pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")
# A program of one file is compiled and run at once.
JAVA = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", JARS]
ADA, BRUNO = f"uid=ada,{PEOPLE}", f"uid=bruno,{PEOPLE}"
WORDS = "ada's password", "bruno's password"


@pytest.fixture
def served(server):
    """ada may write, and see all but one entry."""
    return server("--write-dn", ADA, "--access-rule", f'hidden: base="{BRUNO}" attrs=entry,**; dn="{ADA}"; deny=all rank=10')


def lines(program, server, *arguments):
    return run(*JAVA, DATA / program, server.port, ADA, WORDS[0], *arguments, timeout=120).out.splitlines()


def test_spring_ldap(served):
    assert lines("Spring.java", served, SUFFIX, "ada", *WORDS, "bruno") == [
        "log-in accepted refused absent",
        "found [Dubois, Okafor]",
        "pages 4",
        "refused [LDAP: error code 68 - an entry with this DN exists]",
        "made new@example.com [New One, Ñew]",
        f"moved uid=moved,ou=Empty,{SUFFIX} 2 1",
        "left 0",
    ]


def test_keycloak(served):
    assert lines("Keycloak.java", served, PEOPLE, f"ou=Groups,{SUFFIX}", "ada", *WORDS) == [
        "capabilities true",
        "users [ada, chloé]",
        "by entryUUID ada",
        "changed 1",
        "log-in accepted refused",
        "groups [staff]",
        "registered true accepted refused",
        f"updated renamed@example.com uid=renamed,{PEOPLE}",
        "member 1",
        "removed 0",
    ]
