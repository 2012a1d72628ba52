"""What the model says of every test row, held against the evaluation of that model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments._audit import Finding
from fedmgda.experiments._class_weights import known_weights
from fedmgda.experiments._client_losses import by_client
from fedmgda.experiments._folder_files import PREDICTIONS
from fedmgda.experiments._verify_step import first_place

if TYPE_CHECKING:
    from fedmgda._types import Vector
    from fedmgda.experiments._rows import RowPredictions
    from fedmgda.experiments._verify_results import Results

__all__ = ["check_predictions"]

_SAME_MEAN = 1e-4  # of a mean loss: rows are kept in float32, and were evaluated in it
_SAME_SHARE = 1e-9
_SAME_ROW = 1e-3  # of a loss that a probability in float32 tells


def check_predictions(results: Results) -> Finding:
    """Hold the single test rows against the losses and accuracies of the evaluation."""
    assert results.predictions is not None  # noqa: S101 (the caller looks)
    found, row = results.predictions[1], results.judged
    if not results.model_evaluated:
        by = "the last model was not evaluated, by evaluation.last"
        return Finding(claim=PREDICTIONS, standing="not checkable", by=by)
    ids = np.array(row.client_ids)
    failed = {failure.client_id for failure in row.failures}
    known = np.array([client not in failed for client in row.client_ids])
    counts, shares, _ = by_client(found.clients, found.predictions == found.targets, ids)
    if not np.array_equal(counts[known], row.num_examples[known]):
        return _wrong("its rows are not the test examples of the clients")
    if (reason := _odd_row(found)) is not None:
        return _wrong(reason)
    tested = known & (counts > 0)
    worst = 0.0
    weights, comparable = _weights(results)
    if comparable:
        factors = 1.0 if weights is None else weights[found.targets]
        _, means, _ = by_client(found.clients, found.losses.astype(np.float64) * factors, ids)
        error = np.abs(means - row.losses) / np.maximum(np.abs(row.losses), 1.0)
        both = tested & ~(np.isnan(means) & np.isnan(row.losses))
        if (far := first_place(both & ~(error <= _SAME_MEAN))) is not None:
            return _wrong(
                f"the rows of client {ids[far]} lose {means[far]:.6g} on average, and its "
                f"evaluation says {row.losses[far]:.6g}"
            )
        worst = float(error[both].max(initial=0.0))
    right = tested & np.isfinite(row.accuracies)
    if (far := first_place(right & ~(np.abs(shares - row.accuracies) <= _SAME_SHARE))) is not None:
        return _wrong(
            f"{shares[far]:.6g} of the rows of client {ids[far]} are right, and its evaluation "
            f"says {row.accuracies[far]:.6g}"
        )
    by = f"{len(found.rows)} rows give the losses of the evaluation, off by {worst:.1g}"
    return Finding(
        claim=PREDICTIONS,
        standing="proved",
        by=by if comparable else f"{len(found.rows)} rows, as many as the clients have",
        checked=len(found.rows),
        numbers={"mean_loss": worst},
    )


def _weights(results: Results) -> tuple[Vector | None, bool]:
    """Return the weights of the classes, and whether the losses of rows are those of clients."""
    clients = results.spec.clients
    if clients.loss is not None:
        return None, False
    if clients.class_weights is None:
        return None, True
    if results.target_sums is None:
        return None, False
    return known_weights(results.spec, results.target_sums, results.class_names), True


def _odd_row(found: RowPredictions) -> str | None:
    """Say what a row contradicts in itself."""
    probabilities = found.probabilities
    if probabilities is None or not len(found.rows):
        return None
    n, k = probabilities.shape
    places = np.arange(n)
    if max(found.targets.max(), found.predictions.max()) >= k:
        return f"it names classes beyond the {k} that have a probability"
    with np.errstate(all="ignore"):
        own = probabilities[places, found.targets].astype(np.float64)
        off = np.abs(found.losses + np.log(own)) / np.maximum(np.abs(found.losses), 1.0)
        sums = probabilities.astype(np.float64).sum(axis=1)
    told = np.isfinite(found.losses) & (own > 1e-30)
    finite = np.isfinite(probabilities).all(axis=1)
    if (far := first_place(told & ~(off <= _SAME_ROW))) is not None:
        return f"the loss of row {found.rows[far]} is not that of its probability"
    if (far := first_place(finite & ~(np.abs(sums - 1.0) <= _SAME_ROW))) is not None:
        return f"the probabilities of row {found.rows[far]} do not sum to one"
    likeliest = probabilities[places, found.predictions] >= probabilities.max(axis=1)
    if (far := first_place(finite & ~likeliest)) is not None:
        return f"the prediction of row {found.rows[far]} is not its likeliest class"
    return None


def _wrong(why: str) -> Finding:
    return Finding(claim=PREDICTIONS, standing="wrong", place=PREDICTIONS, by=why)
