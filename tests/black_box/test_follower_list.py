"""The list of tests that are not run against a node that does not lead: each line names a test and a decision that are there, and it is short."""

import subprocess
import sys
from pathlib import Path

import followers

HERE = Path(__file__).parent
DECISIONS = HERE.parents[1] / "docs/decisions"
# Of a hundred tests so many may be in the list.
PERCENT = 5


def collected():
    """How many tests the suite has, by file and name."""
    command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "--color=no", "-q", "-n", "0", HERE]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parent).stdout.splitlines()
    counts = {}
    for line in lines:
        if "::" in line:
            name = followers.name_of(line)
            counts[name] = counts.get(name, 0) + 1
    return counts


def test_the_list_names_tests_and_decisions_and_is_short():
    counts, listed = collected(), followers.not_here()
    unknown = sorted(name for name in listed if name not in counts)
    assert not unknown, f"there are no such tests: {unknown}"
    numbers = {path.name[:4].lstrip("0") for path in DECISIONS.glob("[0-9]*.md")}
    without = sorted(name for name, (decision, reason) in listed.items() if decision not in numbers or not reason)
    assert not without, f"no decision says so: {without}"
    left_out, all_of_them = sum(counts[name] for name in listed), sum(counts.values())
    print(f"{left_out} of {all_of_them} tests are in the list")
    assert 100 * left_out <= PERCENT * all_of_them, f"{left_out} of {all_of_them} tests are in the list"


def test_a_line_of_the_list_is_a_test_a_decision_and_a_reason(tmp_path):
    path = tmp_path / "list"
    path.write_text("# a remark\n\ntest_a.py::test_b  76  it would be another\ntest_a.py::test_c  7\n")
    assert followers.not_here(path) == {"test_a.py::test_b": ("76", "it would be another"), "test_a.py::test_c": ("7", "")}
    assert followers.name_of("black_box/test_a.py::test_b[x::y/z]") == "test_a.py::test_b"
