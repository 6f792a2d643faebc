"""What every suite needs: a server of its own, ended properly, and a way to run a command line tool."""

import contextlib
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import ldap
import pytest

import texts
import written

PANDO = os.environ.get("PANDO", str(Path(__file__).parents[2] / "target/release/pando"))
DATA = Path(__file__).parent / "data"
# What the programs of Java are run with: the jars of tests/java.xml lie in one folder.
JARS = Path(os.environ.get("UNBOUNDID_JAR", "")).parent / "*"
LDAPTIVE = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", JARS, DATA / "Ldaptive.java"]
SUFFIX = "dc=example,dc=com"
ADMIN = "cn=admin,dc=example,dc=com"
SECRET = "secret"
PEOPLE = f"ou=People,{SUFFIX}"
texts.install()
written.install()
# Seconds that anything may take before it counts as hanging. A bound, never a wait.
PATIENCE = 60
# Seconds between two questions whether something is so: first, and at most.
PAUSE_MIN, PAUSE_MAX = 0.001, 0.02
# How often each test kills that does so at random moments, and what the moments follow from.
KILLS = int(os.environ.get("PANDO_KILLS", "4"))
KILL_SEED = os.environ.get("PANDO_KILL_SEED", "7")


# Are servers of tests nodes that do not lead?
FOLLOWER = os.environ.get("PANDO_FOLLOWER") == "1"


# Does this machine have all that the tests use? `.ci/test` says so when it has put it there; then a test that is skipped for a program has failed.
IS_WHOLE = os.environ.get("PANDO_WHOLE_MACHINE") == "1"
# What even the superuser of such a machine may not have: a container may grant no namespaces and no mounts.
MAY_LACK = ("network namespaces cannot be made here", "no root folder can be made here", "it takes root to mount one")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if IS_WHOLE and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in MAY_LACK:
            report.outcome, report.longrepr = "failed", f"it is skipped on a machine that should have all that it uses: {reason}"
    return report


def pytest_collection_modifyitems(items):
    if FOLLOWER:
        import followers

        followers.leave_out(items)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    if FOLLOWER:
        import followers

        followers.end_those_left()


def pytest_sessionfinish():
    if FOLLOWER:
        import followers

        followers.end_all()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Row X11: after each test no text that its clients received tells a secret."""
    try:
        result = yield
        told = texts.leaks()
    finally:
        texts.received.clear()
    assert not told, f"secrets were told: {told}"
    return result


def raise_descriptors(count):
    """As many descriptors as the system grants, for this process and servers that it starts; tests/run has asked already."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.fail(f"the system grants {hard} descriptors, {count} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def preloaded(folder, source):
    """The environment of a server whose calls to the C library go through functions of C first."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    text, shim = folder / "shim.c", folder / "shim.so"
    text.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, text, "-ldl"], check=True)
    return {"LD_PRELOAD": str(shim)}


def chances(what):
    """Random numbers for the moments of kills. The seed is told when the test fails."""
    print(f"PANDO_KILL_SEED={KILL_SEED} PANDO_KILLS={KILLS}: {what}")
    return random.Random(f"{KILL_SEED} {what}")


def wait_until(moment):
    """Waits for a moment of the monotonic clock."""
    while (left := moment - time.monotonic()) > 0:
        select.select([], [], [], left)


def wait_for(condition, what="it takes too long"):
    """Asks again and again until `condition` returns something true, which is returned. It fails with `what` when patience ends."""
    end = time.monotonic() + PATIENCE
    pause = PAUSE_MIN
    while not (found := condition()):
        assert time.monotonic() < end, what
        # Who asks without a pause takes the core from the servers that it waits for.
        select.select([], [], [], pause)
        pause = min(2 * pause, PAUSE_MAX)
    return found


def wait_for_listener(port, process, said):
    """Waits until a server of others accepts connections. If it ends before, this fails with what `said` returns."""

    def listens():
        assert process.poll() is None, said()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True

    wait_for(listens, "it does not listen")


def stop_all_threads(pid):
    """Returns when the process stands still: a thread that is in a call of the kernel ends that first, such as one that renames a file."""
    os.kill(pid, signal.SIGSTOP)

    def are_stopped():
        try:
            stats = [(task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except (FileNotFoundError, ProcessLookupError):
            # One has ended meanwhile.
            return False
        return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)

    wait_for(are_stopped, "all threads stop")


def lasting_port():
    """A port for a server that ends and comes again: a free one of those that the system does not give to clients, or to servers of its choice."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(lowest // 2, lowest)
        with socket.socket() as attempt, contextlib.suppress(OSError):
            attempt.bind(("127.0.0.1", port))
            return port


class Tool:
    """The outcome of a command line tool."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"code {self.code}\n--- out\n{self.out[-4000:]}\n--- err\n{self.err[-4000:]}"

    @property
    def said(self):
        """Both outputs: the tools differ in which one they report a result on."""
        return self.out + self.err

    @property
    def dns(self):
        """The DNs of the entries printed, in order."""
        return [line[4:] for line in self.out.splitlines() if line.startswith("dn: ")]


def connect(server, who=ADMIN, password=SECRET):
    """A bound connection; without a name, an anonymous one."""
    connection = ldap.initialize(server.url)
    connection.set_option(ldap.OPT_TIMEOUT, PATIENCE)
    if who:
        connection.simple_bind_s(who, password)
    return connection


def run(*command, code=0, stdin="", timeout=PATIENCE, env=None):
    """Runs a command, checks its exit code (None: any) and returns what it printed. `env`: what differs in its environment; None takes a
    variable away.
    """
    variables = {**os.environ, "LDAPNOINIT": "1", "LC_ALL": "C.UTF-8", **(env or {})}
    done = subprocess.run(
        [str(part) for part in command],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={name: value for name, value in variables.items() if value is not None},
    )
    written.of_tool(command)
    tool = Tool(done)
    texts.of_tool(tool)
    if code is not None:
        assert tool.code == code, f"{' '.join(map(str, command))}\n{tool}"
    return tool


class Server:
    """A running `pando serve` on a port of the system's choice."""

    def __init__(self, arguments, folder, storage=("--memory",), env=None, program=PANDO):
        self.folder, self.arguments = folder, list(arguments)
        self.log_path = folder / "log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program, "serve", *storage, *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(env or {})},
            )
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline().decode() if readable else ""
        assert line.startswith("ready ldap://"), f"{line!r}: {self.log}"
        self.url = line.split()[1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.pid = self.process.pid
        # What clients add to their command line to be the administrator.
        self.admin = ["-x", "-H", self.url, "-D", ADMIN, "-w", SECRET]

    @property
    def log(self):
        """What the server said on standard error so far."""
        return self.log_path.read_text()

    @property
    def resident(self):
        """Bytes of resident memory."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def search(self, *arguments, code=0):
        """ldapsearch as the administrator, one line a value."""
        return run("ldapsearch", *self.admin, "-LLL", "-o", "ldif_wrap=no", *arguments, code=code)

    def modify(self, ldif, *arguments, code=0):
        """ldapmodify as the administrator, the changes on its standard input."""
        return run("ldapmodify", *self.admin, *arguments, stdin=ldif, code=code)

    def kill(self):
        """SIGKILL to this very process."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.check_what_it_wrote()

    def check_what_it_wrote(self):
        """Row G3: no log has a password, hashed or not, or a token."""
        leaks = written.leaks(self)
        assert not leaks, f"logs have secrets: {leaks}"

    def end(self):
        """SIGTERM to this very process; it must exit with 0 and have said nothing of a panic."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        assert "panic" not in self.log, self.log
        assert code == 0, f"exit code {code}: {self.log}"
        self.check_what_it_wrote()


def snapshot_folder(data):
    """Where the snapshot of a data directory is. A node that began with that of another one has it elsewhere."""
    current = data / "current"
    generation = int(current.read_text().split("\n")[0].split()[2]) if current.exists() else 0
    return data / (f"snapshot-{generation}" if generation else "snapshot")


def damage(path, offset):
    """Flips a bit of the byte at `offset`."""
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def start(folder, *arguments, ldif=None, suffix=SUFFIX, data=None, env=None, root=True):
    """Starts a server with an administrator, unless `root` is off; `ldif` is the name of a file in `data/`, or a path. It keeps the directory
    in memory, or in the folder `data`.
    """
    password = folder / "password"
    password.write_text(SECRET + "\n")
    imports = ["--import", str(DATA / ldif)] if ldif else []
    arguments = (
        (["--suffix", suffix] if suffix else [])
        + ["--listen", "ldap://127.0.0.1:0"]
        + (["--root-dn", ADMIN, "--root-password-file", str(password)] if root else [])
        + [*imports, *map(str, arguments)]
    )
    if FOLLOWER:
        import followers

        return followers.start(arguments, folder, data, env)
    return Server(arguments, folder, storage=["--data", str(data)] if data else ["--memory"], env=env)


@pytest.fixture
def server(tmp_path):
    """`server(...)` starts one as `start` does; all are ended, and checked, after the test."""
    running = []

    def begin(*arguments, **settings):
        settings.setdefault("ldif", "people.ldif")
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        running.append(start(folder, *arguments, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.end()


@pytest.fixture
def keep(tmp_path):
    """`keep(...)` starts a server on the same data directory each time; the last one is ended after the test."""
    running = []

    def begin(*arguments, **settings):
        folder = tmp_path / f"run{len(running)}"
        folder.mkdir()
        running.append(start(folder, *arguments, data=tmp_path / "data", **settings))
        return running[-1]

    begin.data = tmp_path / "data"
    yield begin
    for each in running:
        if each.process.poll() is None:
            each.end()


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """One server for a module's tests, which only read; anonymous clients may read too."""
    server = start(tmp_path_factory.mktemp("reader"), "--anonymous", "read", ldif="people.ldif")
    yield server

    def monitor():
        try:
            return connect(server)
        except (ldap.BUSY, ldap.INVALID_CREDENTIALS):
            # Too many binds of the module have failed just now, from this address or of this name. One a second is tried again.
            time.sleep(0.2)
            return None

    # Row G3: nor has the monitor, with all that the tests of the module have left there.
    shown = wait_for(monitor).search_s("cn=Monitor", ldap.SCOPE_SUBTREE, attrlist=["*", "+"])
    assert not written.leaks_of(repr(shown).encode()), "the monitor has secrets"
    server.end()


@pytest.fixture
def fresh(server):
    """A server of its own with the small directory, to write to."""
    return server()
