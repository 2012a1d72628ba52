"""The engine: samples clients, has them trained, gates their replies, aggregates, steps.

It knows nothing of data, models or attacks: it is given a function that trains a cohort, and so it
runs in milliseconds on quadratics as well as over processes or a network.
"""

from fedmgda.federation._checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint
from fedmgda.federation._gate import MAX_EXAMPLES, Reply, admit, collect
from fedmgda.federation._protect import (
    NO_SLOPE,
    STATIONARY,
    Protected,
    Protection,
    TrainingLosses,
    margin_of,
)
from fedmgda.federation._round import (
    Federation,
    initial_state,
    run_round,
    simulate,
)
from fedmgda.federation._sampling import Sampler, UniformSampler, cohort_size
from fedmgda.federation._schedules import Constant, Harmonic, MedianNorm, PaperDecay, Schedule
from fedmgda.federation._selection import Measure, Selected, select, selected_round
from fedmgda.federation._state import RoundRecord, ServerState

__all__ = [
    "MAX_EXAMPLES",
    "NO_SLOPE",
    "STATIONARY",
    "Constant",
    "Federation",
    "Harmonic",
    "Measure",
    "MedianNorm",
    "PaperDecay",
    "Protected",
    "Protection",
    "Reply",
    "RoundRecord",
    "Sampler",
    "Schedule",
    "Selected",
    "ServerState",
    "TrainingLosses",
    "UniformSampler",
    "admit",
    "cohort_size",
    "collect",
    "initial_state",
    "latest_checkpoint",
    "load_checkpoint",
    "margin_of",
    "run_round",
    "save_checkpoint",
    "select",
    "selected_round",
    "simulate",
]
