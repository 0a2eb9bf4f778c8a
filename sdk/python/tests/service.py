"""A service on loopback that pays each name once, and one that somebody on the way spoils. With a number of payments as its
argument it is a program: it spoils most answers at random, and prints its address, then what it saw once its input ends.
"""

from __future__ import annotations

import json
import random
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).parent / "certificate.pem"
"""For `purser.test`, by itself. Its key is no secret."""

Trouble = Callable[["Service", socket.socket, bytes], None]
"""What becomes of an answer, given the connection and the answer that the service wrote."""


def message(status: int, body: bytes, kind: str = "application/json", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} So", f"content-type: {kind}", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def says(status: int, body: bytes, kind: str = "application/json") -> Trouble:
    """Somebody on the way answers."""
    return lambda service, connection, answer: connection.sendall(message(status, body, kind))


def is_lost(service: Service, connection: socket.socket, answer: bytes) -> None:
    """Nothing of the answer arrives."""


def is_cut(service: Service, connection: socket.socket, answer: bytes) -> None:
    connection.sendall(answer[:-20])


def is_of_another(service: Service, connection: socket.socket, answer: bytes) -> None:
    """The settled payment of another name."""
    connection.sendall(message(200, json.dumps(service.payment("another")).encode()))


def drips(beginning: bytes, piece: bytes, every: float = 0.1) -> Trouble:
    """Bytes come so that no read waits for long, and never end."""

    def trouble(service: Service, connection: socket.socket, answer: bytes) -> None:
        connection.sendall(beginning)
        while not service.ended.wait(every):
            connection.sendall(piece)

    return trouble


def floods(head: bytes, piece: bytes) -> Trouble:
    """80 MB come."""

    def trouble(service: Service, connection: socket.socket, answer: bytes) -> None:
        connection.sendall(head)
        for _ in range(80_000_000 // len(piece)):
            connection.sendall(piece)
            service.flooded += len(piece)

    return trouble


OTHERS: dict[str, Trouble] = {
    "gateway 403": says(403, b"<html>Forbidden</html>", "text/html"),
    "gateway 404": says(404, b"<html>Not found</html>", "text/html"),
    "gateway 413": says(413, b"<html>Too large</html>", "text/html"),
    "gateway 403 in JSON": says(403, b'{"message":"Forbidden"}'),
    "gateway 401 without an id": says(401, b'{"error":"unauthorized","message":"No."}'),
    "gateway 409 in text": says(409, b'{"error":"idempotency_conflict","message":"","request_id":"a"}', "text/plain"),
    "redirect": says(302, b"", "text/html"),
    "page": says(200, b"<html>Sign in</html>", "text/html"),
    "empty object": says(200, b"{}"),
    "list": says(200, b"[]"),
    "null": says(200, b"null"),
    "no content": says(204, b""),
    "accepted without a word": says(202, b"{}"),
    "error with 200": says(200, b'{"error":"policy_violation","message":"No.","request_id":"req_1"}'),
    "not a number": says(200, b'{"transfer_id":NaN}'),
    "deep": says(200, b'{"a":' + b"[" * 200_000),
    "checks are a number": says(402, b'{"error":"policy_violation","message":"No.","request_id":"req_1","checks":7}'),
    "lost": is_lost,
    "cut": is_cut,
    "of another name": is_of_another,
}


class Service:
    def __init__(self, *troubles: Trouble, is_tls: bool = False, seed: int | None = None) -> None:
        self.troubles = list(troubles)
        """One for each request; later ones are answered."""
        self.requests: list[tuple[str, dict[str, str]]] = []
        """The first line and the headers of each."""
        self.paid: dict[str, dict[str, Any]] = {}
        self.flooded = 0
        self.met: Counter[str] = Counter()
        self.ended = threading.Event()
        self._random = None if seed is None else random.Random(seed)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if is_tls else None
        if self._tls is not None:
            self._tls.load_cert_chain(CERTIFICATE)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accepts, daemon=True).start()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._listener.close()

    def payment(self, name: str) -> dict[str, Any]:
        return {
            "transfer_id": f"txn_{name}", "status": "settled", "from": "acct_1", "to": "acct_2", "amount_usdc": "0.250000",
            "memo": None, "idempotency_key": name, "tx_signature": f"sig_{name}", "created_at": "2026-01-31T12:00:00.000000Z",
            "settled_at": "2026-01-31T12:00:01.000000Z",
        }  # fmt: skip

    def _accepts(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serves, args=(connection,), daemon=True).start()

    def _serves(self, connection: socket.socket) -> None:
        try:
            reader = connection.makefile("rb")
            while line := reader.readline().decode("latin-1").strip():
                headers = {}
                while field := reader.readline().decode("latin-1").strip():
                    name, _, value = field.partition(":")
                    headers[name.lower()] = value.strip()
                body = reader.read(int(headers.get("content-length", 0)))
                with self._lock:
                    self.requests.append((line, headers))
                    trouble = self.troubles.pop(0) if self.troubles and not line.startswith("CONNECT") else None
                    if trouble is None and self._random and self._random.random() < 0.7:
                        kind = self._random.choice(list(OTHERS))
                        self.met[kind] += 1
                        trouble = OTHERS[kind]
                if line.startswith("CONNECT"):
                    connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    assert self._tls is not None
                    connection = self._tls.wrap_socket(connection, server_side=True)
                    reader = connection.makefile("rb")
                    continue
                answer = self._answers(body)
                if trouble is not None:
                    return trouble(self, connection, answer)
                connection.sendall(answer)
        except OSError:
            pass
        finally:
            connection.close()

    def _answers(self, body: bytes) -> bytes:
        name = json.loads(body)["idempotency_key"] if body else "nameless"
        with self._lock:
            replayed = ["idempotent-replayed: true"] if name in self.paid else []
            paid = self.paid.setdefault(name, self.payment(name))
        return message(200, json.dumps(paid).encode(), "application/json", *replayed)


def main() -> None:
    with Service(seed=int(sys.argv[1])) as service:
        print(service.url, flush=True)
        began = time.monotonic()
        sys.stdin.read()
        seen = {"requests": len(service.requests), "paid": len(service.paid), "met": dict(service.met)}
        print(json.dumps({**seen, "seconds": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    main()
