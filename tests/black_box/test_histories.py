"""What concurrent clients see of a server fits together, also over kills: recorded and checked by pando-histories."""

import json
import os
import re
from pathlib import Path

import pytest

from conftest import PANDO, run

HISTORIES = Path(os.environ.get("PANDO_HISTORIES", Path(PANDO).parent / "pando-histories"))
# Kills of each test that kills, and the seconds that one may take.
KILLS = int(os.environ.get("PANDO_HISTORY_KILLS", "5"))
SECONDS_EACH = 10
# What the seeds of those begin with.
SEED = int(os.environ.get("PANDO_KILL_SEED", "0"))

pytestmark = pytest.mark.skipif(
    not HISTORIES.exists(), reason=f"no {HISTORIES}: cargo build --package pando-histories makes it"
)


def record(folder, *arguments, code=0):
    """Plays rounds and checks them; returns what was said of them."""
    command = [HISTORIES, "run", "--pando", PANDO, "--folder", folder, *arguments]
    return run(*command, code=code, timeout=60 + SECONDS_EACH * KILLS).out


def check(kind, path, code):
    return run(HISTORIES, "check", "--of", kind, "--total", "600", path, code=code).out


def test_a_directory_in_memory(tmp_path):
    out = record(tmp_path, "--memory", "--round", "2000")
    assert out.count(": holds\n") == 3, out


def test_transactions_in_memory(tmp_path):
    out = record(tmp_path, "--memory", "--round", "2000", "--transactions")
    assert out.count(": holds\n") == 3, out


@pytest.mark.kills
def test_over_kills(tmp_path):
    out = record(tmp_path, "--kills", KILLS, "--seed", SEED + 1)
    assert out.count(": holds\n") == 3, out


def test_transactions_with_the_extensions_in_memory(tmp_path):
    out = record(tmp_path, "--memory", "--round", "2000", "--transactions", "--extensions")
    assert out.count(": holds\n") == 3, out
    # In all, with their end at once, without a start, without names: some of each, and never all.
    everything, *some = map(int, re.match(r"(\d+) transactions, (\d+) .*?(\d+) .*?(\d+)", out).groups())
    assert all(0 < count < everything for count in some), out


@pytest.mark.kills
def test_transactions_with_the_extensions_over_kills(tmp_path):
    out = record(tmp_path, "--kills", KILLS, "--transactions", "--extensions", "--seed", SEED + 4)
    assert out.count(": holds\n") == 3, out


@pytest.mark.kills
def test_transactions_over_kills(tmp_path):
    out = record(tmp_path, "--kills", KILLS, "--transactions", "--seed", SEED + 3)
    assert out.count(": holds\n") == 3, out


@pytest.mark.kills
def test_over_kills_with_snapshots_and_late_syncs(tmp_path):
    # What the system has outlives a kill.
    out = record(tmp_path, "--kills", KILLS, "--seed", SEED + 2, "--transactions", "--", "--sync", "interval=20", "--snapshot-after", "64KiB")
    assert out.count(": holds\n") == 3, out


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Sound histories of a real server."""
    folder = tmp_path_factory.mktemp("recorded")
    record(folder, "--memory", "--round", "500")
    return folder


def mend(recorded, tmp_path, kind, change, most=None):
    """A copy of a history, or of so many events at its beginning; `change` gets the steps of each successful event, the last one first, and says whether
    it has changed them.
    """
    events = [json.loads(line) for line in (recorded / f"{kind}.jsonl").read_text().splitlines()]
    events = sorted(events, key=lambda event: event["at"])[:most]
    changed = any(event["what"] == "ok" and change(event["steps"]) for event in reversed(events))
    assert changed
    path = tmp_path / f"{kind}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def read_the_first(steps):
    """A read of a register finds what it held at first."""
    read = steps[0].get("read")
    if not read or read["value"] == 0:
        return False
    read["value"] = 0
    return True


def lose_the_first(steps):
    """A read of a list does not find its first element."""
    lists = [step["list"]["elements"] for step in steps if "list" in step]
    longer = [elements for elements in lists if len(elements) > 1]
    if longer:
        longer[0].pop(0)
    return bool(longer)


def test_an_element_that_is_lost_is_found_out(recorded, tmp_path):
    check("lists", recorded / "lists.jsonl", code=0)
    out = check("lists", mend(recorded, tmp_path, "lists", lose_the_first), code=1)
    assert "incompatible order" in out or "internal" in out, out


def test_an_old_read_is_found_out(recorded, tmp_path):
    check("registers", recorded / "registers.jsonl", code=0)
    out = check("registers", mend(recorded, tmp_path, "registers", read_the_first), code=1)
    assert "not linearizable" in out, out


def test_a_sum_that_changes_is_found_out(recorded, tmp_path):
    def take_one(steps):
        scan = steps[0].get("scan")
        if scan:
            scan["balances"]["a0.title"] -= 1
        return bool(scan)

    check("transfers", recorded / "transfers.jsonl", code=0)
    out = check("transfers", mend(recorded, tmp_path, "transfers", take_one), code=1)
    assert "sum changed" in out, out
