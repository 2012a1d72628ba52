"""The errors a user may meet, each with the exit code of the command line."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "DataError",
    "FederationStalledError",
    "FedmgdaError",
    "LockedError",
    "MissingDependencyError",
    "SpecError",
    "StoreError",
    "ZeroUpdateError",
]


class FedmgdaError(Exception):
    """A failure the user can act on; its message is one sentence with value, place and remedy."""

    exit_code: ClassVar[int] = 1


class SpecError(FedmgdaError):
    """A specification, an override or an argument is not valid."""

    exit_code = 2


class DataError(FedmgdaError):
    """Input data or an input file is missing or cannot be used."""

    exit_code = 3


class StoreError(FedmgdaError):
    """A run folder or a checkpoint cannot be read or written."""

    exit_code = 4


class LockedError(FedmgdaError):
    """Another process is working in the run folder."""

    exit_code = 5


class FederationStalledError(FedmgdaError):
    """Too many rounds in a row had no usable update."""

    exit_code = 6


class MissingDependencyError(FedmgdaError):
    """An optional package is needed and not installed."""

    exit_code = 7


class ZeroUpdateError(FedmgdaError):
    """A client sent a zero update and the policy is to stop."""

    exit_code = 8
