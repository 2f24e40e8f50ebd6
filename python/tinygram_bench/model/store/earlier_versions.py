"""Result files of earlier schema versions, read as if this version had written them."""

from __future__ import annotations

from typing import Any

_SWITCHES = ("pacer_sleeps", "flat_out_burst")


def from_version_1(document: Any) -> Any:
    """A document of version 1, converted to version 2. Raises LookupError or TypeError for others.

    In version 1 a case's parameters did not say of which workload they are, the switches of studies
    stood among the others, and sizes to predict were one text.
    """
    plan = document["plan"]
    cases = [*plan["cases"], *(each["case"] for each in plan.get("unavailable", ()))]
    cases += [summary["case"] for summary in document["summaries"]]
    for case in cases:
        parameters = case["parameters"]
        parameters["workload"] = case["workload"]
        if parameters.get("withholds") is False:
            del parameters["withholds"]  # A former switch; a file where it was on cannot be read.
        study = {name: parameters.pop(name) for name in _SWITCHES if name in parameters}
        if study:
            parameters["study"] = study
        predicted = parameters.pop("predicted_bytes", None)
        if predicted is not None:
            parameters["predicted_bytes"] = [int(size) for size in predicted.split(",")]
    return document | {"schema_version": 2}
