"""A function of the user's own, `package.module:function`, that returns a federation."""

from __future__ import annotations

from fedmgda._entry import check_options, load_entry
from fedmgda._errors import SpecError
from fedmgda.data._check_federation import check_federation
from fedmgda.data._dataset import Dataset, Settings
from fedmgda.data._federated import FederatedData

__all__ = ["FUNCTION"]


def _load(settings: Settings, seed: int) -> FederatedData:
    """Call the function with `data.options` as its arguments, and check what it returns."""
    del seed  # a function has the randomness it wants; its options may hold a seed
    name, options = settings["name"], settings.get("options", {})
    function = load_entry(name, "data.name")
    check_options(function, options, name, "data.options")
    try:
        made = function(**options)
    except SpecError:
        raise
    except (Exception, SystemExit) as error:  # whatever a function of the user's own may do
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(f"data.name = {name!r} raised {reason}; correct the function.") from error
    if not isinstance(made, FederatedData):
        raise SpecError(
            f"data.name = {name!r} must return a fedmgda.FederatedData, "
            f"got an object of type {type(made).__name__}."
        )
    check_federation(made)
    return made


FUNCTION = Dataset(
    name="package.module:function",
    title="a function of your own",
    federation="the fedmgda.FederatedData it returns",
    licence="yours",
    load=_load,
    model="logistic",
    clients="given",
    options=("options",),
    participation=1.0,
)
