"""L3: does one client that is over all limits leave the others 90 % of their rate, and twice their p99?

usage: tests/measure/greedy_client.py [SECONDS], with the interpreter of target/venv; PANDO names the binary, a release build.

The greedy client comes from 127.0.0.2. It does all at the same time, in processes of lowest priority, so that what it takes of the others it takes by the
server: as many connections as it gets, requests faster than its rate, searches that look at everything, wrong passwords, requests that are never
complete, and large answers that it does not read. The others read entries from 127.0.0.1, one request at a time on each connection. Both sides are
measured in turn, with and without it.
"""

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from ber import ldap_bind, tlv  # noqa: E402
from conftest import PEOPLE, SUFFIX, start  # noqa: E402
from test_searches import PRESENT, bound, fill, request, search  # noqa: E402

PAIRS, OTHERS = 5, 4
LIMITS = """
[limits]
connections-per-address = 100
handshakes = 100
[[limits.rule]]
name = "greedy"
by = { peer = "127.0.0.2/32" }
rate = 1000
bytes-per-second = "10MiB"
searches = 4
look-through = 10000
"""


def greedy(port, kind):
    """One way to be greedy, until it is ended."""
    os.nice(19)
    scan = search(SUFFIX, tlv(0xA4, tlv(4, b"description") + tlv(0x30, tlv(0x81, b"no such words"))), tlv(4, b"1.1"))
    bundles = {
        "requests": b"".join(request(number, search(f"uid=f{number},{PEOPLE}", PRESENT, tlv(4, b"1.1"), scope=0)) for number in range(1, 100)),
        "scans": b"".join(request(number, scan) for number in range(1, 100)),
        "passwords": b"".join(ldap_bind(f"uid=f{number},{PEOPLE}".encode(), b"wrong", number) for number in range(1, 100)),
        "incomplete": b"\x30\x82\x70\x00\x02\x01\x01\x63",
        "unread": b"".join(request(number, search(SUFFIX, PRESENT)) for number in range(1, 10)),
    }
    clients = []
    while True:
        try:
            if len(clients) < 40 and kind != "connections" or kind == "connections" and len(clients) < 200:
                client = socket.create_connection(("127.0.0.1", port), 5, source_address=("127.0.0.2", 0))
                client.setblocking(False)
                clients.append(client)
        except OSError:
            pass
        for client in list(clients):
            try:
                if kind in bundles:
                    client.send(bundles[kind])
                if kind != "unread":
                    while client.recv(1 << 20):
                        pass
                    clients.remove(client)
            except BlockingIOError:
                pass
            except OSError:
                clients.remove(client)
        time.sleep(0.001)


def measured(clients, seconds):
    """Requests a second, and p99 in microseconds."""
    message = request(2, search(f"uid=f7,{PEOPLE}", PRESENT, tlv(4, b"1.1"), scope=0))
    times, end = [], time.monotonic() + seconds
    while (began := time.perf_counter_ns()) and time.monotonic() < end:
        client = clients[len(times) % len(clients)]
        client.sendall(message)
        assert b"\x02\x01\x02\x65" in client.recv(1 << 16)
        times.append((time.perf_counter_ns() - began) / 1000)
    return len(times) / seconds, statistics.quantiles(times, n=100)[-1]


def main(seconds):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "pando.toml"
        config.write_text(LIMITS)
        server = start(folder, "--config", config, ldif="people.ldif")
        fill(server, 20000, 2000)
        clients = [bound(server) for _ in range(OTHERS)]
        rates, tails = [], []
        for _ in range(PAIRS):
            alone = measured(clients, seconds)
            children = [subprocess.Popen([sys.executable, __file__, "--greedy", str(server.port), kind])
                        for kind in ("connections", "requests", "scans", "passwords", "incomplete", "unread")]
            time.sleep(1)
            beside = measured(clients, seconds)
            for child in children:
                child.send_signal(signal.SIGKILL)
                child.wait()
            rates.append(100 * beside[0] / alone[0])
            tails.append(beside[1] / alone[1])
            print(f"alone {alone[0]:.0f}/s, p99 {alone[1]:.0f} us; beside the greedy client {beside[0]:.0f}/s, p99 {beside[1]:.0f} us", flush=True)
        print(f"L3: rate {statistics.median(rates):.0f} % ({min(rates):.0f}-{max(rates):.0f}), bar 90 %; "
              f"p99 {statistics.median(tails):.1f} x ({min(tails):.1f}-{max(tails):.1f}), bar 2 x")
        server.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--greedy"]:
        greedy(int(sys.argv[2]), sys.argv[3])
    else:
        main(float(sys.argv[1]) if sys.argv[1:] else 5)
