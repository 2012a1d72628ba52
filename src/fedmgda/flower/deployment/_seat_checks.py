"""What a node needs, looked at before it starts: Flower finds out late, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from fedmgda._errors import SpecError
from fedmgda.data import read_headers

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.flower.deployment._seat import Seat

__all__ = ["check_seat"]

_PUBLIC = (b"ecdsa-", b"ssh-", b"sk-", b"-----BEGIN PUBLIC")


def check_seat(seat: Seat) -> None:
    """Refuse a node whose key, certificates or rows cannot be used.

    Raises:
        SpecError: If the key or the certificates are missing or something else.
        DataError: If its rows are.
    """
    if seat.authority is not None:
        _check_certificates(seat.authority)
    if seat.key is not None:
        _check_key(seat.key)
    if seat.data is not None:
        read_headers(seat.data)


def _check_key(path: Path) -> None:
    content = _content(path, "--key", "the private key of this node")
    if content.lstrip().startswith(_PUBLIC):
        raise SpecError(
            f"--key {path} is a public key; give the private one, which has the same name without "
            ".pub and stays on this machine."
        )
    try:
        key = load_ssh_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it wants a passphrase
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise SpecError(
            f"--key {path} is not a private key that Flower takes, which is one of an elliptic "
            "curve in OpenSSH's form without a passphrase; fedmgda flower keys DIR makes such keys."
        )


def _check_certificates(path: Path) -> None:
    content = _content(path, "--root-certificates", "the certificate the SuperLink is known by")
    try:
        ends = [c.not_valid_after_utc for c in x509.load_pem_x509_certificates(content)]
    except ValueError:
        raise SpecError(
            f"--root-certificates {path} holds no certificate (PEM); give the ca.crt that "
            "fedmgda flower keys has made for the SuperLink."
        ) from None
    if max(ends) < datetime.now(UTC):
        raise SpecError(
            f"The certificate in --root-certificates {path} ended on {max(ends):%Y-%m-%d}; make "
            "new ones in a new folder, for the SuperLink too, with: fedmgda flower keys DIR."
        )


def _content(path: Path, option: str, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpecError(
            f"{option} {path} cannot be read ({error.strerror}); it must be {what}."
        ) from None
