"""The tour of README.md, command by command, on a smaller copy of the demo directory."""

import re
from pathlib import Path

import pytest

from conftest import PANDO, SUFFIX, run

ROOT = Path(__file__).parents[2]
TOUR = (ROOT / "README.md").read_text().split("## A tour", 1)[1].split("\n## ", 1)[0]
COMMANDS = [block for block in re.findall(r"```sh\n(.*?)```", TOUR, re.S) if not block.startswith("export")]
# What the answer of a command has in it, by a word of the command; all but one end with success.
EXPECTED = {
    "-b ''": (0, ["namingContexts: dc=example,dc=com", "vendorName: Pando"]),
    "(uid=user.4711)": (0, ["dn: uid=user.4711,", "telephoneNumber: "]),
    "Head of *": (0, ["title: Head of "]),
    "hasSubordinates=TRUE": (0, ["dn: ou=Storage,ou=Development,"]),
    "(member=uid=user.4711": (0, ["dn: cn="]),
    "uid=greta": (0, ["modifying entry"]),
    "uid=nobody": (65, ["sn"]),
    "newsuperior": (0, ["modifying rdn of entry"]),
    "ldapwhoami": (0, ["dn:uid=ada,ou=Board,ou=Organisation,dc=example,dc=com"]),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """People and organisation in one file, as `make run` puts them together."""
    folder = tmp_path_factory.mktemp("demo")
    people = folder / "people.ldif"
    run(PANDO, "gen", "--template", "slamd", "--suffix", SUFFIX, "--count", "5000", "--groups", "2", "--members", "5000",
        "--format", "ldif", "-o", people)
    organisation = (ROOT / "crates/pando/data/organisation.ldif").read_text()
    demo = folder / "demo.ldif"
    demo.write_text(people.read_text() + "\n" + organisation)
    return demo


def test_the_tour(server, demo):
    here = server("--anonymous", "read", "--index", "uid:eq", "--index", "cn:eq,sub", "--index", "mail:eq",
                  "--index", "member:eq", ldif=str(demo))
    left = dict(EXPECTED)
    for command in COMMANDS:
        meant = [left.pop(word) for word in list(left) if word in command]
        assert meant, f"nothing is expected of {command}"
        tool = run("bash", "-ec", f"unset LDAPNOINIT; {command}", code=meant[-1][0], env={"LDAPURI": here.url})
        for _, says in meant:
            assert all(each in tool.said for each in says), f"{command}\n{tool}"
    assert not left, "the tour has lost a command"
