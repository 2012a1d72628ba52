"""Names that are loaded when first used, so that importing a package stays instant."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lazy_package"]


def lazy_package(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package from the stub beside it.

    One list serves both: type checkers read `__init__.pyi` as it stands, and here its lines
    `from home import name as name` say where a name is loaded from when it is first asked for.

    Args:
        package: The name of the package.
        file: Its `__init__.py`.

    >>> import fedmgda.models
    >>> load, names = lazy_package("fedmgda.models", fedmgda.models.__file__)
    >>> load("MODELS") is fedmgda.models.MODELS, "mlp" in names
    (True, True)
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load, sorted(homes)
