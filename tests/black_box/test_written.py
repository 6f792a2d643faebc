"""What each suite looks for in the logs of its servers (row G3) is found where it stands."""

import base64

import pytest

import written
from conftest import ADMIN, PEOPLE, SECRET, connect

WORD, OTHER = "Hunter2-in-no-file", "Lovelace-in-no-file"


@pytest.mark.parametrize("text", [
    f"a line with {WORD} in it", WORD.encode().hex(), WORD.encode().hex().upper(), *(base64.b64encode(b"\0" * before + WORD.encode() + b"\0").decode() for before in range(4)),
    "{SSHA}b0Q1WmYyZ0hJSktMTU5PUA==", "{ARGON2}$argon2id$v=19$m=7168,t=5", "bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl",
])
def test_g3_what_may_not_be_written_is_found(text):
    written.know(WORD)
    assert written.leaks_of(f"x {text} y".encode())
    assert not written.leaks_of(b"x uid=ada,ou=People {SSHA}<hidden> y")


def test_g3_files_of_a_server_are_looked_through(server, tmp_path):
    """By their names in its configuration; and passwords are known as soon as a client has sent them."""
    config = tmp_path / "pando.toml"
    config.write_text(f'[log]\naccess-file = "access.log"\nsecurity-file = "{tmp_path}/security.log"\naudit-file = "audit.log"\n')
    here = server("--config", config, data=tmp_path / "data")
    connect(here, ADMIN, SECRET).passwd_s(f"uid=ada,{PEOPLE}", None, OTHER)
    assert {path.name for path in written.of(here)} == {"log", "access.log", "security.log", "audit.log"}
    assert OTHER.encode() in written.known and not written.leaks(here)
    with open(tmp_path / "access.log", "a") as log:
        log.write(OTHER + "\n")
    assert written.leaks(here) == [("access.log", OTHER)]
    (tmp_path / "access.log").write_text("")
