"""The answer in words: which way won, by how much, how sure; and when nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.support.experiments import (
    failed,
    flat_out,
    flat_out_in_slices,
    histogram,
    paced,
    paced_run,
    plan_of,
    result_of,
    warned,
    way,
)

from tinygram_bench.model.result import Run, Unavailable, Warning
from tinygram_bench.report.loads.winners import closing_sentences

BASE = [100e3, 101e3, 99e3, 102e3, 98e3, 100e3, 101e3]
NOISE = [1.01, 0.99, 1.02, 0.98, 1.03, 0.97, 1.0]


def times(factor: float) -> list[float]:
    return [value * factor for value in BASE]


def test_a_winner_is_told_with_both_ratios_and_the_true_confidence() -> None:
    result = result_of(
        *flat_out(
            {
                "asyncio/nodelay": BASE,
                "asyncio/cork": times(2.5),
                "asyncio/coalesce:10us": times(5),
            }
        )
    )
    assert closing_sentences(result) == (
        "asyncio, flat out: coalesce:10us won: it sends 5.00 times as many messages as nodelay "
        "(5.00–5.00) and 2.00 times as many as the runner-up cork (2.00–2.00), at "
        "98.4% confidence from 7 rounds.",
    )


def test_nodelay_is_not_named_twice() -> None:
    result = result_of(*flat_out({"loop/nodelay": BASE, "loop/nagle": times(2)}))
    assert closing_sentences(result) == (
        "loop, flat out: nagle won: it sends 2.00 times as many messages as the runner-up nodelay "
        "(2.00–2.00), at 98.4% confidence from 7 rounds.",
    )


def test_the_confidence_is_that_of_the_rounds_that_both_finished() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE, "loop/nagle": times(2)})
    (sentence,) = closing_sentences(result_of(plan, [failed(runs[0]), *runs[1:]]))
    assert sentence.endswith("at 96.9% confidence from 6 rounds.")


def test_ways_that_cannot_be_told_apart_have_no_winner() -> None:
    noisy = [value * noise for value, noise in zip(BASE, NOISE, strict=True)]
    (sentence,) = closing_sentences(
        result_of(*flat_out({"loop/nodelay": BASE, "loop/cork": noisy}))
    )
    assert "no clear winner" in sentence
    assert "cork and nodelay are equal within 3.1% (ratio to nodelay 1.000, 0.970–1.030)" in (
        sentence
    )


def test_what_may_be_half_as_large_again_is_not_called_equal() -> None:
    far = [value * (0.7 + 0.15 * (at * 3 % 7)) for at, value in enumerate(BASE)]
    (sentence,) = closing_sentences(result_of(*flat_out({"loop/nodelay": BASE, "loop/cork": far})))
    assert "nodelay cannot be told apart: they may be up to 61% apart (ratio to " in sentence
    assert "equal" not in sentence


def test_a_tie_at_the_top_still_tells_how_far_nodelay_is_behind() -> None:
    noisy = [value * noise * 3 for value, noise in zip(BASE, NOISE, strict=True)]
    (sentence,) = closing_sentences(
        result_of(*flat_out({"loop/nodelay": BASE, "loop/cork": noisy, "loop/more": times(3)}))
    )
    assert "; it and more are equal within 3.1% (ratio to more " in sentence
    assert "sends 3.00 times as many messages as nodelay (" in sentence


def test_too_few_rounds_are_said_so() -> None:
    result = result_of(*flat_out({"loop/nodelay": BASE[:3], "loop/cork": times(2)[:3]}))
    assert closing_sentences(result) == (
        "loop, flat out: cannot say which way won (cork was ahead of nodelay): 3 rounds have both, "
        "and 6 are needed.",
    )


def test_two_modes_are_said_so() -> None:
    result = result_of(*paced({"loop/nodelay": [13, 51, 13, 51, 13, 51, 13], "loop/cork": [5] * 7}))
    (sentence,) = closing_sentences(result)
    assert sentence.startswith("loop, at 1,000/s, constant: cannot say which way won")
    assert "median latency: near 13 µs in 4 rounds, near 51 µs in 3 rounds" in sentence


TWO_MODES = [7.6, 11.4, 7.7, 11.5, 7.8, 11.3]
"""How many times as many messages as another way a way sent in each round: near 7.7 or 11.4."""


def test_two_modes_on_one_side_tell_who_is_ahead_and_from_where_to_where() -> None:
    """Four ways could not be told apart, of which one sent 7 to 11 times as much as two others."""
    beside = [value / noise for value, noise in zip(TWO_MODES, NOISE[:6], strict=True)]
    ways = {"loop/nagle": [1.5] * 6, "loop/nodelay": [1.0] * 6, "loop/tinygram/adaptive": TWO_MODES}
    (won,) = closing_sentences(result_of(*flat_out_in_slices(ways)))
    assert won == (
        "loop, flat out: tinygram/adaptive won: it sends 7.60–11.5 times as many messages as "
        "nodelay (two modes) and 5.07–7.67 times as many as the runner-up nagle (two modes), at "
        "96.9% confidence from 6 rounds."
    )
    tied = ways | {"loop/tinygram/coalesce:10us": beside}
    (sentence,) = closing_sentences(result_of(*flat_out_in_slices(tied)))
    assert sentence == (
        "loop, flat out: tinygram/adaptive sends 7.60–11.5 times as many messages as nodelay (two "
        "modes); it and tinygram/coalesce:10us are equal within 3.0% (ratio to "
        "tinygram/coalesce:10us 1.000, 0.970–1.030), at 96.9% confidence from 6 rounds."
    )


def test_two_modes_on_either_side_of_each_other_are_said_so() -> None:
    ways = {"loop/nodelay": [1.0] * 6, "loop/cork": [0.8, 1.9] * 3}
    assert closing_sentences(result_of(*flat_out_in_slices(ways))) == (
        "loop, flat out: cannot say which way won (cork was ahead of nodelay): two modes in "
        "loop/cork ÷ loop/nodelay: near 0.8 in 3 rounds, near 1.9 in 3 rounds.",
    )


def test_paced_the_lowest_median_latency_wins() -> None:
    (sentence,) = closing_sentences(
        result_of(*paced({"loop/nodelay": [40] * 7, "loop/cork": [30] * 7}))
    )
    assert sentence == (
        "loop, at 1,000/s, constant: cork won: it has 0.75 times the median latency of the "
        "runner-up nodelay (0.75–0.75); on p99 cork won, at 98.4% confidence from 7 rounds."
    )


def tailed(p99_us: Mapping[str, Sequence[float]], p50_us: Mapping[str, float]) -> str:
    """The sentence on ways whose rounds have these p99 and this p50."""
    cases = {text: way(text, 1_000) for text in p99_us}
    runs = []
    for text, tails in p99_us.items():
        for number, tail_us in enumerate(tails):
            samples_us = [p50_us[text]] * 900 + [tail_us] * 100
            latency = histogram([round(us * 1_000) for us in samples_us])
            runs.append(Run(cases[text].case_id, number, {}, {"latency_ns": latency}))
    (sentence,) = closing_sentences(result_of(plan_of(cases.values(), runs), runs))
    return sentence


def test_the_tail_has_its_own_say() -> None:
    calm = [100.0] * 7
    noisy = [100.0 * noise for noise in NOISE]
    won = "cork won: it has 0.75 times the median latency"
    medians = {"loop/cork": 30.0, "loop/nodelay": 40.0, "loop/more": 50.0}
    for tails, said in (
        ((calm, [110.0] * 7, [120.0] * 7), "on p99 cork won,"),
        ((calm, noisy, calm), "on p99 cork is not shown to differ from nodelay and more,"),
        ((calm, [90.0] * 7, calm), "on p99 cork is slower than nodelay,"),
        ((calm, [90.0] * 3 + [300.0] * 4, [120.0] * 7), "on p99 it cannot be said (loop/nodelay: "),
    ):
        sentence = tailed(dict(zip(medians, tails, strict=True)), medians)
        assert won in sentence
        assert said in sentence


def test_a_kind_of_doubt_is_told_once_with_the_ways_that_it_concerns() -> None:
    """Each way's own words filled the answer, and again for p99."""
    latencies = dict.fromkeys(("loop/cork", "loop/more", "loop/nagle"), [40.0] * 7)
    plan, runs = paced({"loop/nodelay": [30.0] * 7} | latencies)
    late = [
        warned(run, Warning("fell_behind", f"behind by {number} ms", ("latency_",)))
        if "nodelay" not in run.case_id
        else run
        for number, run in enumerate(runs)
    ]
    (sentence,) = closing_sentences(result_of(plan, late))
    assert sentence == (
        "loop, at 1,000/s, constant: cannot say which way won on median latency (nodelay was ahead "
        "of cork): loop/cork: behind by 7 ms (in every round), likewise for loop/more and "
        "loop/nagle; on p99 it cannot be said (for the same reasons)."
    )


def test_nodelay_of_another_implementation_is_named_in_full() -> None:
    ways = {"loop/tinygram/nodelay": BASE, "loop/tinygram/tick": times(3), "loop/cork": times(2)}
    (sentence,) = closing_sentences(result_of(*flat_out(ways)))
    assert "it sends 3.00 times as many messages as tinygram/nodelay (" in sentence


def test_the_tail_cannot_be_said_without_samples() -> None:
    cases = [way("loop/nodelay", 1_000), way("loop/cork", 1_000)]
    runs = [paced_run(case, number, 40, 30) for case in cases for number in range(7)]
    (sentence,) = closing_sentences(result_of(plan_of(cases, runs), runs))
    assert "; on p99 it cannot be said (loop/" in sentence


def test_a_way_that_beats_some_but_not_all_has_not_won() -> None:
    modes = [13, 13.1, 51, 50, 13.2, 13.3, 13.1]
    (sentence,) = closing_sentences(
        result_of(
            *flat_out({"loop/coalesce:10us": [900.0] * 7, "loop/cork": [80.0] * 7, "loop/x": modes})
        )
    )
    assert sentence == (
        "loop, flat out: no clear winner: coalesce:10us and x cannot be told apart (loop/x: "
        "two modes in throughput: near 13.1/s in 5 rounds, near 50.5/s in 2 rounds), at 98.4% "
        "confidence from 7 rounds."
    )


def test_every_way_that_the_first_cannot_be_told_from_is_named() -> None:
    noisy = [value * noise for value, noise in zip(BASE, NOISE, strict=True)]
    ways = {"loop/nodelay": times(0.5), "loop/cork": noisy, "loop/more": times(1.001)}
    (sentence,) = closing_sentences(result_of(*flat_out(ways | {"loop/nagle": noisy})))
    assert "cork sends 2.00 times as many messages as nodelay (1.94–2.06); it and " in sentence
    assert "nagle and more are equal within 3.1% (ratio to nagle " in sentence
    assert "; ratio to more " in sentence


def test_the_confidence_is_that_of_the_way_with_the_fewest_rounds() -> None:
    plan, runs = flat_out({"loop/a": times(3), "loop/b": times(2), "loop/c": BASE})
    (sentence,) = closing_sentences(result_of(plan, [*runs[:20], failed(runs[20])]))
    assert "a won: it sends 1.50 times as many messages as the runner-up b" in sentence
    assert sentence.endswith("at 96.9% confidence from 6 rounds.")


def test_a_better_median_with_worse_rounds_is_no_win() -> None:
    """A median may lead where every shared round trails: here the late rounds are the fast ones."""
    ramp = [1e5 + 5e4 * number for number in range(14)]
    plan, runs = flat_out({"loop/nodelay": ramp, "loop/cork": [value * 1.1 for value in ramp]})
    (sentence,) = closing_sentences(
        result_of(plan, [*runs[:21], *(failed(run) for run in runs[21:])])
    )
    assert sentence == (
        "loop, flat out: no clear winner: nodelay has the better median, cork more rounds "
        "(ratio to cork 0.909, 0.909–0.909), at 98.4% confidence from 7 rounds."
    )


def test_a_sole_way_beside_its_limit() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE, "native/nodelay": times(9)})
    assert closing_sentences(result_of(plan, runs)) == (
        "loop, flat out: only nodelay has figures (apart from the limit), so nothing was compared.",
    )


def test_a_sole_way_and_no_way_at_all() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE, "threads/nodelay": BASE})
    result = result_of(plan, [*runs[:7], *(failed(run, "no route") for run in runs[7:])])
    assert closing_sentences(result) == (
        "loop, flat out: only nodelay has figures, so nothing was compared.",
        "threads, flat out: every run failed, the first with: no route.",
    )
    assert closing_sentences(result_of(plan, [])) == (
        "loop, flat out: nothing ran.",
        "threads, flat out: nothing ran.",
    )


def test_what_is_unavailable_is_said_with_its_reason() -> None:
    plan, runs = flat_out({"loop/nodelay": BASE})
    absent = tuple(
        Unavailable(way(f"uvloop/{strategy}"), "uvloop is not installed")
        for strategy in ("nagle", "nodelay")
    )
    assert closing_sentences(result_of(plan, runs, absent))[-1] == (
        "uvloop, flat out: not measured: uvloop is not installed."
    )


def test_every_load_has_its_sentence() -> None:
    cases = [way(f"loop/{strategy}", rate) for rate in (1e3, 1e4) for strategy in ("a", "b")]
    runs = [paced_run(case, number, 40) for case in cases for number in range(7)]
    sentences = closing_sentences(result_of(plan_of(cases, runs), runs))
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "loop, at 1,000/s, constant",
        "loop, at 10,000/s, constant",
    ]


def test_limits_and_our_own_implementation() -> None:
    (sentence,) = closing_sentences(
        result_of(
            *flat_out(
                {
                    "native/nodelay": times(90),
                    "asyncio/nodelay": BASE,
                    "asyncio/tinygram/adaptive": times(4),
                }
            )
        )
    )
    assert (
        "tinygram/adaptive won: it sends 4.00 times as many messages as the runner-up " in sentence
    )


def test_an_empty_plan_has_one_sentence() -> None:
    assert closing_sentences(result_of(plan_of([], []), [])) == ("Nothing was measured.",)
