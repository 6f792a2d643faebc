"""A machine whose users are in the directory: a root folder of its own, in which packages lie that are not installed, and daemons run that end with it."""

import os
import signal
import subprocess
from pathlib import Path

from conftest import PATIENCE, run

# Files of packages as .ci/packages unpacks them.
FILES = Path(os.environ.get("LOGIN_FILES", "/nonexistent"))
# Its first argument is an empty folder, the second the files of the packages. What is written goes to memory and is gone with the process.
BUILD = """
set -eu
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/whole"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/whole"
cp -a "$2/." "$1/whole"
mount -t proc proc "$1/whole/proc"
mount --rbind /dev "$1/whole/dev"
mount -t tmpfs -o mode=755 tmpfs "$1/whole/run"
mount -t tmpfs -o mode=1777 tmpfs "$1/whole/tmp"
exec chroot "$1/whole" sh -c 'cd / && echo ready && exec cat'
"""
OWN = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]


NO_ROOT_FOLDER = "no root folder can be made here"
TRY = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/whole
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/whole
"""


def lacking(files=FILES):
    """What there is not, that a root folder with these files needs; None if it can be made."""
    if os.geteuid() != 0:
        return NO_ROOT_FOLDER
    if not files.is_dir():
        return f"there is no {files}; .ci/packages makes it"
    tried = subprocess.run([*OWN, "bash", "-c", TRY], capture_output=True)
    return NO_ROOT_FOLDER if tried.returncode != 0 else None


class Machine:
    """It shares the network with the tests, not their files and processes."""

    def __init__(self, folder, files=FILES):
        folder.mkdir()
        self.folder = folder
        self.keeper = subprocess.Popen([*OWN, "bash", "-c", BUILD, "bash", folder, files], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.keeper.stdout.readline() == b"ready\n", "the root folder cannot be made"
        self.first = Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children").read_text().split()[0]
        self.inside = ["nsenter", "--target", self.first, "--mount", "--pid", "--root", "--wd"]

    def end(self):
        """All that runs on it ends."""
        self.keeper.stdin.close()
        self.keeper.wait(PATIENCE)
        self.keeper.stdout.close()

    def write(self, path, text, mode=0o600):
        """A file of its root folder, which others see by its first process. Returns its path for them."""
        file = Path(f"/proc/{self.first}/root{path}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def share(self, authority):
        """The path on it of an authority's certificate."""
        path = f"/etc/{authority.folder.name}.crt"
        self.write(path, authority.certificate.read_text(), mode=0o644)
        return path

    def run(self, *command, user=None, **settings):
        """A command, as the superuser or as a user with a group of the same number."""
        become = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"] if user else []
        return run(*self.inside, *become, *command, **settings)

    def daemon(self, *command):
        """A daemon, which is to stay in the foreground. What it says goes to its log."""
        return Daemon([*self.inside, *command], self.folder.with_name(f"{self.folder.name}.{command[0]}.log"))


class Daemon:
    """A daemon of such a machine."""

    def __init__(self, command, log):
        self.log_path = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def end(self):
        """By a signal to it, which is the child of what has led it in."""
        [child] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        self.process.wait(PATIENCE)
