"""The API server without kubectl, for frequent requests."""

from __future__ import annotations

import ssl

import httpx

from labs.kubernetes.layout import API, Files


def client(files: Files) -> httpx.Client:
    """A client with the administrator's rights; paths such as "/readyz"."""
    context = ssl.create_default_context(cafile=str(files.pki / "ca.crt"))
    context.load_cert_chain(files.pki / "admin.crt", files.pki / "admin.key")
    return httpx.Client(verify=context, base_url=API, timeout=10, trust_env=False)
