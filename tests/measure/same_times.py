"""Do requests whose outcomes must not be known by time take the same time? P6: failed binds, by what is wrong (the class of CVE-2020-35518); X2: right
and wrong guesses at a hidden attribute.

usage: tests/measure/same_times.py [PAIRS], with the interpreter of target/venv; PANDO names the binary. The throttles of addresses are off.

Each kind is asked in turn with the others, PAIRS times (2,000) in each of three runs. Medians are shown, and p of a rank test against the first
kind: it is the same time if p is above 0.01 in two of three runs. Where there is valgrind, the instructions of the server's own work are counted, too:
they should differ by less than 2 %. PANDO_PLANTED=nobody-not-verified or guess-answered-early, with a server that is built with holes, shows
what a difference looks like.
"""

import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "black_box"))

import callgrind  # noqa: E402
from conftest import ADMIN, PANDO, SECRET, SUFFIX, connect, run, start  # noqa: E402
from times import KINDS, POLICY, WORD, Client, bind_as, binds, directory, guesses, pairs, people, rank_test  # noqa: E402

RUNS = 3
# Requests whose instructions are counted, behind as many that bring everything into caches.
COUNTED = 100
HIDE = "hide: all attrs=employeeNumber,carLicense; users; deny=search,compare,read"


class Case:
    """What is compared: the server's directory and settings, the kinds of questions, and the function of the server that does their work."""

    def __init__(self, name, function, fill, arguments, ask):
        self.name, self.function, self.fill, self.arguments, self.ask = name, function, fill, arguments, ask

    def settings(self, folder, count):
        self.fill(folder / "d.ldif", count)
        config = folder / "pando.toml"
        config.write_text(f'[passwords]\ndefault-policy = "{POLICY}"\n[limits]\nfailed-binds = 1000000\n' if "bind" in self.name else "")
        return ["--config", config, *self.arguments]

    def measured(self, count):
        """Times of each run, by kind."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # No account fails ten times in a minute: it would be throttled.
            here = start(folder, *self.settings(folder, count), ldif=str(folder / "d.ldif"))
            try:
                connect(here)
                asks = self.ask(Client(here.port), count)
                pairs(asks, count // 10, random.Random(0))
                return [pairs(asks, count, random.Random(number)) for number in range(1, RUNS + 1)]
            finally:
                here.end()

    def instructions(self, kind):
        """Instructions of one request of a kind: the difference of two counts, so that what is done once does not count."""
        counts = [self.counted(kind, times * COUNTED) for times in (1, 2)]
        return (counts[1] - counts[0]) / COUNTED

    def counted(self, kind, count):
        def ask(port):
            question = self.ask(Client(port), 2 * COUNTED)[kind]
            for number in range(count):
                question(number)

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "password").write_text(SECRET + "\n")
            server = callgrind.served(PANDO, folder, *self.settings(folder, 2 * COUNTED), root=ADMIN, suffix=SUFFIX)
            return callgrind.counted(server, ["--collect-atstart=no", f"--toggle-collect={self.function}"], ask)


def of_binds(name, forms):
    return Case(f"binds, {name}", "dsa::bundle::binds::*::bind", lambda path, count: directory(path, forms, count), [], lambda client, count: binds(client, KINDS, count))


def of_guesses():
    def ask(client, count):
        bind_as(client, 0)
        return guesses(client, count)

    arguments = ["--access-rule", HIDE, "--index", "employeeNumber:eq", "--index", "carLicense:eq"]
    return Case("guesses", "dsa::op::search::run", people, arguments, ask)


def report(case, count):
    runs = case.measured(count)
    kinds = list(runs[0])
    # Of two forms the median is one or the other by chance: there the mean is shown.
    middle = statistics.fmean if "mixed" in case.name else statistics.median
    print(f"{case.name}: {len(runs)} runs of {count}", flush=True)
    for kind in kinds:
        middles = [middle(times[kind]) / 1000 for times in runs]
        tests = [rank_test(times[kinds[0]], times[kind]) for times in runs]
        parts = [100 * one * 1000 / middle(times[kinds[0]]) - 100 for one, times in zip(middles, runs)]
        shown = "  ".join(f"{one:,.1f} us {part:+.1f} % p={p:.2g}" for one, part, (p, _) in zip(middles, parts, tests))
        same = "same" if sum(p > 0.01 for p, _ in tests) >= 2 else "DIFFERS"
        print(f"  {kind:<8} {shown}  {same}", flush=True)
    if shutil.which("valgrind") and "Argon2" not in case.name and "mixed" not in case.name:
        first = None
        for kind in kinds:
            each = case.instructions(kind)
            first = first or each
            print(f"  {kind:<8} {each:,.0f} instructions {100 * each / first - 100:+.2f} %", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    argon2 = run(PANDO, "password", "hash", stdin=WORD).out.strip()
    report(of_binds("SSHA", ["SSHA"]), count)
    report(of_guesses(), count)
    report(of_binds("Argon2", [argon2]), max(count // 20, 1))
    report(of_binds("mixed", ["SSHA", argon2]), max(count // 20, 1))
