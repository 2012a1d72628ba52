"""Federated learning that looks after every participating user.

The public names are listed in `__init__.pyi`. Each is loaded when first used, so that
`import fedmgda` stays instant and needs neither torch nor a plotting library.
"""

__version__ = "0.2.0"


def __getattr__(name):
    """Load the public names when the first of them is asked for.

    Nothing is imported before: the command line takes care of Ctrl-C as its first deed, and until
    then an interruption would be a traceback.
    """
    from fedmgda._lazy import lazy_package  # noqa: PLC0415

    load, names = lazy_package(__name__, __file__)
    globals().update(__getattr__=load, __all__=[*names, "__version__"])
    return globals()[name] if name == "__all__" else load(name)


def __dir__() -> list[str]:
    import fedmgda  # noqa: PLC0415 (itself)

    return sorted(fedmgda.__all__)
