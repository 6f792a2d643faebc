"""What surrounds the process: signals, limits, outputs that nobody reads, the modes of its files."""

import os
import resource
import signal
import subprocess

import pytest

from conftest import ADMIN, PANDO, PATIENCE, PEOPLE, SUFFIX, connect, run


def printed_to(target, *command):
    """Runs a command with standard output to a full device, or to a pipe that nobody reads."""
    if target == "full":
        out = os.open("/dev/full", os.O_WRONLY)
    else:
        read, out = os.pipe()
        os.close(read)
    done = subprocess.run([PANDO, *map(str, command)], stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(out)
    return done.returncode, done.stderr.decode()


def test_signals_that_end_other_processes_are_outlived(fresh):
    for what in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXFSZ):
        fresh.process.send_signal(what)
        assert fresh.search("-b", PEOPLE, "-s", "base", "1.1").dns == [PEOPLE]
    assert "SIGHUP" in fresh.log


def test_an_output_that_is_full_or_closed_is_no_panic(keep, tmp_path):
    keep(ldif="people.ldif").end()
    backups = tmp_path / "backups"
    for command in (["check-config", "--template"], ["check", "--data", keep.data], ["index", "verify", "--data", keep.data, "-q"],
                    ["gen", "--template", "slamd", "--count", "10", "--suffix", SUFFIX]):
        code, err = printed_to("full", *command)
        assert code == 1 and "standard output: No space left" in err, (command, code, err)
        code, err = printed_to("closed", *command)
        assert code == 0 and "panic" not in err, (command, code, err)
    code, err = printed_to("full", "backup", "--data", keep.data, "--to", backups)
    assert code == 0 and str(backups) in err, (code, err)


@pytest.mark.parametrize("target", ["full", "closed"])
def test_a_server_goes_on_without_its_first_line(tmp_path, target):
    out = os.open("/dev/full", os.O_WRONLY) if target == "full" else os.pipe()[1]
    log = open(tmp_path / "log", "wb")
    process = subprocess.Popen([PANDO, "serve", "--memory", "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0"],
                               stdout=out, stderr=log)
    os.close(out)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.terminate()
    assert process.wait(PATIENCE) == 0, (tmp_path / "log").read_text()


def test_a_file_size_limit_is_an_error_of_the_write(keep):
    here = keep(ldif="people.ldif")
    resource.prlimit(here.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    connection = connect(here)
    with pytest.raises(Exception):
        for number in range(200):
            connection.add_s(f"cn={number},{PEOPLE}", [("objectClass", [b"device"]), ("cn", [b"%d" % number]),
                                                     ("description", [os.urandom(1 << 20)])])
    assert here.process.wait(PATIENCE) == 1, here.log
    assert "File too large" in here.log, here.log
    keep().search("-b", SUFFIX)


def test_files_are_for_their_owner_whatever_the_umask(keep, tmp_path):
    before = os.umask(0)
    try:
        keep(ldif="people.ldif").end()
        run(PANDO, "backup", "--data", keep.data, "--to", tmp_path / "backups")
        backup = next((tmp_path / "backups").glob("*Z"))
        run(PANDO, "restore", "--from", backup, "--data", tmp_path / "restored")
    finally:
        os.umask(before)
    for top in (keep.data, tmp_path / "backups", tmp_path / "restored"):
        for path in [top, *top.rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, (path, oct(path.stat().st_mode))
    keep.data.chmod(0o755)
    here = keep()
    assert "chmod" in here.log and str(keep.data) in here.log, here.log


def test_a_second_server_is_refused_without_the_file_lock(keep, tmp_path):
    keep(ldif="people.ldif")
    (keep.data / "lock").unlink()
    tool = run(PANDO, "serve", "--data", keep.data, "--suffix", SUFFIX, "--listen", "ldap://127.0.0.1:0", "--root-dn", ADMIN,
               "--root-password-file", tmp_path / "run0" / "password", code=1)
    assert "another process" in tool.err, tool
