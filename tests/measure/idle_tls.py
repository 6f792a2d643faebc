"""T9: many idle TLS connections: how fast they are made, what each costs, and whether each is answered while all are open.

usage: tests/measure/idle_tls.py [CONNECTIONS], with the interpreter of target/venv; PANDO names the binary. 10,000 if no number is given.
"""

import os
import ssl
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from certificates import Authority  # noqa: E402
from conftest import raise_descriptors, start  # noqa: E402
from test_tls import Raw, search  # noqa: E402

THREADS = 4


def connected(port, context):
    raw = Raw(port)
    raw.secure(context)
    return raw


def is_answered(raw):
    raw.send(search(1, attributes=[b"1.1"]))
    return bool(raw.message() and raw.message())


def main(count):
    raise_descriptors(count + 1000)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(THREADS) as pool:
        folder = Path(name)
        authority = Authority(folder / "ca")
        certificate, key = authority.sign("server")
        config = folder / "pando.toml"
        config.write_text(f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\n[limits]\ntrusted = ["127.0.0.1"]\nfirst-request = 600\n')
        here = start(folder, "--config", config, "--listen", "ldaps://127.0.0.1:0", ldif="people.ldif")
        port = int(here.process.stdout.readline().decode().rsplit(":", 1)[1])
        context = ssl.create_default_context(cafile=authority.certificate)
        before, begin = here.resident, time.monotonic()
        clients = list(pool.map(lambda _: connected(port, context), range(count)))
        seconds, idle = time.monotonic() - begin, here.resident
        begin = time.monotonic()
        answered = sum(pool.map(is_answered, clients))
        print(f"{count} TLS connections in {seconds:.1f} s ({count / seconds:,.0f}/s, clients and server on {os.cpu_count()} cores), "
              f"{(idle - before) / count / 1024:.1f} KiB each; {answered} answered in {time.monotonic() - begin:.1f} s, "
              f"{(here.resident - before) / count / 1024:.1f} KiB each behind that")
        for client in clients:
            client.socket.close()
        here.end()
        assert answered == count


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
