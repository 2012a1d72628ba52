"""Federated learning that looks after every participating user.

The public names are listed in `__init__.pyi`. Each is loaded when first used, so that
`import fedmgda` stays instant and needs neither torch nor a plotting library.
"""

from fedmgda._lazy import lazy_package

__version__ = "0.2.0"

__getattr__, __all__ = lazy_package(__name__, __file__)
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return sorted(__all__)
