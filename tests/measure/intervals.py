"""Intervals of medians."""

import random
import statistics


def interval(values):
    """The middle 90 % of medians of samples that are drawn again."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[100], medians[1899]
