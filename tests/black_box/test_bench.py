"""`pando bench`: what it prints, what it counts as a fault, and that it measures what it says."""

import json
import re
import subprocess

import ldap
import pytest

from conftest import ADMIN, FOLLOWER, PANDO, SECRET, run

ENTRIES = 300


@pytest.fixture(scope="module")
def ldif(tmp_path_factory):
    """Entries to ask for."""
    file = tmp_path_factory.mktemp("bench") / "dvtds.ldif"
    run(PANDO, "gen", "--template", "dvtds", "--suffix", "dc=com", "--count", ENTRIES, "-o", file)
    return file


@pytest.fixture
def here(server, ldif):
    return server("--schema", "dvtds", "--index", "uid:eq", ldif=str(ldif), suffix="dc=com")


def bench(here, work, *arguments, code=0, bound=True, base="dc=com", entries=ENTRIES):
    who = ["--bind-dn", ADMIN, "--password-file", here.folder / "password"] if bound else []
    return run(PANDO, "bench", work, "--url", here.url, *who, "--base", base, "--entries", entries,
               "--connections", 2, "--warmup", 0, *arguments, code=code)


def monitored(here, kind):
    """Operations of a kind, as the server counts them."""
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    [(_, entry)] = connection.search_s(f"cn={kind},cn=Operations,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorOpCompleted"])
    return int(entry["monitorOpCompleted"][0])


@pytest.mark.parametrize("window", ["burst", "sliding"])
@pytest.mark.parametrize("work", ["search-base", "search-eq", "modify", "mixed"])
def test_json(here, work, window):
    report = json.loads(bench(here, work, "--requests", 5000, "--queue", 20, "--window", window, "--server-pid", here.pid, "--json").out)
    assert report["operations"] >= 5000 and report["errors"] == 0 and report["faults"] == {}, report
    # The sum of the threads' rates; threads of a short run end at different times.
    assert 1 / 4 < report["rate"] / (report["operations"] / report["seconds"]) < 4, report
    latency = report["latency_us"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]
    assert report["client_cpu_ns_per_operation"] > 0 and report["server_cpu_ns_per_operation"] > 0
    settings = report["settings"]
    assert work in json.dumps(settings) and "20" in json.dumps(settings), settings


def test_lines_for_people(here):
    out = bench(here, "search-base", "--seconds", 1, "--server-pid", here.pid).out
    for word in ("p50", "p90", "p99", "p99.9", "max", "client", "server"):
        assert word in out, out
    assert re.search(rf"^durability +{'always' if FOLLOWER else 'memory'}$", out, re.M), out
    assert re.search(r"\d[\d,. ]* ?(operations)?/s|per second", out), out


def test_the_server_counts_as_many(here):
    before = monitored(here, "Search")
    report = json.loads(bench(here, "search-base", "--requests", 3000, "--json").out)
    # Figures are taken at most every tenth of a second: asked until they have moved. Each asking is a search, and one of its own is how
    # durable the server is.
    asked = 2
    while (counted := monitored(here, "Search") - before) < report["operations"]:
        asked += 1
        assert asked < 10_000, counted
    assert counted <= report["operations"] + asked


@pytest.mark.parametrize("sync", ["always", "interval=7", "none"])
def test_a_report_says_how_durable_the_server_is(server, ldif, tmp_path, sync):
    here = server("--schema", "dvtds", "--sync", sync, ldif=str(ldif), suffix="dc=com", data=tmp_path / "data")
    told = lambda **who: json.loads(bench(here, "modify", "--requests", 100, "--json", code=None, **who).out)["settings"]["durability"]
    # A node has no other.
    assert told() == ("always" if FOLLOWER else sync)
    assert told(bound=False) == "unknown"


def test_every_session_ends_with_an_unbind(here):
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)

    def unbinds():
        [(_, entry)] = connection.search_s("cn=Unbind,cn=Operations,cn=Monitor", ldap.SCOPE_BASE, attrlist=["monitorOpCompleted"])
        return int(entry["monitorOpCompleted"][0])

    before = unbinds()
    for work in ("search-base", "transaction"):
        bench(here, work, "--requests", 100, "--queue", 10)
    # Two connections each, and one each that asks how durable the server is.
    asked = 0
    while unbinds() < before + 6:
        asked += 1
        assert asked < 10_000, unbinds()


def test_a_part_of_the_entries(here):
    report = json.loads(bench(here, "modify", "--requests", 4000, "--value-bytes", "20", "--json", entries="100..119").out)
    assert report["errors"] == 0 and (report["settings"]["first"], report["settings"]["entries"]) == (100, 20)
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    found = connection.search_s("dc=com", ldap.SCOPE_ONELEVEL, attrlist=["uid", "carLicense"])
    changed = {int(entry["uid"][0]) for _, entry in found if len(entry["carLicense"][0]) == 20}
    assert changed == set(range(100, 120))
    assert "100..119 entries" in bench(here, "search-base", "--requests", 10, entries="100..119").out


def test_all_attributes_and_some(here):
    for attributes in ("all", "1.1", "uid,carLicense"):
        report = json.loads(bench(here, "search-base", "--requests", 500, "--attributes", attributes, "--json").out)
        assert report["errors"] == 0, (attributes, report)


def test_modify_changes_what_it_says(here):
    bench(here, "modify", "--requests", 4000, "--value-bytes", "20..30", "--json")
    connection = ldap.initialize(here.url)
    connection.simple_bind_s(ADMIN, SECRET)
    found = connection.search_s("dc=com", ldap.SCOPE_ONELEVEL, attrlist=["carLicense"])
    sizes = [len(entry["carLicense"][0]) for _, entry in found]
    assert all(size == 8 or 20 <= size <= 30 for size in sizes) and sum(size >= 20 for size in sizes) > ENTRIES / 2
    assert len({entry["carLicense"][0] for _, entry in found}) > ENTRIES / 2


def test_binds(server, tmp_path):
    file = tmp_path / "slamd.ldif"
    run(PANDO, "gen", "--template", "slamd", "--suffix", "dc=com", "--count", ENTRIES, "-o", file)
    here = server("--password-scheme", "ssha512", ldif=str(file), suffix="dc=com")
    flags = ("--requests", 500, "--key", "user.{}", "--json")
    people = {"bound": False, "base": "ou=People,dc=com"}
    assert json.loads(bench(here, "bind", *flags, **people).out)["errors"] == 0
    report = json.loads(bench(here, "bind", *flags, "--user-password", "wrong", **people, code=1).out)
    assert report["errors"] >= 500 and report["faults"], report


def test_wrong_answers_are_faults(here):
    """Entries that are not there, a base that is elsewhere, too few rights: each is told, and the exit code is 1."""
    for work, arguments, more in (
        ("search-base", (), {"entries": ENTRIES * 2}),
        ("search-eq", (), {"entries": ENTRIES * 2}),
        ("search-base", (), {"base": "dc=org"}),
        ("search-base", (), {"bound": False}),
        ("modify", ("--modify-attribute", "noSuchType"), {}),
    ):
        report = json.loads(bench(here, work, "--requests", 1000, "--json", *arguments, **more, code=1).out)
        assert report["errors"] > 100 and sum(report["faults"].values()) == report["errors"], report


def test_a_rate_that_is_kept(here):
    report = json.loads(bench(here, "search-base", "--seconds", 2, "--rate", 1000, "--queue", 10, "--json").out)
    assert 700 < report["rate"] < 1100 and report["errors"] == 0, report


def test_what_cannot_start(here):
    tool = run(PANDO, "bench", "search-base", "--url", "ldap://127.0.0.1:1", "--seconds", "1", code=None)
    assert tool.code != 0 and "127.0.0.1:1" in tool.err and "panic" not in tool.err, tool
    tool = run(PANDO, "bench", "search-base", "--url", here.url, "--bind-dn", ADMIN, "--password", "wrong", "--seconds", "1", code=None)
    assert tool.code != 0 and "49" in tool.err + tool.out or "invalidCredentials" in tool.err, tool
    for arguments in (["--entries", "0"], ["--entries", "9..8"], ["--entries", "x"], ["--queue", "0"], ["--connections", "0"], ["--value-bytes", "9..8"], ["--url", "http://x"]):
        tool = run(PANDO, "bench", "modify", "--url", here.url, "--seconds", "1", *arguments, code=None)
        assert tool.code != 0 and tool.err and "panic" not in tool.err, (arguments, tool)


def test_null_answers_any_client():
    command = [PANDO, "bench", "null", "--listen", "127.0.0.1:0", "--entries", "100"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+)\s*$", process.stdout.readline()).group(1)
        out = run("ldapsearch", "-x", "-LLL", "-H", f"ldap://127.0.0.1:{port}", "-b", "uid=7,dc=com", "-s", "base").out
        assert "dn: uid=7,dc=com" in out
        tool = run(PANDO, "bench", "search-base", "--url", f"ldap://127.0.0.1:{port}", "--entries", "100", "--requests", "1000", "--warmup", "0", "--json")
        assert json.loads(tool.out)["errors"] == 0
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
