"""L3: does one client that is over all its limits leave the others 90 % of their rate, and twice their p99?

usage: tests/measure/greedy_client.py [--short] [KIND...], with the interpreter of target/venv; PANDO names the binary, a release build. All kinds
at once if none is given, else each alone. --short: two runs of a second each, to try it out.

The greedy client comes from 127.0.0.2 and does what its kinds say: as many connections as it gets, requests faster than its rate, searches that look at
everything, wrong passwords, requests that are never complete, and large answers that it does not read. The others read entries from 127.0.0.1
with `pando bench`, one request at a time on each connection. The limits of the greedy client allow it less than a tenth of a core: a limit that allows
half of the machine leaves the others the other half.

As in crowds.py the server has one half of the cores, all clients have the other half, and the greedy one is of the idle class there. A third state has a
process that burns as much CPU time as the greedy client took just before: what its state has less than this one is due to the server.
"""

import random
import socket
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import crowds  # noqa: E402
from ber import ldap_bind, tlv  # noqa: E402
from crowds import CLIENTS_CORES, SERVERS_CORES, in_turn, on, table  # noqa: E402
from policy_costs import PEOPLE, WORD, Bench, name, ssha  # noqa: E402
from test_searches import PRESENT, request, search  # noqa: E402

ADDRESS = "127.0.0.2"
LIMITS = ["limits|connections-per-address = 20", "limits|handshakes = 100", '[limits.rule]|name = "greedy"', f'[limits.rule]|by = {{ peer = "{ADDRESS}/32" }}',
          "[limits.rule]|rate = 50", '[limits.rule]|bytes-per-second = "64KiB"', "[limits.rule]|searches = 1", "[limits.rule]|look-through = 1000", 'log|access = "off"']
SCAN = search(PEOPLE, tlv(0xA4, tlv(4, b"description") + tlv(0x30, tlv(0x81, b"no such words"))), tlv(4, b"1.1"))
SENT = {
    "connections": b"",
    "requests": b"".join(request(number, search(name(number).decode(), PRESENT, tlv(4, b"1.1"), scope=0)) for number in range(1, 100)),
    "scans": b"".join(request(number, SCAN) for number in range(1, 100)),
    "passwords": b"".join(ldap_bind(name(number), b"wrong", number) for number in range(1, 100)),
    "incomplete": b"",
    "unread": b"".join(request(number, search(PEOPLE, PRESENT)) for number in range(1, 10)),
}
# As many of each kind as fit into its limit together; only one of the kinds wants more.
CONNECTIONS = {"connections": 200}
OTHERWISE = 3


def greedy(done, port, kinds):
    """Is greedy in these ways until it is ended; counts how often the server took something of what it sent."""
    clients = {kind: [] for kind in kinds}
    while True:
        for kind, of in clients.items():
            try:
                if len(of) < CONNECTIONS.get(kind, OTHERWISE):
                    client = socket.create_connection(("127.0.0.1", port), 5, source_address=(ADDRESS, 0))
                    client.setblocking(False)
                    # The begin of a request of which no more comes.
                    client.send(b"\x30\x82\x70\x00\x02\x01\x01\x63" if kind == "incomplete" else b"")
                    of.append(client)
            except OSError:
                pass
            for client in list(of):
                try:
                    done.value += client.send(SENT[kind]) > 0 or kind in ("connections", "incomplete")
                    if kind != "unread":
                        while client.recv(1 << 20):
                            pass
                        of.remove(client)
                except BlockingIOError:
                    pass
                except OSError:
                    of.remove(client)


def beside(bench, of, kinds):
    with on(SERVERS_CORES):
        server, _ = bench.serve(of.replace(" ", "-"), f"|threads = {len(SERVERS_CORES)}", *LIMITS)
    with on(CLIENTS_CORES):
        for connections in crowds.OTHERS:
            states = in_turn(server, connections, f"a greedy client, {of}", greedy, server.port, kinds)
            table("L3", f"{connections} connections of others", states, 90)
    bench.end()


def main(kinds):
    random.seed(17)
    if unknown := set(kinds) - set(SENT):
        sys.exit(f"no kind: {', '.join(sorted(unknown))}; there are {', '.join(SENT)}")
    print(f"limits of the greedy client: {', '.join(LIMITS)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), lambda number: ssha(WORD, b"salt"))
        try:
            for of in [[kind] for kind in kinds] or [list(SENT)]:
                beside(bench, of[0] if kinds else "all at once", of)
        finally:
            bench.end()


if __name__ == "__main__":
    if "--short" in sys.argv:
        crowds.RUNS, crowds.SECONDS = 2, 1
    main([word for word in sys.argv[1:] if not word.startswith("--")])
