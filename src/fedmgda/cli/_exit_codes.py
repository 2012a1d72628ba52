"""Every code a command ends with: what it means, when it comes, what to do then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._errors import (
    DataError,
    FederationStalledError,
    FedmgdaError,
    LockedError,
    MissingDependencyError,
    SpecError,
    StoreError,
    ZeroUpdateError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXIT_CODES", "NOT_LEARNED", "ExitCode"]

NOT_LEARNED = 9
"""What `--strict` ends with unless a run is shown to have learned."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """A code; texts have code in backticks.

    Attributes:
        code: The number.
        meaning: What it says.
        example: When it comes.
        remedy: What to do; empty if there is nothing to do.
        error: The exception that has it from Python, if there is one.
    """

    code: int
    meaning: str
    example: str
    remedy: str = ""
    error: type[FedmgdaError] | None = None


def _of(error: type[FedmgdaError], meaning: str, example: str, remedy: str) -> ExitCode:
    code = error.exit_code
    return ExitCode(code=code, meaning=meaning, example=example, remedy=remedy, error=error)


EXIT_CODES: Mapping[int, ExitCode] = {
    code.code: code
    for code in (
        ExitCode(
            code=0,
            meaning="done",
            example="`fedmgda demo` printed its table; a protected run that ended as stationary",
        ),
        _of(
            FedmgdaError,
            "a failure with no code of its own",
            "an unexpected failure; a traceback follows if it is a fault of the program; on "
            "Flower, a ServerApp or a SuperLink that was killed (the same command goes on)",
            "report it with the command and the output",
        ),
        _of(
            SpecError,
            "a specification, an override or an argument is not valid",
            "`fedmgda run spec.toml -c rule.epsilon=1.5`; a spec that names code, with `--no-code`",
            "correct the value; for a misspelt key the sentence names the nearest valid one",
        ),
        _of(
            DataError,
            "input data or an input file is missing or unusable",
            "`fedmgda run missing.toml`",
            "check the path, or fetch the data again",
        ),
        _of(
            StoreError,
            "a run folder or a checkpoint cannot be read or written, or is not what was written",
            "`fedmgda run spec.toml --out` a read-only folder; the disk is full; a result differs "
            "from its digest in `DONE`; `fedmgda verify RUN` finds something wrong, or `resume` an "
            "edited record",
            "choose another folder, free space, correct its permissions, or do what the sentence "
            "says",
        ),
        _of(
            LockedError,
            "another process is working in the run folder",
            "`fedmgda resume RUN` while RUN is being trained",
            "wait for the process named in the sentence, or end it",
        ),
        _of(
            FederationStalledError,
            "too many rounds in a row (`engine.max_failed_rounds`) had no usable update; on "
            "Flower, too few nodes joined within `engine.client_timeout`, or a SuperLink did not "
            "take a node",
            "every client sends NaN because `client_lr` is far too large; on Flower, a node that "
            "was not started, or whose key nobody registered",
            "read the reasons in `rounds.jsonl`, correct the cause, and start again; on Flower, "
            "look at the nodes that the sentence does not name",
        ),
        _of(
            MissingDependencyError,
            "an optional package is needed and not installed",
            "a command that trains, without torch",
            "run the install command in the sentence",
        ),
        _of(
            ZeroUpdateError,
            "a client sent a zero update and the policy is `error`",
            "`-c rule.zero_update=error` with a client whose model no longer moves",
            "use `drop` or `stall`",
        ),
        ExitCode(
            code=NOT_LEARNED,
            meaning="the run ended, and its verdict is that it diverged, stood still, did not "
            "learn, or may have learned within chance; only with `--strict`",
            example="`fedmgda run spec.toml --strict -c clients.client_lr=300`",
            remedy="change what the last line says",
        ),
        ExitCode(
            code=130,
            meaning="interrupted from the keyboard (SIGINT)",
            example="Ctrl-C during `fedmgda run`",
            remedy="the folder is whole: `fedmgda resume RUN`; on Flower the same command again",
        ),
        ExitCode(
            code=143,
            meaning="asked to end (SIGTERM)",
            example="a batch system stops the job",
            remedy="the folder is whole: `fedmgda resume RUN`; on Flower the same command again",
        ),
    )
}
"""All of them, in order; docs/exit-codes.md is made of this."""
