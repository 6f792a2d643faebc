"""How long answers take that must not differ. tests/measure/same_times.py measures the same with more pairs and finds smaller differences."""

import random
import statistics

from conftest import PANDO, run
from times import KINDS, POLICY, WORD, Client, bind_as, binds, directory, guesses, pairs, people

# Medians may be so far apart: more is no noise of a machine that is busy with other tests. The threads that verify slow forms run at a low priority,
# so of these they may be far apart. One that is not verified takes a hundredth.
FAST, SLOW = 0.10, 5.0


def slower(times, limit):
    """The pairs of kinds of which the first's median is above the second's by more than a limit, and the medians in microseconds."""
    medians = {name: statistics.median(values) / 1000 for name, values in times.items()}
    return {(one, other) for one in medians for other in medians if medians[one] > medians[other] * (1 + limit)}, medians


def differ(asks, count, limit=FAST):
    """The pairs of kinds of which one is slower in each of five runs, and the medians of each; else None. What the machine does besides slows
    another kind in each run.
    """
    chance, seen, always = random.Random(17), [], None
    pairs(asks, 20 if limit == FAST else 1, chance)
    for _ in range(5):
        found, medians = slower(pairs(asks, count, chance), limit)
        always = found if always is None else always & found
        if not always:
            return None
        seen.append(medians)
    return always, seen


def test_p6_failed_binds_take_the_same_time(server, tmp_path):
    """Wrong word, no such entry, no password, locked, expired. Of a form that takes long a few tries tell enough."""
    argon2 = run(PANDO, "password", "hash", stdin=WORD).out.strip()
    for name, forms, kinds, count, limit in (("fast", ["SSHA"], KINDS, 400, FAST), ("slow", [argon2], KINDS[:3], 4, SLOW)):
        directory(tmp_path / f"{name}.ldif", forms, count)
        config = tmp_path / f"{name}.toml"
        config.write_text(f'[passwords]\ndefault-policy = "{POLICY}"\n[limits]\nfailed-binds = 1000000\n')
        here = server("--config", config, ldif=tmp_path / f"{name}.ldif")
        seen = differ(binds(Client(here.port), kinds, count), count, limit)
        assert seen is None, (name, seen)


def test_x2_guesses_take_the_same_time(server, tmp_path):
    """A right guess at a hidden attribute, a wrong one, and a guess at an attribute that nobody has; all of them are indexed."""
    people(tmp_path / "d.ldif", 400)
    hide = "hide: all attrs=employeeNumber,carLicense; users; deny=search,compare,read"
    here = server("--access-rule", hide, "--index", "employeeNumber:eq", "--index", "carLicense:eq", ldif=tmp_path / "d.ldif")
    client = Client(here.port)
    bind_as(client, 0)
    seen = differ(guesses(client, 400), 400)
    assert seen is None, seen
