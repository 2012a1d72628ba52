import ipaddress
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_ssh_private_key,
    load_ssh_public_key,
)

from fedmgda._errors import SpecError, StoreError
from fedmgda.flower.deployment._keys import make_node_key, make_server_keys


def test_the_authority_signed_the_certificate_of_this_machine(tmp_path):
    keys = make_server_keys(tmp_path / "keys", hosts=["server.example", "10.0.0.7"])
    root, server = (
        x509.load_pem_x509_certificate(path.read_bytes())
        for path in (keys.authority, keys.certificate)
    )
    server.verify_directly_issued_by(root)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "server.example"]
    addresses = [ipaddress.ip_address(text) for text in ("127.0.0.1", "10.0.0.7")]
    assert names.get_values_for_type(x509.IPAddress) == addresses
    key = load_pem_private_key(keys.key.read_bytes(), None)
    assert key.public_key() == server.public_key()


def test_the_server_can_sign_nobody(tmp_path):
    keys = make_server_keys(tmp_path)
    server = x509.load_pem_x509_certificate(keys.certificate.read_bytes())
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert [path for path in tmp_path.iterdir() if path.suffix == ".key"] == [keys.key]


def test_a_nodes_key_is_of_a_curve_that_flower_takes(tmp_path):
    files = make_node_key(tmp_path, "node0")
    private = load_ssh_private_key(files.private.read_bytes(), None)
    public = load_ssh_public_key(files.public.read_bytes())
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert isinstance(private.curve, ec.SECP384R1)
    assert private.public_key() == public


def test_nobody_else_reads_a_private_key_and_none_is_written_over(tmp_path):
    server, node = make_server_keys(tmp_path), make_node_key(tmp_path, "node0")
    for path in (server.key, node.private):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = node.private.read_bytes()
    with pytest.raises(StoreError, match="node0 cannot be written"):
        make_node_key(tmp_path, "node0")
    assert node.private.read_bytes() == before


def test_half_of_an_old_set_is_not_replaced(tmp_path):
    make_server_keys(tmp_path, nodes=["node0"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StoreError, match="exists; keys are never written over"):
        make_server_keys(tmp_path)
    (tmp_path / "more").mkdir()
    make_node_key(tmp_path / "more", "node1")
    with pytest.raises(StoreError, match="node1 exists"):
        make_server_keys(tmp_path / "more", nodes=["node0", "node1"])
    assert {path.name for path in (tmp_path / "more").iterdir()} == {"node1", "node1.pub"}
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_certificates_last_as_long_as_is_said(tmp_path):
    keys = make_server_keys(tmp_path, days=100)
    for path in (keys.authority, keys.certificate):
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        left = certificate.not_valid_after_utc - datetime.now(UTC)
        assert timedelta(days=99) < left <= timedelta(days=100)


def test_two_deployments_share_no_key(tmp_path):
    first, second = make_server_keys(tmp_path / "a"), make_server_keys(tmp_path / "b")
    assert first.authority.read_bytes() != second.authority.read_bytes()


def test_a_host_that_no_certificate_can_name_is_refused(tmp_path):
    with pytest.raises(SpecError, match="neither an address nor a host name"):
        make_server_keys(tmp_path, hosts=["bücher.example"])
