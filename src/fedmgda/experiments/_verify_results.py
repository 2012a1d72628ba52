"""What a run is remembered by, made again from its records: evaluations, clients, summary."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._json import encode
from fedmgda.experiments._audit import Finding, Tally
from fedmgda.experiments._evidence import Evidence
from fedmgda.experiments._folder_files import CLIENTS, PREDICTIONS, SUMMARY
from fedmgda.experiments._judge import judge
from fedmgda.experiments._measure import client_results, evaluation_row, summarize
from fedmgda.experiments._protection import protection_summary
from fedmgda.experiments._records import EVALUATIONS
from fedmgda.experiments._same_values import difference
from fedmgda.experiments._scores import with_metrics
from fedmgda.federation import selected_round
from fedmgda.values import ClientFacts, Evaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fedmgda._types import Indices, Split, Vector
    from fedmgda.experiments._rows import (
        ClientResult,
        EvaluationRow,
        Gram,
        MetricsSummary,
        RoundRow,
        RowPredictions,
        Summary,
    )
    from fedmgda.experiments._spec import Spec

__all__ = ["Results", "check_clients", "check_evaluations", "check_summary"]

_WORDS = ("headline", "sentences", "hints")  # of a verdict


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """What the results of a finished run are made again from.

    Attributes:
        spec: The spec as it is carried out, its clients by number.
        rounds: The rounds.
        evaluations: The evaluations.
        malicious: The clients that attack; None where nobody knows them by number.
        sizes: How many examples each client has, by split.
        target_sums: Sums of the training targets, where they are known.
        names: What the clients are called, where they have names.
        encoder: How rows become features, as plain JSON, where that was kept.
        predictions: What the model says of every test example, where it was kept: as bytes, and
            as they were read.
        num_buffers: How many numbers of the model are running statistics.
        gram: From the number of a round to what was kept of its Gram matrix.
        cone_gram: Likewise, of that of the unit gradients.
        same_code: Tells whether the code that is here wrote the run.
    """

    spec: Spec
    rounds: Sequence[RoundRow]
    evaluations: Sequence[EvaluationRow]
    malicious: tuple[int, ...] | None
    sizes: Mapping[Split, Indices]
    target_sums: Vector | None
    names: tuple[str, ...] | None
    encoder: Mapping[str, Any] | None
    predictions: tuple[bytes, RowPredictions] | None
    num_buffers: int
    gram: Callable[[int], Gram | None]
    cone_gram: Callable[[int], Gram | None]
    same_code: Callable[[], bool]

    @property
    def judged(self) -> EvaluationRow:
        """The evaluation of the model that is kept, or the last where that was not evaluated."""
        kept, last = self.model_round, self.evaluations[-1]
        return next((row for row in self.evaluations if row.round_num == kept), last)

    @property
    def model_round(self) -> int:
        """The round of the model that is kept: the selected one, or the last."""
        spec = self.spec
        if spec.baseline == "alone":
            return spec.rounds
        measure = spec.evaluation.measure
        if measure is None:
            return len(self.rounds)
        return selected_round(self._scores(), measure, spec.evaluation.patience)[0]

    @property
    def model_evaluated(self) -> bool:
        """Whether the model that is kept was evaluated: by `evaluation.last`, the last may not."""
        return self.judged.round_num == self.model_round

    @property
    def metrics_known(self) -> bool:
        """Whether the metrics that the spec asks for follow from what was kept."""
        if self.spec.evaluation.metrics is None:
            return True
        found = self.predictions
        return found is not None and (_is_regression(found[1]) or self.target_sums is not None)

    def _scores(self) -> Iterator[tuple[int, float]]:
        for row in self.evaluations:
            score = row.validation_score
            yield row.round_num, math.nan if score is None else score

    def made_again(self) -> tuple[Summary, tuple[ClientResult, ...]]:
        """Return the summary, without a verdict, and the table of clients."""
        row, rounds = self.judged, self.rounds
        summary = replace(
            summarize(rounds, row, self.names), protection=protection_summary(self.spec, rounds)
        )
        table = client_results(rounds, row, self.sizes, self.names)
        if self.spec.baseline == "pooled":
            table = tuple(replace(client, rounds=len(rounds)) for client in table)
        if self.spec.evaluation.measure is not None and self.spec.baseline != "alone":
            summary = replace(
                summary,
                selected_round=row.round_num,
                validation_score=row.validation_score,
                stopped_early=len(rounds) < self.spec.rounds,
            )
        if self.predictions is None or not self.metrics_known:
            return summary, table
        content, found = self.predictions
        sums = self.target_sums
        facts = ClientFacts(
            sizes=self.sizes,
            fingerprint="",
            layout=(),
            num_classes=None if _is_regression(found) or sums is None else len(sums),
            class_names=self.class_names,
            encoder=self.encoder,
            target_sums=sums,
        )
        return with_metrics(self.spec, facts, content, summary, table)

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the classes are called, where that was kept."""
        names = (self.encoder or {}).get("class_names")
        return None if names is None else tuple(names)


def _is_regression(found: RowPredictions) -> bool:
    return found.predictions.dtype.kind == "f"


def check_evaluations(
    evaluations: Sequence[EvaluationRow],
    malicious: tuple[int, ...] | None,
    sizes: Mapping[Split, Indices] | None,
) -> Iterator[Finding]:
    """Make the summaries of all evaluations again from the numbers of their clients."""
    tally = Tally("evaluations")
    everyone = None if sizes is None else tuple(range(len(sizes["test"])))
    for number, row in enumerate(evaluations, 1):
        place = f"{EVALUATIONS}, line {number}"
        if everyone is not None and sizes is not None:
            same = row.client_ids == everyone and np.array_equal(row.num_examples, sizes["test"])
            tally.check(same, place, "its test examples are not those of the partition")
        if malicious is None:
            tally.miss(place, "who attacks is named, and no name is kept")
            continue
        found = evaluation_row(row.round_num, _evaluation(row), malicious)
        for name in ("honest", "all_users"):
            said = difference(encode(getattr(row, name)), encode(getattr(found, name)), name)
            tally.check(said is None, place, said or "")
    yield from tally.findings("{checked}: summaries over clients, made again")


def _evaluation(row: EvaluationRow) -> Evaluation:
    return Evaluation(
        client_ids=row.client_ids,
        losses=row.losses,
        accuracies=row.accuracies,
        num_examples=row.num_examples,
        failures=row.failures,
    )


def check_clients(results: Results, table: Sequence[ClientResult]) -> Finding:
    """Make the table of clients again."""
    _, found = results.made_again()
    if results.spec.baseline == "alone":  # in how many rounds each moved is written nowhere else
        found = tuple(
            replace(client, rounds=min(max(mine.rounds, 0), results.spec.rounds))
            for client, mine in zip(found, table, strict=False)
        )
    said = None if len(table) == len(found) else f"it has {len(table)} clients, not {len(found)}"
    for client, mine in zip(found, table, strict=False):
        written, expected = _cells(mine), _cells(client)
        if not results.metrics_known:
            written.pop("metrics")
        said = said or difference(written, expected, f"client {client.client_id}:")
    claim = CLIENTS
    if said is not None:
        return Finding(claim=claim, standing="wrong", place=CLIENTS, by=said)
    by = f"{len(table)} clients, made again from the records"
    return Finding(claim=claim, standing="proved", by=by, checked=len(table))


def _cells(client: ClientResult) -> dict[str, Any]:
    cells: dict[str, Any] = encode(client)
    if client.rounds_stalled is None:
        del cells["rounds_stalled"]
    if client.rounds_sacrificed is None:
        del cells["rounds_sacrificed"]
    return cells


def check_summary(results: Results, table: dict[str, Any]) -> Iterator[Finding]:
    """Make the summary again, and judge the run again.

    Args:
        results: What it is made from.
        table: What was written, as JSON says it.
    """
    found, _ = results.made_again()
    written = {key: value for key, value in table.items() if key != "verdict"}
    if not results.metrics_known:
        written.pop("metrics", None)
        by = f"{PREDICTIONS} was not kept"
        yield Finding(claim="metrics", standing="not checkable", by=by)
    elif found.metrics is not None and results.class_names is None:
        found = replace(found, metrics=_unnamed(found.metrics, written))
    said, odd = difference(written, encode(found)), None
    if said is None and isinstance(table.get("verdict"), dict):
        said, odd = _check_verdict(results, table["verdict"])
    if said is None and (keys := _other_keys(results, table, encode(found))):
        said = f"its records give {keys[0]}, or do not, and it says otherwise"
    if odd is not None:
        yield Finding(claim="the verdict", standing="not checkable", by=odd)
    if said is not None:
        yield Finding(claim=SUMMARY, standing="wrong", place=SUMMARY, by=said)
    else:
        by = f"made again of {len(results.rounds)} rounds, {len(results.evaluations)} evaluations"
        yield Finding(claim=SUMMARY, standing="proved", by=by, checked=1)


def _other_keys(results: Results, table: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the keys that only one of two summaries has, where the same code made both."""
    expected = set(found) | (set() if results.spec.baseline == "alone" else {"verdict"})
    unknown = set() if results.metrics_known else {"metrics"}
    other = sorted((expected ^ set(table)) - unknown)
    return other if other and results.same_code() else []


def _unnamed(metrics: MetricsSummary, written: dict[str, Any]) -> MetricsSummary:
    """Take the names of classes from what was written: numbers are kept, and names are not."""
    table = written.get("metrics") or {}
    names = [one.get("name") for one in table.get("classes") or ()]
    if len(names) != len(metrics.classes):
        return metrics
    known = tuple(replace(one, name=name) for one, name in zip(metrics.classes, names, strict=True))
    return replace(metrics, classes=known, positive=table.get("positive"))


def _check_verdict(results: Results, written: dict[str, Any]) -> tuple[str | None, str | None]:
    """Judge a run again; say what is wrong with its verdict, and what cannot be told of it."""
    found = encode(
        judge(
            Evidence(
                spec=results.spec,
                rounds=results.rounds,
                evaluations=results.evaluations,
                judged=results.judged,
                gram=results.gram,
                cone_gram=results.cone_gram,
                predictions=results.predictions[1] if results.predictions else None,
                target_sums=results.target_sums,
                names=results.names,
                class_names=results.class_names,
                num_buffers=results.num_buffers,
            )
        )
    )
    numbers = {key: value for key, value in written.items() if key not in _WORDS}
    words = {key: value for key, value in written.items() if key in _WORDS}
    said = difference(numbers, found, "verdict")
    if said is None:
        other = difference(words, found)
        return None, None if other is None else "this version words it otherwise"
    if results.same_code():
        return said, None
    return None, f"another version wrote it, and this one judges otherwise: {said}"
