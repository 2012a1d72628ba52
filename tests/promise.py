"""The promise of protection, stated once, and a ledger to hold it against."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Ledger:
    """What every client said of its training loss, kept apart from the engine."""

    words: dict[tuple[bytes, int], float] = field(default_factory=dict)

    def note(self, params, client_ids, losses):
        self.words |= {
            (params.tobytes(), client): float(loss)
            for client, loss in zip(client_ids, losses, strict=True)
        }

    def of(self, params, client_ids):
        """Return what the clients said of a model; NaN for who said nothing."""
        return np.array([self.words.get((params.tobytes(), i), np.nan) for i in client_ids])


def assert_kept(before, after, record, protection, said):
    """Hold one round against the law, by what the participants said of w_t and of w_{t+1}.

    Either the model is the same to the byte, or it is another one and after_i <= before_i, exactly,
    for all participants but at most `allow`: NaN and silence are no such thing.

    Args:
        before: The server before the round.
        after: The server after it.
        record: The record of the round.
        protection: How it was protected.
        said: Two vectors over the participants, of w_t and of w_{t+1}.

    Returns:
        The participants that are worse off, or may be.
    """
    unchanged = before.params.tobytes() == after.params.tobytes()
    if record.failed or record.protected.held:
        assert unchanged
        return ()
    ids, protected = record.cohort.client_ids, record.protected
    np.testing.assert_array_equal(protected.before, said[0])
    np.testing.assert_array_equal(protected.after, said[1])
    worse = tuple(i for i, f, g in zip(ids, *said, strict=True) if not g <= f or np.isinf(g))
    assert not unchanged
    assert len(worse) <= protection.allow
    assert protected.opposed[-1] == worse
    assert all(len(opposed) > protection.allow for opposed in protected.opposed[:-1])
    assert protected.scale == 0.5 ** (len(protected.opposed) - 1)
    assert len(protected.opposed) <= protection.trials
    return worse
