"""The protected step: of the steps near the one a rule proposes, one that nobody's loss opposes.

1. The rule proposes z = η_t d.
2. The participants' gradients at w_t, as unit vectors u_i, say by ω = ‖min-norm point of the u_i‖
   how well a step can serve all of them; at ω = 0 they are Pareto stationary.
3. z is turned into the nearest z' with ⟨u_i, z'⟩ >= min(κ ω, 0.3) ‖z‖ for all i.
4. z' is shortened to s z', s = 1, ½, ¼, ..., until no participant's loss rises; if there is no such
   step the round is held: the model stays.

Float buffers move with z', s times as far. No gradient speaks of them, so that they alone may raise
a loss at every length: then the lengths are tried again with buffers that stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda._blas import blas_threads
from fedmgda._errors import SpecError
from fedmgda._types import Flags, Matrix
from fedmgda.minnorm import euclidean_norm, min_norm, min_norm_of_rows, nearest_in_cone
from fedmgda.values import Evaluation, short_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fedmgda._types import Vector
    from fedmgda.minnorm import ConeSolution, MinNormSolution
    from fedmgda.values import Cohort, Updates

__all__ = [
    "NO_SLOPE", "STATIONARY", "Protected", "Protection", "TrainingLosses", "margin_of", "protect",
]  # fmt: skip

NO_SLOPE = 1e-12
"""A gradient no longer than this has no direction, and gives no row of the cone."""

STATIONARY = 1e-6
"""Where ω is no larger, the participants are Pareto stationary."""

WIDEST_MARGIN = 0.3
"""The margin is at most this, as otherwise nothing would be left of a z that serves all."""

TrainingLosses: TypeAlias = Callable[[Matrix, tuple[int, ...]], Evaluation]
"""Given k models, of shape `(k, d + num_buffers)`, what some clients say of their losses."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """How a step is protected.

    Attributes:
        allow: How many participants a step may leave worse off: those that turn it most are left
            out of the cone. 0 leaves nobody worse off, and lets anybody stop a round.
        margin: κ, how far inside the cone a step must lie: 1 is as far as possible, 0 on its edge.
        trials: How many lengths of a step are tried, each half of the one before.
        patience: After so many held rounds in a row the run has come to its end.
    """

    allow: int = 0
    margin: float = 0.9
    trials: int = 12
    patience: int = 20

    def __post_init__(self) -> None:
        if self.allow < 0:
            raise ValueError(f"allow must be zero or positive, got {self.allow}.")
        if not 0.0 <= self.margin <= 1.0:
            raise ValueError(f"margin must lie in [0, 1], got {self.margin}.")
        for name in ("trials", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Protected:
    """What became of a step, over the m participants of a round, with the evidence.

    Attributes:
        gradient_norms: Of shape `(m,)`, ‖∇f_i(w_t)‖.
        gramian: Of shape `(m, m)`, ⟨u_i, u_j⟩; zero for who has no gradient.
        omega: ω over the participants in the cone; None where nobody is in it.
        omega_lam: Of shape `(m,)`, λ of that min-norm point: at ω = 0 the proof of stationarity.
        omega_gap: Its duality gap.
        margin: min(κ ω, 0.3).
        inner: Of shape `(m,)`, ⟨u_i, z⟩.
        multipliers: Of shape `(m,)`, v: z' = z + Σ v_i u_i.
        gap: The duality gap of v.
        violation: How far z' lies outside the cone: max over i of margin ‖z‖ - ⟨u_i, z'⟩, or 0.
        overridden: The clients that `allow` leaves out of the cone.
        step_norm: ‖z‖.
        turned_norm: ‖z'‖.
        scale: s; None where the round is held.
        opposed: For each length that was tried, the clients whose loss rose or is not known.
        other_opposed: Likewise of the attempts that came to nothing beside it: with another cone,
            where `allow` gives one, or with buffers that move or stay.
        buffers_stayed: Whether the step was made with float buffers that stay.
        before: Of shape `(m,)`, f_i(w_t) as the participants say it.
        after: Of shape `(m,)`, f_i(w_{t+1}) as they say it; None where the round is held.
        moved_norm: ‖Δ‖ for Δ = w_t - w_{t+1}, as it was really made.
        moved_inner: Of shape `(m,)`, ⟨u_i, Δ⟩.
        reason: Why the round is held: no step serves all ("stationary"), nobody's step is one that
            the model's numbers can hold ("unmoved"), or somebody's loss rose at every length
            ("opposed"). None where a step was made.
    """

    gradient_norms: Vector
    gramian: Matrix
    omega: float | None
    omega_lam: Vector
    omega_gap: float
    margin: float
    inner: Vector
    multipliers: Vector
    gap: float
    violation: float
    overridden: tuple[int, ...]
    step_norm: float
    turned_norm: float
    scale: float | None
    opposed: tuple[tuple[int, ...], ...]
    other_opposed: tuple[tuple[int, ...], ...]
    buffers_stayed: bool
    before: Vector
    after: Vector | None
    moved_norm: float
    moved_inner: Vector
    reason: Literal["stationary", "unmoved", "opposed"] | None

    @property
    def held(self) -> bool:
        """Whether the model stayed where it was."""
        return self.scale is None


def protect(
    protection: Protection,
    params: Vector,
    step: Vector,
    cohort: Cohort,
    losses: TrainingLosses,
    at_once: int = 1,
) -> tuple[Vector, Protected]:
    """Turn and shorten a step until no participant's loss rises; return the model after it.

    Args:
        protection: How.
        params: Of shape `(d + num_buffers,)`, w_t and the float buffers.
        step: Of that shape: z, and how the buffers would move.
        cohort: The participants, with their gradients and losses at w_t.
        losses: Asks them for their losses.
        at_once: How many lengths they are asked about in one exchange; which of them is taken does
            not depend on it.
    """
    if cohort.gradients is None or cohort.before is None:
        raise SpecError("A protected step needs gradients and losses at w_t, and none came back.")
    gradients, before = cohort.gradients, cohort.before
    d = gradients.num_columns
    with blas_threads(gradients.num_rows**2 * d):
        slopes = _Slopes.of(gradients, step[:d])
        aims = _aims(protection, slopes, cohort.client_ids)
    attempts = list[_Attempt]()
    for aim, stay in product(aims, (False, True) if step[d:].any() else (False,)):
        turned = step.astype(np.float64)
        turned[:d] += _turn(gradients, slopes.norms, aim.multipliers)
        if stay:
            turned[d:] = 0.0
        trials = () if aim.stationary else _trials(params, turned, protection.trials)
        search = _Search(protection.allow, cohort.client_ids, before, losses)
        found = search.first_accepted(trials, at_once)
        attempts.append(_Attempt(aim, stay, turned[:d], search, *found))
        if attempts[-1].model is not None:
            break
    made = attempts[-1] if attempts[-1].model is not None else attempts[0]
    aim, model = made.aim, made.model
    moved = params[:d].astype(np.float64) - (params if model is None else model)[:d]
    return params if model is None else model, Protected(
        gradient_norms=slopes.norms,
        gramian=slopes.gramian,
        omega=None if aim.omega is None else aim.omega.norm,
        omega_lam=aim.spread(aim.omega.lam if aim.omega else None),
        omega_gap=aim.omega.gap if aim.omega else 0.0,
        margin=aim.margin,
        inner=slopes.inner,
        multipliers=aim.multipliers,
        gap=aim.cone.gap if aim.cone else 0.0,
        violation=aim.cone.violation if aim.cone else 0.0,
        overridden=aim.overridden,
        step_norm=slopes.step_norm,
        turned_norm=euclidean_norm(made.turned),
        scale=made.scale,
        opposed=tuple(made.search.opposed),
        other_opposed=tuple(o for one in attempts if one is not made for o in one.search.opposed),
        buffers_stayed=made.model is not None and made.buffers_stay,
        before=before,
        after=made.after,
        moved_norm=euclidean_norm(moved),
        moved_inner=slopes.along(gradients, moved),
        reason=made.reason,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """The unit gradients u_i, by their products with each other and with z.

    Attributes:
        units: Of shape `(m, d)`, the u_i themselves, where they are many more than they are long.
    """

    norms: Vector
    gramian: Matrix
    inner: Vector
    step_norm: float
    units: Matrix | None

    @classmethod
    def of(cls, gradients: Updates, step: Vector) -> _Slopes:
        gramian, norms = gradients.normalized_gramian()
        flat = norms <= NO_SLOPE
        gramian = np.where(flat | flat[:, None], 0.0, gramian)
        vectors = short_vectors(gradients)
        units = None if vectors is None else vectors / np.where(flat, 1.0, norms)[:, None]
        slopes = cls(norms, gramian, np.zeros(len(norms)), euclidean_norm(step), units)
        slopes.inner[:] = slopes.along(gradients, step)
        return slopes

    def along(self, gradients: Updates, step: Vector) -> Vector:
        """Return ⟨u_i, step⟩; 0 for who has no u_i."""
        products, flat = gradients.inner(step), self.norms <= NO_SLOPE
        return np.where(flat, 0.0, products / np.where(flat, 1.0, self.norms))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Aim:
    """Where the step shall go.

    Attributes:
        inside: Of shape `(m,)`: who is in the cone.
        omega: The min-norm point of their u_i; None where nobody is in it.
        margin: min(κ ω, 0.3); 0 where they are stationary.
        cone: What turns z; None where nothing does.
        overridden: Whom `allow` leaves out.
    """

    inside: Flags
    omega: MinNormSolution | None
    margin: float
    cone: ConeSolution | None
    overridden: tuple[int, ...] = ()

    @property
    def stationary(self) -> bool:
        return self.omega is not None and self.omega.norm <= STATIONARY

    @property
    def multipliers(self) -> Vector:
        # A stationary cohort is not turned: its multipliers only say whom `allow` leaves out.
        wanted = self.cone is not None and not self.stationary
        return self.spread(self.cone.multipliers if wanted and self.cone else None)

    def spread(self, values: Vector | None) -> Vector:
        """Return values of who is in the cone as values of all participants."""
        result = np.zeros(len(self.inside))
        if values is not None:
            result[self.inside] = values
        return result


def _aims(protection: Protection, slopes: _Slopes, client_ids: tuple[int, ...]) -> list[_Aim]:
    """Return where the step may go, the first choice first.

    With `allow`, those that turn the step most are left out: nobody can turn it at will. If then no
    length is accepted, as when one of those in the cone opposes whatever is tried and one that was
    left out does too, the step that serves everybody has fewer against it.
    """
    whole = _cone(protection.margin, slopes, slopes.norms > NO_SLOPE)
    if not protection.allow or whole.cone is None:
        return [whole]
    turning = whole.spread(whole.cone.multipliers)
    order = sorted(range(len(turning)), key=lambda row: (-turning[row], client_ids[row]))
    leaving = [row for row in order[: protection.allow] if turning[row] > 0.0]
    if not leaving:
        return [whole]
    inside = whole.inside.copy()
    inside[leaving] = False
    overridden = tuple(client_ids[row] for row in leaving)
    return [replace(_cone(protection.margin, slopes, inside), overridden=overridden), whole]


def _cone(kappa: float, slopes: _Slopes, inside: Flags) -> _Aim:
    if not inside.any():
        return _Aim(inside, None, 0.0, None)
    gramian = slopes.gramian[np.ix_(inside, inside)]
    units = slopes.units
    omega = min_norm(gramian) if units is None else min_norm_of_rows(units[inside])
    margin = margin_of(omega.norm, kappa)
    cone = nearest_in_cone(gramian, slopes.inner[inside], margin * slopes.step_norm)
    return _Aim(inside, omega, margin, cone)


def margin_of(omega: float, kappa: float) -> float:
    """Return how far inside the cone a step must lie, over its length: 0 if ω is nothing.

    >>> margin_of(0.1, 0.5), margin_of(0.9, 1.0), margin_of(1e-9, 1.0)
    (0.05, 0.3, 0.0)
    """
    return min(kappa * omega, WIDEST_MARGIN) if omega > STATIONARY else 0.0


def _turn(gradients: Updates, norms: Vector, multipliers: Vector) -> Vector:
    """Return Σ v_i u_i, of shape `(d,)`."""
    if not multipliers.any():
        return np.zeros(gradients.num_columns)
    return gradients.combine(multipliers / np.where(multipliers > 0.0, norms, 1.0))


def _trials(params: Vector, turned: Vector, number: int) -> Iterator[tuple[float, Vector]]:
    """Yield s and w_t - s z', in the numbers of the model, until it is w_t itself."""
    start = params.astype(np.float64)
    for halvings in range(number):
        scale = 0.5**halvings
        with np.errstate(over="ignore", invalid="ignore"):
            trial = (start - scale * turned).astype(params.dtype)
        if np.array_equal(trial, params):
            return
        yield scale, trial


class _Search:
    """The search for the longest step that is accepted; remembers who opposed which."""

    def __init__(
        self, allow: int, client_ids: tuple[int, ...], before: Vector, losses: TrainingLosses
    ) -> None:
        self._allow, self._ids, self._before, self._ask = allow, client_ids, before, losses
        self.opposed: list[tuple[int, ...]] = []

    def first_accepted(
        self, trials: Iterable[tuple[float, Vector]], at_once: int
    ) -> tuple[Vector | None, float | None, Vector | None]:
        """Return model, s and losses of the first trial that is accepted, or nothing."""
        left = iter(trials)
        while asked := list(islice(left, at_once)):
            told = self._losses(np.array([trial for _, trial in asked]))
            for (scale, trial), after in zip(asked, told, strict=True):
                rose = ~(np.isfinite(after) & (after <= self._before))
                self.opposed.append(tuple(np.array(self._ids)[rose].tolist()))
                # A model of numbers that are none serves nobody, however many may be worse off.
                if int(rose.sum()) <= self._allow and np.isfinite(trial).all():
                    return trial, scale, after
        return None, None, None

    def _losses(self, models: Matrix) -> Matrix:
        """Return what each participant says of each model; NaN for who is gone."""
        told = np.full((len(models), len(self._ids)), np.nan)
        usable = np.isfinite(models).all(axis=1)
        if not usable.any():
            return told
        found = self._ask(models[usable], self._ids)
        failed = {failure.client_id for failure in found.failures}
        column = {client: place for place, client in enumerate(found.client_ids)}
        losses, asked = np.atleast_2d(found.losses), int(usable.sum())
        if column and losses.shape != (asked, len(found.client_ids)):
            raise SpecError(
                f"Asked for the losses of {asked} models, {len(found.client_ids)} participants "
                f"answered by an array of shape {np.shape(found.losses)}; a row for each model is "
                "needed, and in it a loss for each of client_ids."
            )
        for place, client in enumerate(self._ids):
            if client in column and client not in failed:
                told[usable, place] = losses[:, column[client]]
        return told


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """A way the step may go, and what came of it: a model, s and losses, or none of them."""

    aim: _Aim
    buffers_stay: bool
    turned: Vector
    search: _Search
    model: Vector | None
    scale: float | None
    after: Vector | None

    @property
    def reason(self) -> Literal["stationary", "unmoved", "opposed"] | None:
        """Why it came to nothing."""
        if self.model is not None:
            return None
        if self.aim.stationary:
            return "stationary"
        return "opposed" if self.search.opposed else "unmoved"
