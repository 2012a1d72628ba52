"""Which of the engines carries out the tasks of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from fedmgda._errors import SpecError
from fedmgda.clients._compiled import compile_bench
from fedmgda.clients._crew import Crew
from fedmgda.clients._serial import Serial
from fedmgda.clients._threads import Threads

if TYPE_CHECKING:
    from fedmgda.clients._bench import Bench, ComputePath, Settings
    from fedmgda.data import FederatedData

__all__ = ["Engine", "choose_engine"]

Engine: TypeAlias = Serial | Crew | Threads


def choose_engine(
    data: FederatedData,
    settings: Settings,
    bench: Bench,
    *,
    path: ComputePath,
    workers: int,
    client_timeout: float,
) -> tuple[Literal["compiled", "torch"], Engine]:
    """Return what will compute, and the engine: threads, processes or this process.

    Raises:
        SpecError: If the compiled path is asked for and does not know the model or the data.
    """
    model = bench.model
    widths = {
        "train": model.num_params + model.num_buffers, "gradient": model.num_params, "evaluate": 0
    }  # fmt: skip
    if path != "torch" and settings.device == "cpu":
        compiled = compile_bench(data, settings, model, always=path == "compiled")
        if compiled is not None:
            return "compiled", Threads(data, compiled, widths, workers)
    if path == "compiled":
        raise SpecError(
            'clients.path = "compiled" does not know this model or data; use "auto" or "torch".'
        )
    if workers > 1:
        crew = Crew(data, settings, widths, workers, client_timeout, groups=bench.groups)
        return "torch", crew
    return "torch", Serial(bench, widths)
