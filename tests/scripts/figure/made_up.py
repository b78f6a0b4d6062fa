"""Makes data with which a check passes, fails, or cannot tell: for every kind, from the check's own bounds."""

import dataclasses

from figure import checks
from figure.noise import FAIL, NULL, PASS, CannotTell

ROUNDS = 3


class MadeUp:
    """Has what a check sees of a figure."""

    def __init__(self, values, published=()):
        self.values = values  # {(series, x): one value for each round}
        self.paper = list(published)

    def places(self, panel, series):
        found = [x for name, x in self.values if name == series]
        if not found:
            raise CannotTell(f"{series} is nowhere")
        return found

    def rounds(self, panel, series, x):
        if (series, x) not in self.values:
            raise CannotTell(f"{series} is not run at {x}")
        return self.values[series, x]

    def published(self, panel, series):
        return self.paper


class Published:
    """Has what a check would see of a figure whose points are the paper's."""

    def __init__(self, figure):
        self.figure = figure

    def published(self, panel, series):
        """Returns the paper's points. Those of a panel with figures relative to the series' first one are made of the
        panel with figures that are not.
        """
        found = [point for each in self.figure.published for point in each.points
                 if (each.panel, each.series) == (panel, series)]
        measures = next(each for each in self.figure.series if each.name == series).measures
        if found or measures[panel].relative_to != series:
            return found
        absolute = dataclasses.replace(measures[panel], relative_to="")
        whole = [self.published(other, series) for other, measure in measures.items() if measure == absolute]
        return [(x, y / whole[0][0][1]) for x, y in whole[0]] if whole and whole[0] else []

    def places(self, panel, series):
        if not (found := [x for x, _ in self.published(panel, series)]):
            raise CannotTell(f"the paper has no numbers of {series}")
        return found

    def rounds(self, panel, series, x):
        if x not in self.places(panel, series):
            raise CannotTell(f"the paper has no number of {series} at {x}")
        return [dict(self.published(panel, series))[x]] * ROUNDS


def data(check, wanted, published=()):
    """Returns a MadeUp for which the verdict of the check is `wanted`."""
    return MAKERS[type(check)](check, wanted, published)


def _between(least, most, wanted):
    """Returns values of three rounds that are within bounds, outside, or on both sides of one."""
    if least is None:
        inside, outside = 0.9 * most, 1.2 * most + 0.1
    elif most is None:
        inside, outside = 1.1 * least + 0.1, least - 0.2 * abs(least) - 0.1
    else:
        inside, outside = (least + most) / 2, most + (most - least) + 0.1
    return {PASS: [inside] * ROUNDS, FAIL: [outside] * ROUNDS, NULL: [inside, outside, inside]}[wanted]


def _places_of(*places):
    """Returns numbers or names, as the check has them, and two numbers for first, last and all."""
    named = [x for x in places if x not in ("first", "last", "all")]
    return list(dict.fromkeys([*named, *([1, 2] if len(named) < len(places) or not named else [])]))


def _value(check, wanted, _):
    values = _between(check.at_least, check.at_most, wanted)
    return MadeUp({(check.series[0], x): values for x in _places_of(check.at)})


def _ratio(check, wanted, _):
    name, other = check.series
    ratios = _between(check.at_least, check.at_most, wanted)
    if check.at == check.to_at:
        return MadeUp({(name, x): [7 * ratio for ratio in ratios] for x in _places_of(check.at)}
                      | {(other, x): [7] * ROUNDS for x in _places_of(check.at)})
    above, below = _end(check.at, 1), _end(check.to_at, 2)
    values = {(name, above): [7 * ratio for ratio in ratios], (other, below): [7] * ROUNDS}
    if name != other:
        values |= {(name, below): [7] * ROUNDS, (other, above): [7] * ROUNDS}
    if "first" in (check.at, check.to_at) or "last" in (check.at, check.to_at):
        first = above if check.at == "first" or check.to_at == "last" else below
        values = dict(sorted(values.items(), key=lambda item: item[0][1] != first))
    return MadeUp(values)


def _end(at, otherwise):
    return otherwise + 1000 if at in ("first", "last") else at


def _ordering(check, wanted, _):
    step = {PASS: [1.1] * ROUNDS, FAIL: [0.9 * (1 - check.slack)] * ROUNDS, NULL: [1.1, 0.9 * (1 - check.slack),
                                                                                   1.1]}[wanted]
    values = {}
    for x in _places_of(check.at):
        for at, group in enumerate(check.groups):
            values |= {(name, x): [1000 / each**at for each in step] for name in group}
    return MadeUp(values)


def _monotone(check, wanted, _):
    good, bad = 1.5, 0.5 * (1 - min(check.slack, 0.9))
    if not check.rising:
        good, bad = 1 / good, 1 / bad
    factors = {PASS: [good] * ROUNDS, FAIL: [bad] * ROUNDS, NULL: [good, bad, good]}[wanted]
    return MadeUp({(check.series[0], x): [100 * each**x for each in factors] for x in range(3)})


def _flat(check, wanted, _):
    good, bad = 1 + 0.5 * check.within, 1.2 + 2 * check.within
    factors = {PASS: [good] * ROUNDS, FAIL: [bad] * ROUNDS, NULL: [good, bad, good]}[wanted]
    return MadeUp({(check.series[0], 1): [10] * ROUNDS, (check.series[0], 2): [10 * each for each in factors]})


def _crossing(check, wanted, _):
    """The second series is 10 everywhere; the first falls through it in the middle of the bounds, or not at all."""
    name, other = check.series
    low, high = check.between
    falls = {PASS: [True] * ROUNDS, FAIL: [False] * ROUNDS, NULL: [True, False, True]}[wanted]
    return MadeUp({(name, low): [15] * ROUNDS, (name, high): [5 if each else 12 for each in falls],
                   (other, low): [10] * ROUNDS, (other, high): [10] * ROUNDS})


def _peak(check, wanted, _):
    low, high = check.between
    there = {PASS: [True] * ROUNDS, FAIL: [False] * ROUNDS, NULL: [True, False, True]}[wanted]
    best, other = (9, 1) if check.greatest else (1, 9)
    name = check.series[0]
    return MadeUp({(name, low - 1): [other if each else best for each in there], (name, (low + high) / 2):
                   [best if each else other for each in there], (name, high + 1): [5] * ROUNDS})


def _as_published(check, wanted, published):
    paper = list(published) or [(1, 2.0), (2, 3.0)]
    values = {}
    for x, y in paper:
        tolerance = check.within if check.within is not None else check.within_share * abs(y)
        values[check.series[0], x] = [y + tolerance * each
                                      for each in {PASS: [0.5] * 3, FAIL: [2] * 3, NULL: [0.5, 2, 0.5]}[wanted]]
    return MadeUp(values, paper)


MAKERS = {checks.Value: _value, checks.Ratio: _ratio, checks.Ordering: _ordering, checks.Monotone: _monotone,
          checks.Flat: _flat, checks.Crossing: _crossing, checks.Peak: _peak, checks.AsPublished: _as_published}
