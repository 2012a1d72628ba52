"""Protected rounds: ω, the cone's certificate and "no loss rose", computed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._text import counted
from fedmgda.experiments._audit import Tally
from fedmgda.experiments._recorded import RecordedUpdates
from fedmgda.experiments._records import GRAM
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.experiments._verify_step import OPTIMAL, among
from fedmgda.federation import NO_SLOPE, STATIONARY, margin_of
from fedmgda.minnorm import cone_certificate, min_norm, nearest_in_cone, slope_gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Flags, Vector
    from fedmgda.experiments._audit import Finding
    from fedmgda.experiments._rows import Gram, ProtectionRow, RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._verify_step import Precision

__all__ = ["ProtectionCheck"]

_ROUNDED = 1e-6  # of a sum of vectors in float32
_OF_THE_MODEL = 64 * 2.0**-24  # of ‖w‖: how far numbers in float32 can leave a step from s z'
_TINY = 1e-300
_TIE = 1e-6  # of the largest multiplier: nearer than this, rounding may choose who is overridden
_PER_CLIENT = ("gradient_norms", "omega_lam", "inner", "multipliers", "before", "moved_inner")
_REASONS = {None, "stationary", "unmoved", "opposed"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """A protected round whose parts fit together.

    Attributes:
        place: Its line.
        row: The round.
        step: What protection made of its step.
        gram: What was kept of the Gram matrix of the u_i.
        there: Of shape `(m,)`: who has a u_i.
        inside: Of shape `(m,)`: who is in the cone.
    """

    place: str
    row: RoundRow
    step: ProtectionRow
    gram: Gram | None
    there: Flags
    inside: Flags

    @property
    def whole(self) -> bool:
        """Whether the whole Gram matrix was kept."""
        return self.gram is not None and self.gram.matrix.shape[0] == self.gram.matrix.shape[1]

    def products(self, weights: Vector) -> Vector:
        """Return ⟨u_i, Σ w_j u_j⟩."""
        return RecordedUpdates(np.ones(len(weights)), self.gram).inner_of(weights)


@final
class ProtectionCheck:
    """Whatever is claimed of protected steps, round after round."""

    def __init__(self, spec: Spec, malicious: tuple[int, ...] | None, precision: Precision) -> None:
        """Take the spec, who attacks, and how exact numbers are."""
        protect = spec.server.protect
        self._spec = protect if isinstance(protect, ProtectSpec) else None
        self._malicious, self._precision = malicious, precision
        self._ways = 1 if precision.num_buffers == 0 else 2  # running statistics move, or stay
        self._model: str | None = None  # the digest after the last round
        self._omega = Tally("ω, the margin")
        self._cone = Tally("the turned step")
        self._losses = Tally("losses that rose")
        self._moved = Tally("the step made")
        self._steps = self._held = 0
        self._least: float | None = None  # of ⟨u_i, Δ⟩ / ‖Δ‖ of whom the cone holds

    def check(self, place: str, row: RoundRow, gram: Gram | None) -> None:
        """Look at one round; its own arrays are as long as its participants are many."""
        step, spec = row.protection, self._spec
        wanted = spec is not None and row.failed is None
        held = step is not None and step.scale is None
        if wanted != (step is not None) or bool(row.held) != held:
            self._losses.check(False, place, "held and protection are not what spec and s say")
            return
        if step is None or spec is None:
            return
        if not self._losses.check(
            _is_whole(row, step, spec, self._ways),
            place,
            "the parts of its protection do not fit together",
        ):
            return
        there = step.gradient_norms > NO_SLOPE
        inside = there & ~among(row.client_ids, step.overridden)
        about = _Round(place, row, step, gram, there, inside)
        with np.errstate(all="ignore"):
            self._look_at_omega(about, spec)
            self._look_at_cone(about)
            self._look_at_overridden(about, spec)
            self._look_at_losses(about, spec)
            self._look_at_truth(about)
            self._look_at_move(about)
        self._held += held
        self._steps += not held
        self._model = step.model

    def findings(self) -> Iterator[Finding]:
        """Yield what was found."""
        yield from self._omega.findings(
            "{checked} rounds: duality gap of ω {gap} at most",
            "{checked} rounds: the margin is that of ω",
        )
        yield from self._cone.findings(
            "{checked} rounds: nearest in the cone, gap {gap}, out by {violation}",
            "{checked} rounds: ‖z‖ is η_t ‖d‖",
        )
        allow = self._spec.allow if self._spec else 0
        how_many = f"at most {allow} in each of" if allow else "none in"
        steps, held = counted(self._steps, "step"), counted(self._held, "round")
        by = f"{how_many} {steps}, they say; {held} held"
        yield from self._losses.findings(by if self._spec else "nothing is protected")
        by = "{checked} rounds: the digests of the models"
        if self._least is not None:
            by = f"{{checked}} rounds: ‖Δ‖, model digests; ⟨u_i, Δ⟩ >= {self._least:.0e} ‖Δ‖"
        yield from self._moved.findings(by)

    def _look_at_omega(self, about: _Round, spec: ProtectSpec) -> None:
        """ω is the least length in the hull of the u_i, by its λ; the margin follows from it."""
        place, omega, lam = about.place, about.step.omega, about.step.omega_lam
        inside = about.inside
        if omega is None or not inside.any():
            right = omega is None and not inside.any() and not lam.any()
            self._omega.check(right, place, "ω is missing, or is of nobody")
            return
        margin = margin_of(omega, spec.margin)
        self._omega.check(
            abs(about.step.margin - margin) <= 1e-12, place, f"margin is not the {margin:.9g} of ω"
        )
        self._omega.check(
            (omega <= STATIONARY) == (about.step.reason == "stationary"),
            place,
            "the round is stationary by ω or by its reason, not by both",
        )
        if about.gram is None:
            self._omega.miss(place, "no Gram matrix of the gradients was kept")
            return
        slope, count = about.products(lam), int(inside.sum())
        try:
            gap = slope_gap(slope[inside], lam[inside], np.full(count, 1.0 / count))
        except ValueError as error:
            self._omega.check(False, place, f"λ of ω: {str(error).rstrip('.')}")
            return
        self._omega.measure("gap", gap)
        tol, square = self._precision.of_products(len(lam)), float(lam @ slope)
        right = abs(gap - about.step.omega_gap) <= tol and not lam[~inside].any()
        self._omega.check(
            right and abs(square - omega**2) <= tol,
            place,
            f"ω is {omega:.9g}, and its λ with {GRAM} gives {np.sqrt(max(square, 0.0)):.9g}, with "
            f"a gap of {gap:.3g}",
        )
        self._omega.check(
            gap <= OPTIMAL, place, f"ω is not the minimum: its duality gap is {gap:.3g}"
        )

    def _look_at_cone(self, about: _Round) -> None:
        """The step z' = z + Σ v_i u_i is the nearest one in the cone, by its certificate."""
        place, row, step = about.place, about.row, about.step
        v, length = step.multipliers, step.step_norm
        proposed = abs(row.server_lr) * (row.norm or 0.0)
        self._cone.check(abs(length - proposed) <= _ROUNDED * proposed, place, "‖z‖ is not η_t ‖d‖")
        fits = bool((np.abs(step.inner) <= (1.0 + _ROUNDED) * length).all() and (v >= 0.0).all())
        stationary = step.reason == "stationary"  # then nothing is turned
        turned = v if stationary else v[~about.inside]
        if not self._cone.check(
            fits and not turned.any() and not step.inner[~about.there].any(),
            place,
            "⟨u_i, z⟩ exceeds ‖z‖, or a multiplier is negative or of nobody in the cone",
        ):
            return
        if about.gram is None:
            self._cone.miss(place, "no Gram matrix of the gradients was kept")
            return
        if not self._look_at_gram(about, about.gram):
            return
        raised = about.products(v)
        square = length**2 + float(v @ (2.0 * step.inner + raised))
        self._cone.check(
            abs(step.turned_norm**2 - square) <= _ROUNDED * (length + float(v.sum())) ** 2,
            place,
            f"‖z'‖ is {step.turned_norm:.9g}, and z, v and {GRAM} give "
            f"{np.sqrt(max(square, 0.0)):.9g}",
        )
        if not stationary and about.inside.any():
            self._look_at_certificate(about, about.gram, raised)

    def _look_at_gram(self, about: _Round, gram: Gram) -> bool:
        """The matrix is one of unit vectors: 1 on its diagonal, where there is one."""
        matrix, columns = gram.matrix, gram.columns
        square, tol = matrix[columns], self._precision.of_products(len(about.there))
        real = bool(np.isfinite(matrix).all()) and np.array_equal(square, square.T)
        real = real and np.linalg.eigvalsh(square)[0] >= -tol * len(columns)
        real = real and bool((np.abs(matrix) <= 1.0).all()) and not matrix[~about.there].any()
        real = real and np.array_equal(np.diagonal(square), about.there[columns])
        return self._cone.check(
            real, about.place, f"its matrix in {GRAM} is that of no unit vectors"
        )

    def _look_at_certificate(self, about: _Round, gram: Gram, raised: Vector) -> None:
        step, inside = about.step, about.inside
        v, inner, bound = step.multipliers[inside], step.inner[inside], step.margin * step.step_norm
        if about.whole:
            found = cone_certificate(gram.matrix[np.ix_(inside, inside)], inner, bound, v)
            gap, violation = found.gap, found.violation
        else:  # of many participants only the columns that count are kept
            slack = raised[inside] + inner - bound
            gap, violation = float(v @ np.abs(slack)), max(0.0, -float(slack.min()))
        size = step.step_norm + float(v.sum())
        beside, below = gap / max(size**2, _TINY), violation / max(size, _TINY)
        self._cone.measure("gap", beside)
        self._cone.measure("violation", below)
        tol = self._precision.of_products(len(inside)) * size
        self._cone.check(
            abs(gap - step.gap) <= tol * size and abs(violation - step.violation) <= tol,
            about.place,
            f"the cone's gap and violation are {gap:.3g} and {violation:.3g}, and {step.gap:.3g} "
            f"and {step.violation:.3g} were written",
        )
        self._cone.check(
            max(beside, below) <= OPTIMAL,
            about.place,
            f"the step is not the nearest in the cone: gap {beside:.3g}, out by {below:.3g}",
        )

    def _look_at_overridden(self, about: _Round, spec: ProtectSpec) -> None:
        """Whom `allow` leaves out of the cone are those that would turn the step most."""
        place, row, step, there = about.place, about.row, about.step, about.there
        if not spec.allow:
            nobody = not step.overridden and (self._ways > 1 or not step.other_opposed)
            self._cone.check(nobody, place, "somebody is overridden, and nobody may")
            return
        if about.gram is None or not about.whole or not there.any():
            return
        matrix = about.gram.matrix[np.ix_(there, there)]
        bound = margin_of(min_norm(matrix).norm, spec.margin) * step.step_norm
        turning = np.zeros(len(there))
        turning[there] = nearest_in_cone(matrix, step.inner[there], bound).multipliers
        most = np.sort(turning)[::-1][: spec.allow]
        most = most[most > 0.0]
        left_out = turning[among(row.client_ids, step.overridden)]
        slack = _TIE * float(turning.max())
        right = len(left_out) == len(most)
        right = right and bool((left_out >= most.min(initial=np.inf) - slack).all())
        # Where leaving them out came to nothing, the step that serves everybody was made.
        right = right or (step.scale is not None and not step.overridden)
        self._cone.check(right, place, "who is overridden are not those who turn the step most")

    def _look_at_losses(self, about: _Round, spec: ProtectSpec) -> None:
        """The first length that few enough oppose is taken, and those are whose loss rose."""
        place, step = about.place, about.step
        counts = [len(trial) for trial in step.opposed]
        others = [len(trial) for trial in step.other_opposed]
        refused = others + (counts if step.scale is None else counts[:-1])
        self._losses.check(
            all(count > spec.allow for count in refused), place, "a length was refused without need"
        )
        if step.scale is None or step.after is None:
            tried = bool(counts) == (step.reason == "opposed")
            self._losses.check(tried, place, "its reason is not what was tried")
            self._look_at_what_was_tried(about, spec)
            return
        scale = 0.5 ** max(len(counts) - 1, 0)
        self._losses.check(
            bool(counts) and step.scale == scale, place, f"s is {step.scale}, and {scale} was tried"
        )
        rose = ~(np.isfinite(step.after) & (step.after <= step.before))
        worse = [client for client, up in zip(about.row.client_ids, rose, strict=True) if up]
        self._losses.check(
            len(worse) <= spec.allow,
            place,
            f"the loss of client {worse[0] if worse else 0} rose, of {len(worse)} in all, and "
            f"{spec.allow} may",
        )
        opposed = sorted(step.opposed[-1]) if step.opposed else []
        self._losses.check(opposed == sorted(worse), place, "who opposed is not whose loss rose")

    def _look_at_what_was_tried(self, about: _Round, spec: ProtectSpec) -> None:
        """A round is held after all its lengths, or all that are no step in float32 were left."""
        step, length = about.step, self._precision.model_length
        if step.reason == "stationary" or len(step.opposed) == spec.trials or length is None:
            return
        following = 0.5 ** len(step.opposed) * step.turned_norm
        self._losses.check(
            following <= _OF_THE_MODEL * length,
            about.place,
            f"the round is held, and a step of {following:.3g} was not tried",
        )

    def _look_at_truth(self, about: _Round) -> None:
        """What honest participants said of their losses is what was measured."""
        row, step = about.row, about.step
        if self._malicious is None:
            return
        honest = ~among(row.client_ids, self._malicious)
        for said, measured in ((step.before, row.losses_before), (step.after, row.losses_after)):
            if said is not None and measured is not None:
                off = np.abs(said - measured) > _ROUNDED * np.abs(measured)
                self._losses.check(
                    not (off & honest).any(),
                    about.place,
                    "an honest participant said another loss than was measured",
                )

    def _look_at_move(self, about: _Round) -> None:
        """Held rounds leave the model as it is; others move it by s z', in float32."""
        place, step, length = about.place, about.step, self._precision.model_length
        if step.scale is None:
            still = step.moved_norm == 0.0 and not step.moved_inner.any()
            still = still and self._model in {None, step.model}
            self._moved.check(still, place, "the round is held, and the model moved")
            return
        self._moved.check(step.model != self._model, place, "the step left the model as it was")
        if length is None:
            self._moved.miss(place, "no trained model tells how exact ‖Δ‖ is")
            return
        wanted = step.scale * step.turned_norm
        tol = _ROUNDED * wanted + _OF_THE_MODEL * length
        self._moved.check(
            abs(step.moved_norm - wanted) <= tol,
            place,
            f"‖Δ‖ is {step.moved_norm:.9g}, and s ‖z'‖ is {wanted:.9g}",
        )
        if about.gram is None:
            return
        v = step.multipliers
        along = np.where(about.there, step.scale * (step.inner + about.products(v)), 0.0)
        tol += _ROUNDED * step.scale * (step.step_norm + float(v.sum()))
        off = np.abs(step.moved_inner - along)
        self._moved.check((off <= tol).all(), place, "⟨u_i, Δ⟩ is not s ⟨u_i, z'⟩")
        if about.inside.any():
            least = float(step.moved_inner[about.inside].min()) / max(step.moved_norm, _TINY)
            self._least = least if self._least is None else min(least, self._least)


def _is_whole(row: RoundRow, step: ProtectionRow, spec: ProtectSpec, ways: int) -> bool:
    """Tell whether the parts of a protected round fit together; a cone is tried in so many ways."""
    held = step.scale is None
    fits = all(bool(np.isfinite(getattr(step, name)).all()) for name in _PER_CLIENT)
    fits = fits and (step.after is None) == held
    tried = (*step.opposed, *step.other_opposed)
    named = {*step.overridden, *(client for trial in tried for client in trial)}
    others = ways * (2 if spec.allow else 1) - 1  # attempts beside the one that is told of
    fits = fits and named <= set(row.client_ids) and len(step.opposed) <= spec.trials
    fits = fits and len(step.other_opposed) <= others * spec.trials
    fits = fits and not (step.buffers_stayed and (held or ways == 1))
    numbers = (step.omega_gap, step.margin, step.gap, step.violation, step.step_norm)
    fits = fits and all(number >= 0.0 for number in numbers) and len(step.model) == 64
    return fits and step.reason in _REASONS and (step.reason is None) != held
