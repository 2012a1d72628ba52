"""Architectures, and the one place that knows both a module and its flat vector.

A model reaches the clients as a factory without arguments that can be pickled, because every worker
process builds its own module: `functools.partial(mlp, (64, 32, 10))`. Classifiers return logits.
What needs torch is loaded when first used: the catalogue of names does not.
"""

from fedmgda._lazy import lazy_package

__getattr__, __all__ = lazy_package(__name__, __file__)
