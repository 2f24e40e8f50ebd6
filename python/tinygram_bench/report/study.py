"""The answer of a result that a study made, which judges its runs itself (`measurement.Study`)."""

from __future__ import annotations

from tinygram_bench.model.result import Result


def answer_of_study(result: Result) -> tuple[str, ...] | None:
    """The answer that the study gave, or else what the result is; None where no study made it.

    Its runs have what the study needs of them, so that this report cannot say which way won.
    """
    study = result.environment.get("study")
    if not isinstance(study, dict):
        return None
    return result.answer or _what_it_is(result, str(study.get("name")))


def _what_it_is(result: Result, name: str) -> tuple[str, str]:
    failed = sum(run.failure is not None for run in result.runs)
    rounds = len({run.round for run in result.runs})
    return (
        f"The study {name} compares its cases by rules of its own, and its answer is not in this "
        f"result; python -m {name} --report FILE, in benches/ of tinygram's sources, gives it.",
        f"The result has {len(result.runs):,} runs of {len(result.plan.cases):,} cases in {rounds} "
        f"{'round' if rounds == 1 else 'rounds'}, of which {failed or 'none'} failed.",
    )
