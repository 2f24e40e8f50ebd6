"""`--resume FILE`: an ended measurement is continued, with the options that its file names.

Law: nothing is written unless the file can be resumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from tinygram_bench.cli.measuring import Asked, measure_and_show
from tinygram_bench.measurement.anonymous import LEFT_OUT
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result

_FREE = ("resume", "quiet", "notes", "wait")
"""Options that do not change what is measured: their values are those of now, not of the file."""


class MeasuringCommand(TyperCommand):
    """A subcommand whose function returns what to measure (`Asked`), which is then measured.

    With `--resume FILE` its options are those of the file.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand. Raises UsageError where the file cannot be resumed."""
        file = ctx.params.get("resume")
        if file is not None:
            ctx.params = self._resumed(ctx, Path(file))
        asked = super().invoke(ctx)
        return measure_and_show(asked) if isinstance(asked, Asked) else asked

    def _resumed(self, context: Any, file: Path) -> dict[str, Any]:
        told = self._told(context, file)
        given = {
            name: value
            for name, value in context.params.items()
            if context.get_parameter_source(name).name == "COMMANDLINE"
        }
        if "json" in given:
            raise UsageError(
                f"--json cannot be combined with --resume: the result stays in {file}; leave "
                "out --json"
            )
        options = {each.name: each.opts[0] for each in self.params if each.name is not None}
        other = [
            options[name]
            for name, value in given.items()
            if name not in _FREE and value != told[name]
        ]
        if other:
            raise UsageError(
                f"{', '.join(other)}: {file} was measured with another value, by "
                f"`{_command_of(store.load(file))}`, and is resumed with the same options; leave "
                "out the others, or start a new measurement without --resume"
            )
        return {**told, "json": None, **{name: context.params[name] for name in _FREE}}

    def _told(self, context: Any, file: Path) -> dict[str, Any]:
        earlier = store.load(file)
        program, workload, *words = (*earlier.command, "", "")[: max(2, len(earlier.command))]
        if (program, workload) == ("tinygram", "rerun"):
            raise UsageError(
                f"{file} was measured by `tinygram rerun`, which does not go on: measure its plan "
                f"from the start with `tinygram rerun {file}`"
            )
        if (program, workload) != ("tinygram", context.info_name):
            raise UsageError(
                f"{file} was measured by `{program} {workload}`: resume it by that, not by "
                f"`tinygram {context.info_name}`"
            )
        if any(LEFT_OUT in word for word in words):
            raise UsageError(
                f"{file} cannot be resumed: it is anonymous, and leaves out options that it was "
                f"measured with (`{_command_of(earlier)}`); start a new measurement"
            )
        try:
            told = self.make_context(workload, words, parent=context.parent)
        except typer.TyperException as error:
            raise UsageError(
                f"{file} cannot be resumed: this tinygram does not take its options "
                f"`{_command_of(earlier)}`: {error.format_message()}"
            ) from error
        params: dict[str, Any] = told.params
        return params


def _command_of(result: Result) -> str:
    return " ".join(result.command)
