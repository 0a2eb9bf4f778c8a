"""What both transports share: the way to a server, the bytes of a request, and the bounds of an answer."""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
import urllib.request
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from .transport import Request, Unanswered, Untrusted

PIECE_BYTES_MAX = 65_536


@dataclass(frozen=True)
class Plan:
    """How a request is sent. Each has a connection of its own, so no answer can be taken for another's."""

    address: tuple[str, int]
    """Of the server, or of the proxy before it."""
    tunnel: bytes | None
    """Asks the proxy for a tunnel to the server."""
    tls_host: str | None
    """The name that the server's certificate must have."""
    message: bytes

    @staticmethod
    def of(request: Request) -> Plan:
        """Raises `ValueError` if the address, a header or the proxy cannot be used."""
        url = urlsplit(request.url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"{request.url!r} is not an http:// or https:// address")
        is_tls = url.scheme == "https"
        authority = url.netloc.rpartition("@")[2]
        address = (url.hostname, url.port or (443 if is_tls else 80))
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"Host": authority, **request.headers, "Connection": "close"}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        tunnel = None
        proxy = _proxy_for(url.scheme, url.hostname, authority)
        if proxy is not None:
            if is_tls:
                host = f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
                tunnel = _head("CONNECT", host, {"Host": host, **_credentials(proxy)})
            else:
                target = f"http://{authority}{target}"
                headers |= _credentials(proxy)
            address = (proxy.hostname or "", proxy.port or 80)
        message = _head(request.method, target, headers) + (request.body or b"")
        return Plan(address, tunnel, url.hostname if is_tls else None, message)


def _head(method: str, target: str, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header has a line break")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _proxy_for(scheme: str, host: str, authority: str) -> SplitResult | None:
    """The proxy that `HTTPS_PROXY`, `HTTP_PROXY` or the system names, unless `NO_PROXY` excepts the host or it is this machine."""
    proxy = urllib.request.getproxies().get(scheme)
    if not proxy or _is_this_machine(host) or urllib.request.proxy_bypass(authority):
        return None
    found = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if found.scheme != "http" or not found.hostname:
        raise ValueError(f"the proxy for {scheme} is of the kind {found.scheme}: only http:// is supported. Else give transport=")
    return found


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


class Tls:
    """Verifies servers. Trusts what the system trusts, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context

    def context(self, plan: Plan) -> ssl.SSLContext | None:
        """`None` for plain http. Raises `ValueError` if `SSL_CERT_FILE` cannot be read, which OpenSSL passes over."""
        if plan.tls_host is None:
            return None
        if self._context is None:
            context = ssl.create_default_context()
            file = os.environ.get("SSL_CERT_FILE")
            try:
                if file:
                    context.load_verify_locations(file)
            except OSError as error:
                raise ValueError(f"SSL_CERT_FILE is {file!r}, which cannot be read: {error}") from error
            self._context = context
        return self._context


def unanswered(failure: Exception) -> Unanswered:
    """Whatever went wrong on the way, there was no whole answer."""
    kind = Untrusted if isinstance(failure, ssl.SSLCertVerificationError) else Unanswered
    return kind(str(failure) or type(failure).__name__)
