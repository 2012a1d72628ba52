"""The audit of a run: every byte of its results, and every number that follows from others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fedmgda
from fedmgda._errors import DataError
from fedmgda._files import file_digest, is_there
from fedmgda.experiments._audit import NOT_COVERED, Audit, Finding, verdict_of
from fedmgda.experiments._environment import environment
from fedmgda.experiments._folder_files import (
    CLIENTS,
    DONE,
    MODEL,
    NODES,
    PREDICTIONS,
    SPEC,
    SUMMARY,
    read_named,
)
from fedmgda.experiments._parse import parse
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._records import EVALUATIONS, GRAM, ROUNDS, gram_places
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._toml import parse_toml
from fedmgda.experiments._validation import last_round
from fedmgda.experiments._verify_bytes import (
    chain_proved,
    check_chain,
    check_digests,
    check_gram_places,
    check_spec,
    no_digests,
)
from fedmgda.experiments._verify_folder import Folder, Ledger, read_folder
from fedmgda.experiments._verify_predictions import check_predictions
from fedmgda.experiments._verify_results import (
    Results,
    check_clients,
    check_evaluations,
    check_summary,
)
from fedmgda.experiments._verify_rounds import check_rounds
from fedmgda.experiments._verify_setup import attackers, round_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.experiments._environment import Environment

__all__ = ["verify"]


def verify(path: Path | str) -> Audit:
    """Audit a run folder: prove what can be proved of it, and say what cannot.

    Nothing is trained, written, or imported that the spec names, and torch is not needed.

    Args:
        path: The folder of a run, be it finished, running or stopped, of any format.

    Raises:
        DataError: If there is no run in it.
    """
    place, ledger = Path(path), Ledger()
    content = ledger.attempt(SPEC, lambda: read_named(place, SPEC))
    if content is None and not ledger.findings:
        open_run(place)  # which says what is there instead
        raise DataError(f"{place} holds no run.")
    text = content or b""
    spec = ledger.attempt(SPEC, lambda: parse(Spec, parse_toml(text, place / SPEC)))
    if spec is None or content is None:
        return _audit(place, ledger, None)
    with np.errstate(all="ignore"):  # whatever numbers are there, what is wrong is a finding
        folder = read_folder(place, spec, ledger)
        _look_at_bytes(folder, content, ledger)
        ledger.attempt(ROUNDS, lambda: _look_at_rounds(folder, ledger))
        ledger.attempt(EVALUATIONS, lambda: _look_at_evaluations(folder, ledger))
        if folder.finished:
            _look_at_results(folder, ledger)
    return _audit(place, ledger, folder)


def _audit(place: Path, ledger: Ledger, folder: Folder | None) -> Audit:
    finished = folder is not None and folder.finished
    rounds = 0 if folder is None else len(folder.rounds[0])
    return Audit(
        path=str(place),
        verified=not any(finding.standing == "wrong" for finding in ledger.findings),
        verdict=verdict_of(ledger.findings, finished=finished, rounds=rounds),
        state="finished" if finished else "unfinished",
        format=None if folder is None else folder.environment.format,
        rounds=rounds,
        findings=tuple(ledger.findings),
        not_covered=(*([NODES] if is_there(place / NODES) else []), *NOT_COVERED),
    )


def _look_at_bytes(folder: Folder, content: bytes, ledger: Ledger) -> None:
    """Spec, digests and chains."""
    done, written, environment = folder.done, folder.written, folder.environment
    ledger.add(check_spec(content, written, environment, done))
    if done is None:
        ledger.add(no_digests(finished=folder.finished))
    else:
        ledger.add(
            ledger.attempt(DONE, lambda: check_digests(folder.path, written, environment, done))
        )
    rounds, evaluations = folder.rounds[0], folder.evaluations[0]
    made, rated = _expected(folder)
    if not folder.finished:
        made, rated = made[: len(rounds)], rated[: len(evaluations)]
    wrong = [
        check_chain(ROUNDS, rounds, folder.rounds[1], made),
        check_chain(EVALUATIONS, evaluations, folder.evaluations[1], rated),
        ledger.attempt(GRAM, lambda: _gram_places(folder)),
    ]
    ledger.add(*wrong)
    if not any(wrong):
        ledger.add(chain_proved(rounds, evaluations, finished=folder.finished))


def _gram_places(folder: Folder) -> Finding | None:
    found = file_digest(folder.path / GRAM, 0)
    size = 0 if found is None else found[1]
    places = [
        (number, place)
        for number, row in enumerate(folder.rounds[0], 1)
        for place in gram_places([row])
    ]
    return check_gram_places(places, size if folder.finished else -1)


def _expected(folder: Folder) -> tuple[Sequence[int], Sequence[int]]:
    """Return the rounds that the lines of a finished run's records are about."""
    spec = folder.spec
    if spec.baseline == "alone":
        return [], [0, spec.rounds]
    rounds, is_due = folder.rounds[0], spec.evaluation.is_due
    ended = last_round(spec, folder.evaluations[0], rounds)
    # Of a spec that asks for more rounds than there are, no more is made than they have.
    looked_at = min(ended, len(rounds))
    return range(1, ended + 1), [n for n in range(looked_at + 1) if is_due(n, spec.rounds)]


def _look_at_rounds(folder: Folder, ledger: Ledger) -> None:
    rows = folder.rounds[0]
    if not rows or folder.sizes is None or not folder.num_clients:
        return
    train_sizes = folder.sizes["train"]
    facts = round_facts(folder.spec, train_sizes, folder.names, folder.precision, folder.grams)
    ledger.add(*check_rounds(facts, rows))


def _look_at_evaluations(folder: Folder, ledger: Ledger) -> None:
    ledger.add(*check_evaluations(folder.evaluations[0], attackers(folder.spec), folder.sizes))


def _look_at_results(folder: Folder, ledger: Ledger) -> None:
    """The model, and what is made of the records at the end."""
    evaluations, sizes, summary = folder.evaluations[0], folder.sizes, folder.summary
    if not evaluations or sizes is None or summary is None:
        return
    results = Results(
        spec=folder.spec,
        rounds=folder.rounds[0],
        evaluations=evaluations,
        malicious=attackers(folder.spec),
        sizes=sizes,
        target_sums=folder.target_sums,
        names=folder.names,
        encoder=folder.encoder,
        predictions=folder.predictions,
        num_buffers=folder.num_buffers,
        gram=folder.gram,
        cone_gram=folder.cone_gram,
        same_code=lambda: _same_code(folder.environment),
    )
    ledger.add(ledger.attempt(MODEL, lambda: _check_model(folder, results.model_round)))
    if folder.predictions is not None:
        ledger.add(ledger.attempt(PREDICTIONS, lambda: check_predictions(results)))
    clients = folder.clients
    if clients is not None:
        ledger.add(ledger.attempt(CLIENTS, lambda: check_clients(results, clients)))
    ledger.attempt(SUMMARY, lambda: ledger.add(*check_summary(results, summary)))


def _same_code(written: Environment) -> bool:
    """Tell whether a run was written by the code that is here, as far as that is told."""
    here = environment(0)
    version = (written.packages or {}).get("fedmgda")
    return version == fedmgda.__version__ and written.commit == here.commit


def _check_model(folder: Folder, round_num: int) -> Finding | None:
    """Look at the model: finite numbers, and the digest in the record of a protected round."""
    if folder.model is None:
        return None
    count = sum(array.size for array in folder.model.values())
    by, why = f"{count} finite numbers in {len(folder.model)} tensors", ""
    if not all(np.isfinite(array).all() for array in folder.model.values()):
        why = "it is not finite"
    steps = [row.protection for row in folder.rounds[0] if row.round_num <= round_num]
    digests = [step.model for step in steps if step is not None]
    if digests:
        found = file_digest(folder.path / MODEL)
        by += f", the sha256 of round {round_num}"
        if found is None or found[0] != digests[-1]:
            why = why or f"its sha256 is not that of the model after round {round_num}"
    if why:
        return Finding(claim="the model", standing="wrong", place=MODEL, by=why)
    return Finding(claim="the model", standing="proved", by=by, checked=count)
