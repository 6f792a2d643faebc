"""The UnboundID LDAP SDK's command line tools: a third codec, and the load tools that others measure with."""

import csv
import os

import pytest

from conftest import ADMIN, PEOPLE, SECRET, SUFFIX, run

JAR = os.environ.get("UNBOUNDID_JAR", "")
pytestmark = pytest.mark.skipif(not JAR, reason="UNBOUNDID_JAR names no jar; tests/run sets it")
ADA = f"uid=ada,{PEOPLE}"
EXAMPLES = "com.unboundid.ldap.sdk.examples"
TOOLS = "com.unboundid.ldap.sdk.unboundidds.tools"


def tool(name, server, *arguments, code=0, bind=True, stdin=""):
    """Runs one of the SDK's tools as the administrator."""
    who = ["--bindDN", ADMIN, "--bindPassword", SECRET] if bind else []
    return run("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", JAR, name, "--hostname", "127.0.0.1",
               "--port", server.port, *who, *arguments, code=code, stdin=stdin, timeout=120)


def load(name, server, *arguments):
    """Runs a load tool for two intervals of one second; the last one as a dictionary. No interval may have errors."""
    out = tool(f"{EXAMPLES}.{name}", server, "--intervalDuration", "1", "--numIntervals", "2", "--warmUpIntervals",
               "0", "--csv", *arguments).out
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Recent "))
    rows = list(csv.DictReader(lines[first:]))
    assert len(rows) == 2 and all(float(row["Recent Errors/Sec"]) == 0 for row in rows), out
    return {column: float(value) for column, value in rows[-1].items()}


def test_search(reader):
    out = tool(f"{TOOLS}.LDAPSearch", reader, "--baseDN", SUFFIX, "(uid=ada)", "cn", "entryUUID").out
    assert f"dn: {ADA}" in out and "cn: Ada Okafor" in out and "entryUUID: " in out


def test_search_in_pages_with_limits(reader):
    out = tool(f"{TOOLS}.LDAPSearch", reader, "--baseDN", SUFFIX, "--simplePageSize", "2", "--typesOnly",
               "--timeLimitSeconds", "10", "--scope", "subordinates", "(objectClass=*)").out
    assert out.count("dn:") == 8
    shown = tool(f"{TOOLS}.LDAPSearch", reader, "--baseDN", SUFFIX, "--sizeLimit", "3", "(objectClass=*)", code=4)
    assert shown.out.count("dn:") == 3


def test_root_dse(reader):
    out = tool(f"{TOOLS}.LDAPSearch", reader, "--baseDN", "", "--scope", "base", "(objectClass=*)", "changelog",
               "firstChangeNumber", "lastChangeNumber", "*", "+", bind=False).out
    assert "subschemaSubentry: cn=Subschema" in out and "changelog" not in out


def test_modify(fresh):
    tool(f"{TOOLS}.LDAPModify", fresh, stdin=f"""dn: {ADA}
changetype: modify
replace: title
title: Pilot
-
increment: uidNumber
uidNumber: 2

dn: ou=New,{SUFFIX}
changetype: add
objectClass: organizationalUnit
ou: New

dn: {ADA}
changetype: moddn
newrdn: uid=ada
deleteoldrdn: 1
newsuperior: ou=New,{SUFFIX}

dn: uid=bruno,{PEOPLE}
changetype: delete
""")
    out = fresh.search("-b", SUFFIX, "(objectClass=person)", "title", "uidNumber").out
    assert f"uid=ada,ou=New,{SUFFIX}" in out and "title: Pilot" in out and "uidNumber: 1003" in out
    assert "bruno" not in out


def test_modify_is_refused_with_a_reason(fresh):
    done = tool(f"{TOOLS}.LDAPModify", fresh, code=65, stdin=f"dn: {ADA}\nchangetype: modify\ndelete: sn\n")
    assert "object class violation" in done.said.lower() and "sn" in done.said


def test_compare_and_delete(fresh):
    tool(f"{TOOLS}.LDAPCompare", fresh, "--useCompareResultCodeAsExitCode", "sn:okafor", ADA, code=6)
    tool(f"{TOOLS}.LDAPDelete", fresh, ADA)
    fresh.search("-b", ADA, code=32)


# Load tools. The rates are bounds that say "it works", not measurements.


def test_searchrate(reader):
    row = load("SearchRate", reader, "--baseDN", SUFFIX, "--scope", "sub", "--filter", "(cn=ada)",
               "--attribute", "cn", "--numThreads", "4")
    assert row["Recent Searches/Sec"] > 100 and row["Recent Entries/Srch"] == 1


def test_searchrate_asynchronously(reader):
    row = load("SearchRate", reader, "--baseDN", f"uid=ada,{PEOPLE}", "--scope", "base", "--filter",
               "(objectClass=*)", "--numThreads", "2", "--asynchronous", "--maxOutstandingRequests", "100")
    assert row["Recent Searches/Sec"] > 100 and row["Recent Entries/Srch"] == 1


def test_modrate(fresh):
    row = load("ModRate", fresh, "--entryDN", ADA, "--attribute", "description", "--valueLength", "12",
               "--numThreads", "4")
    assert row["Recent Mods/Sec"] > 100
    assert "description" in fresh.search("-b", ADA, "-s", "base", "description").out


def test_authrate(server):
    reads = server("--anonymous", "read", "--password-scheme", "ssha512")
    row = load("AuthRate", reads, "--baseDN", SUFFIX, "--scope", "sub", "--filter", "(uid=ada)",
               "--credentials", "ada's password", "--numThreads", "4")
    assert row["Recent Auths/Sec"] > 50


def test_search_and_mod_rate(fresh):
    row = load("SearchAndModRate", fresh, "--baseDN", PEOPLE, "--scope", "one", "--filter",
               "(objectClass=person)", "--modifyAttribute", "description", "--valueLength", "8",
               "--numThreads", "2", "--simplePageSize", "2")
    assert row["Recent Mods/Sec"] > 20
