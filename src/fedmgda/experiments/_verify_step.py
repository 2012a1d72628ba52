"""λ and its evidence in one round, computed again from norms, losses and the Gram matrix."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.experiments._audit import FAULTS, Tally
from fedmgda.experiments._recorded import RecordedUpdates
from fedmgda.experiments._records import GRAM
from fedmgda.rules import AFL, FedAvg, FedMGDA, weigh_again
from fedmgda.values import NO_DIRECTION, is_no_direction, rounding_of_products

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fedmgda._types import Flags, RuleState, Vector
    from fedmgda.experiments._audit import Finding
    from fedmgda.experiments._rows import Gram, RoundRow
    from fedmgda.rules import Rule
    from fedmgda.values import Cohort, Weighing

__all__ = ["OPTIMAL", "Precision", "StepCheck", "among", "first_place"]

OPTIMAL = 1e-9
"""Of the natural scale: the largest gap of what the solvers call optimal is a tenth of it."""

_SAME_LAM = 1e-9  # of a λ that is a formula, over the largest
_EXACT = 2.0**-36  # of products in float64, over the lengths of both: far above their rounding
_ROUGH = 1e-5  # of products over so many numbers that they are formed in float32
_MANY = 2e9  # m * m * d beyond which they are
_LARGEST = 1 << 31  # parameters of a model of which nothing is known
_ROUNDED = 2.0**-20  # of what was computed with a d in float32, with room
_BAND = 1e-4  # of a bound: nearer to it, rounding may have decided on which side a number lies
_TINY = 1e-300


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How exact the numbers of a record are.

    Attributes:
        num_params: d; None where nothing tells.
        num_buffers: How many numbers are running statistics; None where nothing tells.
        model_length: ‖w‖ of the trained model; None where there is none.
    """

    num_params: int | None
    num_buffers: int | None
    model_length: float | None

    def of_products(self, num_clients: int) -> float:
        """Return the error of ⟨g_i, g_j⟩ over ‖g_i‖ ‖g_j‖."""
        return _ROUGH if num_clients**2 * (self.num_params or 0) > _MANY else _EXACT

    def of_direction(self, norm: float, norms: Vector, summed: float) -> Vector:
        """Return by how much rounding can have moved ⟨g_i, d⟩: the engine's own bound."""
        # Of d no more is asked than its type and its length; this one takes no memory.
        direction = np.broadcast_to(np.float32(0.0), self.num_params or _LARGEST)
        return rounding_of_products(direction, norm, norms, summed)

    def of_judgement(self, bound: Vector) -> tuple[Vector, Vector]:
        """Return between which numbers the engine's bound lies: its last digits are not known."""
        if self.num_params is None:
            return np.zeros(len(bound)), bound
        return bound * (1.0 - _BAND), bound * (1.0 + _BAND)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """The numbers of a round that made a step, all there; `norms` are of format 2 only."""

    place: str
    row: RoundRow
    lam: Vector
    norm: float
    gap: float
    inner: Vector
    norms: Vector | None


@final
class StepCheck:
    """Whatever is claimed of λ and d, round after round."""

    def __init__(
        self, rule: Rule | None, no_rule: str, num_clients: int, precision: Precision
    ) -> None:
        """Take the rule that weighed, or why it is not known, and how exact numbers are."""
        self._rule, self._no_rule, self._precision = rule, no_rule, precision
        self._state: RuleState = {} if rule is None else rule.init(num_clients)
        self._gram = Tally("norms, Gram matrices")
        self._lam = Tally("λ")
        self._direction = Tally("‖d‖, ⟨g_i, d⟩")
        self._judged = Tally("sacrificed, stalled")
        self._counts = Counter[str]()

    def check(
        self,
        place: str,
        row: RoundRow,
        cohort: Cohort,
        gram: Gram | None,
        *,
        reported: bool,
    ) -> None:
        """Look at one round.

        Args:
            place: Its line.
            row: The round; its arrays are as long as its participants are many.
            cohort: The participants, with `RecordedUpdates`; NaN is what the record does not know.
            gram: What was kept of the Gram matrix.
            reported: Whether the losses of the cohort are known.
        """
        with np.errstate(all="ignore"):
            if gram is not None:
                self._look_at_gram(place, row, gram)
            step = self._step(place, row)
            if step is None:
                return
            least = float(step.inner.min())
            self._direction.check(row.min_inner == least, place, "min_inner is not the least")
            weighing = self._weigh(step, cohort, gram, reported=reported)
            if weighing is None:
                self._direction.miss(place, "it follows from λ, which is not checkable")
                return
            self._look_at_lam(step, weighing)
            bound = self._bound(step, weighing.weights)
            self._look_at_direction(step, weighing.weights, gram, bound)
            self._look_at_judgement(step, weighing, bound)

    def findings(self) -> Iterator[Finding]:
        """Yield what was found."""
        yield from self._gram.findings(
            "{checked} rounds: of real vectors, diagonals off by {norms}",
            "{checked} rounds: there is none to look at",
        )
        yield from self._lam.findings(
            "{checked} rounds: feasible, duality gap {gap} at most",
            "{checked} rounds: by the rule's formula, off by {lam}",
            "{checked} rounds: feasible",
        )
        yield from self._direction.findings(
            "{checked} rounds: by λ and Gram matrix, off by {inner}",
            "{checked} rounds: ‖d‖² = Σ w_i ⟨g_i, d⟩, off by {norm}",
            "{checked} rounds: the least of them is min_inner",
        )
        by = "{checked} rounds: dropped is whom the rule leaves out"
        if self._counts["judged"]:
            against, stalled = self._counts["sacrificed"], self._counts["stalled"]
            by = f"{against} of {{checked}} rounds sacrifice somebody, {stalled} stall"
        yield from self._judged.findings(by)

    def _look_at_gram(self, place: str, row: RoundRow, gram: Gram) -> None:
        """A Gram matrix is symmetric, has no negative eigenvalue, and ‖g_i‖² on its diagonal."""
        matrix, columns, norms = gram.matrix, gram.columns, row.norms
        if norms is None or not (np.isfinite(matrix).all() and np.isfinite(norms).all()):
            self._gram.check(False, place, "its norms and products are not all finite numbers")
            return
        tol, square = self._precision.of_products(len(norms)), matrix[columns]
        lengths, top = norms[columns], float(norms.max()) ** 2
        real = np.array_equal(square, square.T)
        real = real and np.linalg.eigvalsh(square)[0] >= -tol * len(columns) * top
        beyond = np.abs(matrix) > (1.0 + tol) * norms[:, None] * lengths
        self._gram.check(
            real and not beyond.any(), place, f"its matrix in {GRAM} is that of no vectors"
        )
        found = np.sqrt(np.maximum(np.diagonal(square), 0.0))
        error = np.abs(found - lengths)
        self._gram.measure("norms", float((error / np.maximum(lengths, _TINY)).max()))
        far = first_place(~(error <= tol * lengths))
        who = far or 0
        self._gram.check(
            far is None,
            place,
            f"‖g_i‖ of client {row.client_ids[columns[who]]} is {lengths[who]:.9g}, and "
            f"{GRAM} has {found[who]:.9g}",
        )

    def _step(self, place: str, row: RoundRow) -> _Step | None:
        """Return the numbers of a round, or None where it failed or lacks some."""
        facts = (row.min_inner, row.sacrificed, row.dropped)
        lam, norm, gap, inner = row.lam, row.norm, row.gap, row.inner
        if row.failed is not None:
            none = all(number is None for number in (lam, norm, gap, inner, *facts, row.stalled))
            self._lam.check(none, place, "the round failed, and has a λ")
            return None
        if lam is None or norm is None or gap is None or inner is None or None in facts:
            self._lam.check(False, place, "the round did not fail, and lacks λ or its evidence")
            return None
        return _Step(
            place=place, row=row, lam=lam, norm=norm, gap=gap, inner=inner, norms=row.norms
        )

    def _weigh(
        self, step: _Step, cohort: Cohort, gram: Gram | None, *, reported: bool
    ) -> Weighing | None:
        """Let the rule weigh once more; None where it cannot, or gets nowhere."""
        row, rule = step.row, self._rule
        missing = self._missing(row, reported=reported)
        if rule is None or missing:
            self._lam.miss(step.place, missing)
            if isinstance(rule, AFL):  # what it remembers is lost from here on
                self._rule, self._no_rule = None, missing
            return None
        updates = cohort.updates
        inner = None
        if gram is not None and isinstance(updates, RecordedUpdates):
            inner = updates.inner_of
        try:
            again = weigh_again(rule, cohort, step.lam, self._state, row.round_num, inner=inner)
        except FAULTS as error:
            self._lam.check(False, step.place, f"λ: {str(error).rstrip('.')}")
            return None
        if again is None:
            self._lam.miss(step.place, "the rule is code of its own")
            return None
        weighing, self._state = again
        return weighing

    def _missing(self, row: RoundRow, *, reported: bool) -> str:
        """Say what the record lacks for the rule to weigh once more."""
        rule = self._rule
        if rule is None:
            return self._no_rule
        if rule.reads_losses and not reported:
            return "the losses that the rule read were not written down"
        plain = isinstance(rule, AFL) or (isinstance(rule, FedAvg) and not rule.normalize)
        if row.norms is None and not plain:
            return "format 1 wrote no norms"
        centred = isinstance(rule, FedAvg | FedMGDA) and rule.center == "examples"
        return "format 1 wrote no num_examples" if row.num_examples is None and centred else ""

    def _look_at_lam(self, step: _Step, weighing: Weighing) -> None:
        """λ is what the formula gives; or it is feasible, and its gap is what was written."""
        place, row, rule = step.place, step.row, self._rule
        error, largest = np.abs(step.lam - weighing.lam), float(np.abs(weighing.lam).max())
        if not isinstance(rule, FedMGDA):
            self._lam.measure("lam", float(error.max()))
        far = first_place(~(error <= _SAME_LAM * largest))
        who = far or 0
        self._lam.check(
            far is None,
            place,
            f"λ of client {row.client_ids[who]} is {step.lam[who]:.9g}, and the rule gives "
            f"{weighing.lam[who]:.9g}",
        )
        if np.isnan(weighing.gap):
            self._lam.miss(place, "no Gram matrix was kept, so no duality gap")
            return
        top = 1.0
        if isinstance(rule, FedMGDA) and not rule.normalize and step.norms is not None:
            top = max(float(step.norms.max()) ** 2, _TINY)
        if isinstance(rule, FedMGDA):
            self._lam.measure("gap", weighing.gap / top)
            self._lam.check(
                weighing.gap <= OPTIMAL * top,
                place,
                f"λ is not the minimum: its duality gap is {weighing.gap / top:.3g}",
            )
        self._lam.check(
            abs(step.gap - weighing.gap) <= self._precision.of_products(len(step.lam)) * top,
            place,
            f"the duality gap of λ is {weighing.gap:.3g}, and {step.gap:.3g} was written",
        )

    def _bound(self, step: _Step, weights: Vector) -> Vector:
        """Return by how much rounding can have moved ⟨g_i, d⟩, of shape `(m,)`."""
        if step.norms is None:  # of format 1
            return _ROUNDED * np.abs(step.inner)
        summed = float(np.abs(weights) @ step.norms)
        return self._precision.of_direction(step.norm, step.norms, summed)

    def _look_at_direction(
        self, step: _Step, weights: Vector, gram: Gram | None, bound: Vector
    ) -> None:
        """⟨g_i, d⟩ is Σ w_j ⟨g_i, g_j⟩, and ‖d‖² is Σ w_i ⟨g_i, d⟩, up to the rounding of d."""
        place, square, norms = step.place, step.norm**2, step.norms
        size = np.zeros(len(weights)) if norms is None else norms * float(np.abs(weights) @ norms)
        tolerance = bound + self._precision.of_products(len(weights)) * size
        error = abs(square - float(weights @ step.inner))
        self._direction.measure("norm", error / max(square, _TINY) if square else error)
        self._direction.check(
            error <= _ROUNDED * square + float(np.abs(weights) @ tolerance),
            place,
            f"‖d‖ is {step.norm:.9g}, which Σ w_i ⟨g_i, d⟩ does not give",
        )
        if gram is None or norms is None:
            self._direction.miss(place, "no Gram matrix was kept for ⟨g_i, d⟩")
            return
        found = RecordedUpdates(norms, gram).inner_of(weights)
        off = np.abs(found - step.inner)
        self._direction.measure("inner", float((off / np.maximum(size, _TINY)).max()))
        far = first_place(~(off <= tolerance))
        who = far or 0
        self._direction.check(
            far is None,
            place,
            f"⟨g_i, d⟩ of client {step.row.client_ids[who]} is {step.inner[who]:.9g}, and λ with "
            f"{GRAM} gives {found[who]:.9g}",
        )

    def _look_at_judgement(self, step: _Step, weighing: Weighing, bound: Vector) -> None:
        """Who was dropped, whether the round stalled, and who is sacrificed."""
        place, row, norms = step.place, step.row, step.norms
        self._judged.check(
            row.dropped == weighing.dropped, place, "dropped is not whom the rule leaves out"
        )
        if norms is None:
            self._judged.miss(place, "format 1 wrote no norms")
            return
        self._counts.update(judged=1, sacrificed=bool(row.sacrificed), stalled=bool(row.stalled))
        summed = float(np.abs(weighing.weights) @ norms)
        edge = NO_DIRECTION * summed
        sure = abs(step.norm - edge) > _BAND * edge or edge == 0.0
        stalled = is_no_direction(step.norm, summed)
        self._judged.check(
            row.stalled in {None, stalled} or not sure, place, "stalled does not follow from ‖d‖"
        )
        least, most = self._precision.of_judgement(bound)
        must, may = ~(step.inner >= -most), ~(step.inner >= -least)
        named = among(row.client_ids, row.sacrificed or ())
        if row.stalled is None:  # of versions that knew no stalls, and counted what they were
            must, may = np.zeros(len(named), dtype=bool), step.inner < 0.0
        right = not named.any() if row.stalled else not (must & ~named | named & ~may).any()
        self._judged.check(
            right and set(row.sacrificed or ()) <= set(row.client_ids),
            place,
            "sacrificed does not follow from ⟨g_i, d⟩",
        )


def among(client_ids: Sequence[int], some: Collection[int]) -> Flags:
    """Tell which clients are among some."""
    known = set(some)
    return np.array([client in known for client in client_ids], dtype=bool)


def first_place(wrong: Flags) -> int | None:
    """Return the place of the first that is wrong."""
    places = np.flatnonzero(wrong)
    return int(places[0]) if len(places) else None
