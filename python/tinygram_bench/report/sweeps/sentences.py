"""The answer of a sweep: what is sustained, or where curves bend; and which way is best where."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from tinygram_bench.model.result import Figure
from tinygram_bench.model.sweep import Limit
from tinygram_bench.report.prose import confidence, first_of, listed
from tinygram_bench.report.sweeps.words import SAID, labels_of, limit_in_words
from tinygram_bench.statistics.figures.words import in_words
from tinygram_bench.statistics.sweeps.crossovers import Crossover, crossovers_of, firsts
from tinygram_bench.statistics.sweeps.curves import Swept
from tinygram_bench.statistics.sweeps.knees import LEAST_POINTS, LEAST_ROUNDS, knee_of
from tinygram_bench.statistics.sweeps.limits import Met, met_of

_MOST_TOLD = 6


def sentences_on(swept: Swept) -> tuple[str, ...]:
    """Sentences on the limit, or where none was given on knees; and on crossovers.

    There are more where ways rested between slices, and where figures are in doubt.
    """
    if not any(values for curve in swept.curves for values in curve.rounds):
        return ("Nothing was measured.",)
    limit = swept.sweep.limit
    first = _knees(swept) if limit is None else _sustained(swept, limit)
    return (first, _crossovers(swept), *_rested(swept), *_in_doubt(swept))


def _rested(swept: Swept) -> tuple[str, ...]:
    """What a limit in slices does not say: a host or server may recover while others have turns."""
    has_slices = any(case.parameters.slice_ns for curve in swept.curves for case in curve.cases)
    if swept.sweep.limit is None or not has_slices:
        return ()
    return (
        "Each way rested while others had their turns: what it sustains without such pauses may be "
        "less, and --lone measures that.",
    )


def _in_doubt(swept: Swept) -> tuple[str, ...]:
    """How many figures are in doubt, and why: they still count for knees and limits.

    Those that the clocks of two hosts do not know well enough count for knees alone.
    """
    doubts = [reason for curve in swept.curves for reason in curve.reasons if reason]
    if not doubts:
        return ()
    figures = len(swept.curves) * len(swept.values)
    example = "for example, " if len(set(doubts)) > 1 else ""
    return (f"In doubt are {len(doubts)} of these {figures} figures: {example}{doubts[0]}.",)


def _sustained(swept: Swept, limit: Limit) -> str:
    """`With p99 latency below 1 ms, nodelay sustains 38,000/s (35,000/s–41,000/s); …`.

    Ways that keep to the limit furthest come first.
    """
    labels = labels_of(swept)
    found = [(label, met_of(swept.values, curve, limit)) for curve, label in labels.items()]
    if len(found) > 1 and all(met.state == "never met" for _, met in found):
        told = _never_met(swept, found)
    else:
        found.sort(key=lambda each: _reach(each[1]), reverse=True)
        told = first_of([f"{label} {_met(swept, met)}" for label, met in found], _MOST_TOLD)
    return f"With {limit_in_words(limit)}: {told}{_how_sure(swept)}."


def _never_met(swept: Swept, found: Sequence[tuple[str, Met]]) -> str:
    """`none of the 21 ways is seen to keep to it at any rate; shown not to keep to it are …`.

    Ways that are shown to miss the limit soonest come first.
    """
    value, noun = SAID[swept.sweep.parameter].value, SAID[swept.sweep.parameter].noun
    shown = sorted((met.high, label) for label, met in found if met.high is not None)
    told = first_of([f"{label} at {value(high)}" for high, label in shown], _MOST_TOLD)
    rest = f"; shown not to keep to it are {told}" if shown else ", and none is shown not to"
    return f"none of the {len(found)} ways is seen to keep to it at any {noun}{rest}"


def _reach(met: Met) -> float:
    """The estimate of the value up to which the limit is kept."""
    if met.state == "met everywhere":
        return inf
    return -inf if met.up_to is None else met.up_to


def _met(swept: Swept, met: Met) -> str:
    value, noun = SAID[swept.sweep.parameter].value, SAID[swept.sweep.parameter].noun
    lowest, highest = value(swept.values[0]), value(swept.values[-1])
    is_rate = swept.sweep.parameter == "rate"
    if met.state == "not known":
        return "has too few messages to tell (allow more --duration)"
    if met.state == "not timed":
        return "is not timed well enough by the clocks of the two hosts to tell"
    if met.state == "never met":
        if met.high is None:
            return "is at no point shown to keep to it"
        return f"is never seen to keep to it, and is shown not to at {value(met.high)}"
    low = "below " + lowest if met.low is None else value(met.low)
    if met.state == "met everywhere":
        sure = "" if met.low == swept.values[-1] else f", surely up to {low}"
        what = "sustains every" if is_rate else "keeps to it at every"
        return f"{what} {noun} up to {highest}, where the limit is not reached{sure}"
    assert met.up_to is not None, "it is met up to a value"
    high = "above " + highest if met.high is None else value(met.high)
    verb = "sustains" if is_rate else "keeps to it up to"
    return f"{verb} {value(met.up_to)} ({low}–{high})"


def _knees(swept: Swept) -> str:
    """`Median latency rises faster from its knee on: nodelay at 38,000/s (35,000/s–41,000/s)`."""
    labels = labels_of(swept)
    knees = {
        curve: knee_of(swept.values, curve.rounds, is_higher_better=swept.is_higher_better)
        for curve in swept.curves
    }
    without = [labels[curve] for curve, knee in knees.items() if knee is None]
    what = in_words(swept.figure).capitalize()
    rises, falls = ("falls", "gains") if swept.is_higher_better else ("rises", "falls")
    clauses = [
        f"{turns} from its knee on: {first_of(told, _MOST_TOLD)}"
        for is_flattening, turns in ((False, f"{rises} faster"), (True, f"{falls} less"))
        if (
            told := [
                f"{labels[curve]} at {_at(swept, knee.at)}"
                for curve, knee in knees.items()
                if knee is not None and knee.is_flattening == is_flattening
            ]
        )
    ]
    if not clauses:
        needed = f"a knee takes {LEAST_POINTS} points and {LEAST_ROUNDS} rounds"
        low, high = (SAID[swept.sweep.parameter].value(swept.values[at]) for at in (0, -1))
        few = swept.sweep.rounds < LEAST_ROUNDS or len(swept.values) < LEAST_POINTS
        return f"No knee of {in_words(swept.figure)} is shown between {low} and {high}" + (
            f" ({needed})." if few else f"{_how_sure(swept)}."
        )
    rest = f"; no knee is shown for {listed(without)}" if without else ""
    return f"{what} {'; '.join(clauses)}{rest}{_how_sure(swept)}."


def _crossovers(swept: Swept) -> str:
    """`loop: above 38,000/s (35,000/s–41,000/s) coalesce:10us is faster than nodelay.`"""
    if not swept.pairings:
        return "No two ways were compared."
    found = list(firsts(swept, crossovers_of(swept)))
    if not found:
        return f"No change of order is shown{_order(swept)}{_how_sure(swept)}."
    told = [_crossover(swept, each) for each in sorted(found, key=lambda each: each.at.median)]
    text = first_of(told, _MOST_TOLD)
    return f"{text[:1].upper()}{text[1:]}, by {in_words(swept.figure)}{_how_sure(swept)}."


def _crossover(swept: Swept, each: Crossover) -> str:
    labels = {
        case.case_id: label for curve, label in labels_of(swept).items() for case in curve.cases
    }
    above, below = labels[each.above.case_id], labels[each.below.case_id]
    return f"above {_at(swept, each.at)} {above} is faster than {below}"


def _order(swept: Swept) -> str:
    """`: nodelay is faster than nagle at 4 of 9 points`, for pairs that any point tells apart."""
    labels = labels_of(swept)
    told = []
    for each in swept.pairings:
        for sign, ways in ((1, (each.second, each.first)), (-1, (each.first, each.second))):
            count = each.order.count(sign)
            if count:
                names = [labels[way] for way in ways]
                told.append(
                    (
                        count,
                        f"{names[0]} is faster than {names[1]} at {count} of "
                        f"{len(swept.values)} points",
                    )
                )
    told.sort(key=lambda each: -each[0])
    return f": {first_of([text for _, text in told])}" if told else ""


def _at(swept: Swept, at: Figure) -> str:
    value = SAID[swept.sweep.parameter].value
    return f"{value(at.median)} ({value(at.low)}–{value(at.high)})"


def _how_sure(swept: Swept) -> str:
    """The confidence of each point's interval, by the fewest rounds of a point with figures.

    Statements on a whole curve use several intervals, and points chosen by what was seen.
    """
    fewest = min(len(values) for curve in swept.curves for values in curve.rounds if values)
    sure = f", each point's interval at {confidence(fewest)}"
    return sure if fewest > 1 else ", from a single round"
