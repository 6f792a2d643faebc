"""How long a failed bind takes, by what is wrong (P6, the class of CVE-2020-35518): the medians should not tell which accounts there are.

usage: tests/measure/bind_times.py [TRIES], with the interpreter of target/venv; PANDO names the binary. The throttles of addresses are off.
"""

import base64
import hashlib
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

from ber import ldap_bind  # noqa: E402
from conftest import PANDO, PEOPLE, SUFFIX, connect, run, start  # noqa: E402

WORD = "the right word"
KINDS = ("wrong", "absent", "without", "locked", "expired")
POLICY = f"cn=policy,{SUFFIX}"


def stored(scheme, number):
    """What is stored of the word; of both schemes in turn where they are mixed."""
    if scheme == "mixed":
        scheme = ("SSHA", "Argon2")[number % 2]
    if scheme == "SSHA":
        salt = number.to_bytes(8, "big")
        return "{SSHA}" + base64.b64encode(hashlib.sha1(WORD.encode() + salt).digest() + salt).decode()
    return ARGON2


def directory(path, scheme, accounts):
    lines = [f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n", f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n",
             f"dn: {POLICY}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\npwdLockout: TRUE\n"
             "pwdMaxFailure: 1000000\npwdMaxAge: 1000\n"]
    for kind in KINDS:
        if kind == "absent":
            continue
        for number in range(accounts):
            entry = f"dn: uid={kind}{number},{PEOPLE}\nobjectClass: account\nobjectClass: extensibleObject\nuid: {kind}{number}\n"
            if kind != "without":
                entry += f"userPassword: {stored(scheme, number)}\n"
            if kind == "locked":
                entry += "pwdAccountLockedTime: 000001010000Z\n"
            if kind == "expired":
                entry += "pwdChangedTime: 20200101000000Z\n"
            lines.append(entry)
    path.write_text("\n".join(lines))


def measure(scheme, tries):
    accounts = max(tries // 8, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        directory(folder / "d.ldif", scheme, accounts)
        (folder / "pando.toml").write_text(f'[passwords]\ndefault-policy = "{POLICY}"\n[limits]\nfailed-binds = 1000000\n')
        here = start(folder, "--config", folder / "pando.toml", ldif=str(folder / "d.ldif"))
        times = {kind: [] for kind in KINDS}
        try:
            connect(here)
            with socket.create_connection(("127.0.0.1", here.port)) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for number in range(tries):
                    # In turn, so that what else the machine does meets all of them.
                    for kind in KINDS:
                        word = WORD if kind in ("locked", "expired") else "a wrong word"
                        request = ldap_bind(f"uid={kind}{number % accounts},{PEOPLE}".encode(), word.encode(), number % 100 + 1)
                        begin = time.perf_counter_ns()
                        client.sendall(request)
                        answer = client.recv(4096)
                        times[kind].append(time.perf_counter_ns() - begin)
                        assert b"\x0a\x01\x31" in answer, (kind, answer)
        finally:
            here.end()
    # Of two schemes the median is one or the other by chance: there the mean tells.
    name, middle = ("mean", statistics.fmean) if scheme == "mixed" else ("median", statistics.median)
    middles = {kind: middle(values) / 1000 for kind, values in times.items()}
    shown = "  ".join(f"{kind} {one:,.1f} us ({100 * one / middles['wrong'] - 100:+.1f} %)" for kind, one in middles.items())
    print(f"{scheme:<7} {name} of {tries} tries each: {shown}", flush=True)


if __name__ == "__main__":
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    ARGON2 = run(PANDO, "password", "hash", stdin=WORD).out.strip()
    for scheme, count in (("SSHA", tries), ("Argon2", tries // 5), ("mixed", tries // 5)):
        measure(scheme, count)
