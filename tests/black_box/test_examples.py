"""The examples of `docs/transactions.md` do what they say. That the page shows them as they are is `cargo xtask tidy`'s to
see.
"""

import sys
from pathlib import Path

import pytest

from conftest import ADMIN, PEOPLE, SECRET, run
from test_transactions import ADA, BRUNO, needs_unboundid, value
from test_unboundid import JAR

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
CHLOE = f"uid=chloé,{PEOPLE}"


def try_out(server, *command):
    """A transfer that succeeds, and then cannot be repeated, for the title has gone."""
    assert run(*command, ADA, BRUNO, "Chair").out == "both were changed\n"
    assert (value(server, "title"), value(server, "title", BRUNO)) == (None, "Chair")
    refused = run(*command, ADA, CHLOE, "Chair", code=1)
    assert refused.err.startswith("nothing was changed: "), refused
    refused = run(*command, BRUNO, f"uid=nobody,{PEOPLE}", "Chair", code=1)
    assert refused.err.startswith("nothing was changed: "), refused
    assert value(server, "title", BRUNO) == "Chair"


def test_python(fresh):
    try_out(fresh, sys.executable, EXAMPLES / "transfer.py", fresh.url, ADMIN, SECRET)


@needs_unboundid
def test_java(fresh, tmp_path):
    run("javac", "-cp", JAR, "-d", tmp_path, EXAMPLES / "Transfer.java", timeout=120)
    try_out(fresh, "java", "-cp", f"{JAR}:{tmp_path}", "Transfer", "127.0.0.1", fresh.port, ADMIN, SECRET)


def test_go(fresh, tmp_path):
    run("go", "build", "-C", EXAMPLES / "go", "-buildvcs=false", "-o", tmp_path / "transfer", ".", timeout=300)
    try_out(fresh, tmp_path / "transfer", fresh.url, ADMIN, SECRET)
