"""Porcupine says of histories of the real server what pando-histories says: one holds, and the same no longer once one read in it is
changed.
"""

import re
from pathlib import Path

import pytest

from conftest import run
from test_histories import KILLS, SECONDS_EACH, SEED, check, lose_the_first, mend, read_the_first, record
from test_histories import pytestmark as needs_histories

SOURCE = Path(__file__).parents[1] / "porcupine"
CHANGES = {"registers": read_the_first, "lists": lose_the_first}


@pytest.fixture(scope="module")
def porcupine(tmp_path_factory):
    """The program that asks Porcupine."""
    program = tmp_path_factory.mktemp("porcupine") / "pando-porcupine"
    run("go", "build", "-C", SOURCE, "-buildvcs=false", "-o", program, ".", timeout=300)
    return program


def test_known_anomalies():
    run("go", "test", "-C", SOURCE, "-buildvcs=false", "./...", timeout=300)


def both(porcupine, kind, path, code, seconds=60 + SECONDS_EACH * KILLS):
    """Both are asked, and say what is expected; returns how many operations Porcupine looked at."""
    check(kind, path, code)
    # Whatever it takes for one object, it gives up before it is stopped.
    out = run(porcupine, "-timeout", f"{seconds // 10}s", path, code=code, timeout=seconds).out
    print(out)
    assert out.endswith(": holds\n") if code == 0 else ": not linearizable: " in out, out
    return int(re.search(r" objects, (\d+) operations", out)[1])


def second_opinion(porcupine, tmp_path, *arguments):
    """Records histories, and asks both about them."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    record(folder, *arguments)
    for kind, change in CHANGES.items():
        path = folder / f"{kind}.jsonl"
        operations = both(porcupine, kind, path, code=0)
        # All that happened for sure, and some of what nobody knows.
        assert operations >= path.read_text().count('"what":"ok"') > 0
        assert both(porcupine, kind, mend(folder, tmp_path, kind, change), code=1) == operations


@needs_histories
def test_in_memory(porcupine, tmp_path):
    second_opinion(porcupine, tmp_path, "--memory", "--round", "500", "--transactions")


@needs_histories
@pytest.mark.kills
def test_over_kills(porcupine, tmp_path):
    second_opinion(porcupine, tmp_path, "--kills", KILLS, "--seed", SEED + 5)


@needs_histories
@pytest.mark.kills
def test_transactions_over_kills(porcupine, tmp_path):
    second_opinion(porcupine, tmp_path, "--kills", KILLS, "--seed", SEED + 6, "--transactions", "--extensions")
