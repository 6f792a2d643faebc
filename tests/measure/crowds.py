"""C6, C8: searches of others while 64 clients do nothing but TLS handshakes, or try wrong Argon2 passwords.

usage: tests/measure/crowds.py [--short] [ROW...], with the interpreter of target/venv; PANDO names the binary, a release build. Both rows if none
is given. --short: two runs of a second each, to try it out.

Others read entries with `pando bench`, one request at a time on each connection. States are measured in turn, RUNS times; a figure is the median, with
the lowest and the highest. Ratios are those of one turn. Limits of addresses are off; each wrong password is for another account, so that
the throttle of an account, which has no key, is not reached. Rules, policies and logs are off.

Where there are few cores the crowd takes its CPU time from the server and from the others. So:
- The server has one half of the cores, with an IO thread each, and all clients have the other half. C8 is also measured with all cores for all.
- Clients of handshakes are of the idle class (SCHED_IDLE): they get what others leave. A full handshake, with the certificate verified, costs
  such a client more than twice as much as the server, so they reach what their cores allow, and not all that a server can be asked for: "CPU of
  the server" says how much that was.
- A third state has no crowd, but a process that burns as much CPU time as the crowd took just before, on the same cores and with the same priority: in
  C6 that of the clients, in C8 that of the server's threads for passwords. What the crowd's state has less than this one is due to
  the server alone; what this one has less than that without anything is due to the cores.
Needs a quiet machine: what else runs raises the p99 of all states to milliseconds, and what a crowd adds is not seen then. Each table has the load average.
"""

import contextlib
import json
import multiprocessing
import os
import random
import select
import socket
import ssl
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from ber import ldap_bind  # noqa: E402
from conftest import PANDO, run  # noqa: E402
from policy_costs import ENTRIES, PEOPLE, USER, WORD, Bench, cpu, name, ssha  # noqa: E402

CLIENTS = 64
RUNS, SECONDS, WARMUP = 5, 3, 1
# Connections of the others: the time that one request takes, and a server with a queue.
OTHERS = (1, 32)
CORES = sorted(os.sched_getaffinity(0))
SERVERS_CORES, CLIENTS_CORES = CORES[: len(CORES) // 2], CORES[len(CORES) // 2 :]
FORK = multiprocessing.get_context("fork")
OFF = ["limits|handshakes = 0", "limits|handshake-timeout = 0", "limits|failed-binds = 0", "limits|connections-per-address = 0", 'log|access = "off"']
SUCCESS, INVALID_CREDENTIALS = 0, 49
# Other networks of this machine are as good as other addresses.
RIGHTFUL_ADDRESS = "127.0.0.2"
# Priority of the server's threads for passwords (docs/passwords.md).
STANDS_BACK = 10


@contextlib.contextmanager
def on(cores):
    """What is begun here runs on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    yield
    os.sched_setaffinity(0, before)


class Beside:
    """A process that works until it is ended. `done` is what it has counted."""

    def __init__(self, work, *arguments, cores, nice=0, idle=False):
        self.done = FORK.Value("q", 0, lock=False)

        def begin():
            os.sched_setaffinity(0, cores)
            os.nice(nice)
            if idle:
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            work(self.done, *arguments)

        self.process = FORK.Process(target=begin, daemon=True)
        self.process.start()
        self.pid = self.process.pid

    def __enter__(self):
        # A loop without a pause would leave a process of the idle class nothing.
        while not self.done.value and self.process.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        assert self.process.is_alive(), "the crowd has ended"
        self.process.kill()
        self.process.join()


def handshakes(done, port, context):
    """So many clients at once, each one full handshake after the other. One is counted when the server has ended the connection behind it."""
    poll, clients = select.epoll(), {}

    def begin():
        plain = socket.socket()
        plain.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            plain.connect(("127.0.0.1", port))
        client = context.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)
        clients[client.fileno()] = client
        poll.register(client.fileno(), select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET)

    for _ in range(CLIENTS):
        begin()
    while ready := poll.poll(60):
        for number, event in ready:
            client = clients[number]
            assert not event & select.EPOLLERR, "a handshake has failed"
            if event & select.EPOLLHUP:
                del clients[number]
                client.close()
                done.value += 1
                begin()
            elif client._sslobj:
                with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    client.do_handshake()
                    assert not client.session_reused
                    client.shutdown(socket.SHUT_WR)
    raise TimeoutError("no handshake goes on")


def wrong_passwords(done, port):
    """So many clients at once, each one wrong password after the other."""
    poll, clients, account = select.poll(), {}, 100

    def guess(client):
        nonlocal account
        account = account + 1 if account + 1 < ENTRIES else 100
        client.sendall(ldap_bind(name(account), b"a wrong password"))

    for _ in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", port))
        clients[client.fileno()] = client
        poll.register(client.fileno(), select.POLLIN)
        guess(client)
    while ready := poll.poll(60_000):
        for number, _ in ready:
            assert code(clients[number]) == INVALID_CREDENTIALS
            done.value += 1
            guess(clients[number])
    raise TimeoutError("no bind is answered")


def rightful_binds(done, port, out):
    """One client of another address that binds with its password, again and again; `out` gets the milliseconds of each."""
    client = socket.create_connection(("127.0.0.1", port), source_address=(RIGHTFUL_ADDRESS, 0))
    while True:
        began = time.perf_counter_ns()
        client.sendall(ldap_bind(name(50), WORD.encode()))
        assert code(client) == SUCCESS
        out.send((time.perf_counter_ns() - began) / 1e6)
        done.value += 1


def code(client):
    """The result code of the answer to a bind."""
    answer = client.recv(4096)
    return answer[answer.index(b"\x0a\x01") + 2]


def burn(done, share):
    """Takes so much of the time of a core."""
    begin, used, done.value = time.monotonic(), time.process_time(), 1
    while True:
        if time.process_time() - used > share * (time.monotonic() - begin):
            time.sleep(0.0005)
        else:
            for _ in range(2000):
                pass


def cpu_behind(pid):
    """Seconds that those threads of a process have run that stand back behind others."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    # The 19th field of the line, behind the name of the thread, which may have blanks.
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks if int((task / "stat").read_text().rsplit(")", 1)[1].split()[16]) >= STANDS_BACK) / 1e9


def settle(server):
    """Passwords of those that have gone are verified all the same: waits until that is done."""
    before = -1
    while (now := cpu_behind(server.pid)) != before:
        before = now
        time.sleep(0.2)


def searched(server, connections, crowd=None, pipe=None):
    """The others search, beside a crowd."""
    while pipe and pipe.poll():
        pipe.recv()
    began, of_server, behind = time.monotonic(), cpu(server.pid), cpu_behind(server.pid)
    done, of_crowd = (crowd.done.value, cpu(crowd.pid)) if crowd else (0, 0)
    bench = run(PANDO, "bench", "search-base", "--url", server.url, "--bind-dn", USER, "--password", WORD, "--base", PEOPLE, "--key", "u{}", "--entries", ENTRIES,
                "--connections", connections, "--queue", 1, "--threads", 1, "--warmup", WARMUP, "--seconds", SECONDS, "--json", timeout=SECONDS * 10 + 60)
    seconds = time.monotonic() - began
    report = json.loads(bench.out)
    figures = dict(rate=report["rate"], p50=report["latency_us"]["p50"], p99=report["latency_us"]["p99"], server=(cpu(server.pid) - of_server) / seconds,
                   behind=(cpu_behind(server.pid) - behind) / seconds, crowd=0, done=0, binds=[])
    if crowd:
        figures |= {"crowd": (cpu(crowd.pid) - of_crowd) / seconds, "done": (crowd.done.value - done) / seconds}
    while pipe and pipe.poll():
        figures["binds"].append(pipe.recv())
    return figures


def spread(values, form="{:.0f}"):
    show = lambda value: form.format(value)  # noqa: E731
    return f"{show(statistics.median(values))} ({show(min(values))}-{show(max(values))})"


def table(row, of, states, bar):
    """Prints the figures of states in turn: without anything, beside one that burns as much, beside the crowd."""
    print(f"\n{row}, {of}; load average {os.getloadavg()[0]:.1f}\n")
    print("| state | searches/s | p50 us | p99 us | CPU of the server % | its threads for passwords % | CPU of those beside % | done by those beside /s |\n|---|---|---|---|---|---|---|---|")
    for state, runs in states.items():
        columns = [spread([figures[key] * by for figures in runs]) for key, by in
                   (("rate", 1), ("p50", 1), ("p99", 1), ("server", 100), ("behind", 100), ("crowd", 100), ("done", 1))]
        print(f"| {state} | {' | '.join(columns)} |")
    crowd = list(states)[-1]
    for other in list(states)[:-1]:
        pairs = list(zip(states[crowd], states[other]))
        print(f"{row}: {crowd}, against {other}: rate {spread([100 * one['rate'] / two['rate'] for one, two in pairs])} %, bar {bar} %; "
              f"p99 {spread([one['p99'] / two['p99'] for one, two in pairs], '{:.1f}')} x{', bar 2 x' if row != 'C8' else ''}", flush=True)


def in_turn(server, connections, of, crowd, *arguments):
    """What others find without anything, beside a crowd of the idle class, and beside a process that burns as much."""
    states = {"nothing beside": [], "a process that burns as much": [], of: []}
    alone, burnt, crowded = states.values()
    for _ in range(RUNS):
        alone.append(searched(server, connections))
        with Beside(crowd, *arguments, cores=CLIENTS_CORES, idle=True) as one:
            crowded.append(searched(server, connections, one))
        with Beside(burn, crowded[-1]["crowd"], cores=CLIENTS_CORES, idle=True) as one:
            burnt.append(searched(server, connections, one))
    return states


def c6(bench):
    with on(SERVERS_CORES):
        server, _ = bench.serve("c6", f"|threads = {len(SERVERS_CORES)}", *OFF, tls=True)
    context = server.context
    with on(CLIENTS_CORES):
        for connections in OTHERS:
            states = in_turn(server, connections, f"{CLIENTS} clients of handshakes", handshakes, server.any_port, context)
            table("C6", f"{connections} connections of others", states, 80)
    bench.end()


def c8(bench):
    for of, servers, clients in (("the server on one half of the cores", SERVERS_CORES, CLIENTS_CORES), ("all cores for all", CORES, CORES)):
        with on(servers):
            server, _ = bench.serve(f"c8-{len(servers)}", f"|threads = {len(servers)}", *OFF)
        with on(clients):
            for connections in OTHERS:
                states = {"nothing beside": [], "a process that burns as much": [], f"{CLIENTS} clients of wrong passwords": []}
                alone, burnt, crowded = states.values()
                undisturbed, disturbed = [], []
                for _ in range(RUNS):
                    alone.append(searched(server, connections))
                    pipe, out = FORK.Pipe(duplex=False)
                    with Beside(wrong_passwords, server.port, cores=clients) as crowd, Beside(rightful_binds, server.port, out, cores=clients):
                        crowded.append(searched(server, connections, crowd, pipe))
                    settle(server)
                    with Beside(burn, crowded[-1]["behind"], cores=servers, nice=STANDS_BACK) as crowd:
                        burnt.append(searched(server, connections, crowd))
                    disturbed += crowded[-1]["binds"]
                    pipe, out = FORK.Pipe(duplex=False)
                    with Beside(rightful_binds, server.port, out, cores=clients):
                        time.sleep(SECONDS / 3)
                        while pipe.poll():
                            undisturbed.append(pipe.recv())
                    settle(server)
                table("C8", f"{of}, {connections} connections of others", states, 90)
                print(f"C8: rightful bind from {RIGHTFUL_ADDRESS}: alone {tail(undisturbed)}; beside the crowd {tail(disturbed)}, bar 2000 ms", flush=True)
        bench.end()


def tail(times):
    return f"p50 {statistics.median(times):.0f} ms, p99 {statistics.quantiles(times, n=100)[-1]:.0f} ms of {len(times)}"


ROWS = {"C6": c6, "C8": c8}


def main(rows):
    random.seed(17)
    slow = run(PANDO, "password", "hash", stdin=WORD + "\n").out.strip()
    print(f"{ENTRIES} users of 3 kB, {RUNS} runs of {SECONDS} s in turn; server on cores {SERVERS_CORES}, clients on {CLIENTS_CORES}; off: {', '.join(OFF)}, rules, policies", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # Others bind with a digest, so that they need no turn among the crowd.
        bench = Bench(Path(folder), lambda number: ssha(WORD, b"salt") if name(number) == USER.encode() else slow)
        try:
            for row in rows or ROWS:
                ROWS[row](bench)
        finally:
            bench.end()


if __name__ == "__main__":
    if "--short" in sys.argv:
        RUNS, SECONDS = 2, 1
    main([argument for argument in sys.argv[1:] if argument != "--short"])
