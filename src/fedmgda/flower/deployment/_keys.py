"""Keys that last as long as one deployment: an authority, a server's certificate, nodes' keys."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fedmgda._errors import SpecError, StoreError
from fedmgda._files import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["NodeKey", "ServerKeys", "make_node_key", "make_server_keys"]

_DAYS = 7  # a deployment on one machine does not last longer
_CLOCKS = timedelta(minutes=5)  # by which the clocks of two machines may differ


@final
@dataclass(frozen=True, slots=True)
class ServerKeys:
    """What a SuperLink shows, and what its nodes and users know it by.

    Attributes:
        authority: The certificate that signed the server's; the only one that others need.
        certificate: The server's own.
        key: Its private key.
    """

    authority: Path
    certificate: Path
    key: Path


@final
@dataclass(frozen=True, slots=True)
class NodeKey:
    """The two halves of a node's key, in OpenSSH's form, which is the one that Flower reads."""

    private: Path
    public: Path


def make_server_keys(
    folder: Path, hosts: Sequence[str] = (), days: int = _DAYS, nodes: Sequence[str] = ()
) -> ServerKeys:
    """Make an authority and the one certificate it signs; then the authority's key is lost.

    Nobody can sign a second certificate with it, so that what the nodes trust is this one server.

    Args:
        folder: Where the three files go; it is made if need be.
        hosts: Names or addresses the server is reached by, beside this machine's loopback.
        days: How long the certificates are good.
        nodes: The names of nodes whose keys are to be made beside them.

    Raises:
        StoreError: If one of the files is there already: half of an old set is of no use.
    """
    make_folder(folder)
    keys = ServerKeys(folder / "ca.crt", folder / "server.pem", folder / "server.key")
    files = [keys.authority, keys.certificate, keys.key]
    files += [folder / name for node in nodes for name in (node, f"{node}.pub")]
    for file in files:
        if os.path.lexists(file):
            raise StoreError(f"{file} exists; keys are never written over, choose a new folder.")
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = (
        _certificate("fedmgda throw-away authority", authority_key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names = [_name(host) for host in dict.fromkeys(("localhost", "127.0.0.1", *hosts))]
    server = (
        _certificate("fedmgda server", key.public_key(), days, issuer=root.subject)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    write_file(keys.authority, root.public_bytes(pem))
    write_file(keys.certificate, server.public_bytes(pem))
    _write_secret(keys.key, key, serialization.PrivateFormat.PKCS8)
    for node in nodes:
        make_node_key(folder, node)
    return keys


def make_node_key(folder: Path, name: str) -> NodeKey:
    """Make the key of one node.

    Args:
        folder: Where its two files go; it is made if need be.
        name: Theirs, without what tells the public one apart.
    """
    make_folder(folder)
    key = ec.generate_private_key(ec.SECP384R1())
    files = NodeKey(folder / name, folder / f"{name}.pub")
    _write_secret(files.private, key, serialization.PrivateFormat.OpenSSH)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    write_file(files.public, public + b"\n")
    return files


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise SpecError(
            f"{host!r} is neither an address nor a host name in ASCII; write it as others reach it."
        ) from None


def _certificate(
    name: str, key: ec.EllipticCurvePublicKey, days: int, issuer: x509.Name | None = None
) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS)
        .not_valid_after(now + timedelta(days=days))
    )


def _write_secret(
    path: Path, key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat
) -> None:
    plain = serialization.NoEncryption()
    content = key.private_bytes(serialization.Encoding.PEM, form, plain)
    try:  # nobody else reads it, not even while it is written, and nothing is written over
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
