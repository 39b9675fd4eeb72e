"""The cluster's certificates and their owners."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS = timedelta(days=30)
# File name → common name and group, which Kubernetes' roles refer to.
USERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "apiserver-to-kubelet": ("kube-apiserver-kubelet-client", "system:masters"),
}


@dataclass(frozen=True, slots=True)
class _Pair:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


class Authority:
    """Signs certificates into `folder` as NAME.key and NAME.crt; ca.crt is its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True)
        self._folder = folder
        self._own = self._signed("ca", _name("jitterscope-lab-ca", ""), None, ())
        self._write("ca", self._own)
        accounts = ec.generate_private_key(ec.SECP256R1())  # signs tokens of service accounts
        self._write_key("accounts", accounts)
        public = accounts.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (folder / "accounts.pub").write_bytes(public)

    def issue(self, name: str, common_name: str, group: str = "", places: Sequence[str] = ()) -> None:
        """A certificate for a server at `places` (addresses and names), and for a client."""
        self._write(name, self._signed(name, _name(common_name, group), self._own, places))

    def kubeconfig(self, name: str, server: str) -> None:
        """NAME.conf, with which a program talks to the API server as that user."""
        place = self._folder
        told = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "lab", "cluster": {"server": server, "certificate-authority": str(place / "ca.crt")}}
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate": str(place / f"{name}.crt"),
                        "client-key": str(place / f"{name}.key"),
                    },
                }
            ],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": name}}],
            "current-context": "lab",
        }
        (place / f"{name}.conf").write_text(json.dumps(told))

    def _signed(self, name: str, subject: x509.Name, by: _Pair | None, places: Sequence[str]) -> _Pair:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if by is None else by.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _LASTS)
            .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        )
        if by is not None:
            uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if places:
            alternatives = x509.SubjectAlternativeName([_place(one) for one in places])
            builder = builder.add_extension(alternatives, critical=False)
        return _Pair(key, builder.sign(key if by is None else by.key, hashes.SHA256()))

    def _write(self, name: str, pair: _Pair) -> None:
        self._write_key(name, pair.key)
        (self._folder / f"{name}.crt").write_bytes(pair.certificate.public_bytes(serialization.Encoding.PEM))

    def _write_key(self, name: str, key: ec.EllipticCurvePrivateKey) -> None:
        file = self._folder / f"{name}.key"
        file.touch(mode=0o600)
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )


def _name(common_name: str, group: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if group:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _place(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
