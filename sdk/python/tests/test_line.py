"""What both clients make of answers that are not the service's, and how they reach it, over real connections."""

from __future__ import annotations

import asyncio
import os
import time
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from purser_pay import AsyncPurser, Payment, Purser, Unreachable
from purser_pay._http_sync import SystemClock
from service import CERTIFICATE, OTHERS, Service, Trouble, drips, floods, is_lost, says

Pays = Callable[..., list[Payment]]


class Clock(SystemClock):
    """Pauses pass at once, all else takes its time."""

    def __init__(self) -> None:
        self.slept = 0.0

    def now(self) -> float:
        return super().now() + self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


class AsyncClock(Clock):
    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        super().sleep(seconds)


def by_sync(url: str, *names: str, deadline: float = 30.0) -> list[Payment]:
    with Purser(url, "psr_ag_1", account="acct_1", deadline=deadline, clock=Clock()) as agent:
        return [agent.pay(to="acct_2", amount_usdc="0.25", idempotency_key=name) for name in names]


def by_async(url: str, *names: str, deadline: float = 30.0) -> list[Payment]:
    async def pays() -> list[Payment]:
        async with AsyncPurser(url, "psr_ag_1", account="acct_1", deadline=deadline, clock=AsyncClock()) as agent:
            return [await agent.pay(to="acct_2", amount_usdc="0.25", idempotency_key=name) for name in names]

    return asyncio.run(pays())


BOTH: list[Pays] = [by_sync, by_async]


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """With these variables, and none of those that name proxies and certificates."""
    before = dict(os.environ)
    for name in ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Line(unittest.TestCase):
    def test_each_call_is_one_request(self) -> None:
        for pays in BOTH:
            with self.subTest(pays.__name__), Service() as service:
                names = [f"invoice-{number}" for number in range(20)]
                paid = pays(service.url, *names)
                self.assertEqual([one.replayed for one in paid], [False] * 20)
                self.assertEqual(len(service.requests), 20)

    def test_what_others_answer_is_asked_again(self) -> None:
        for pays in BOTH:
            for kind, trouble in OTHERS.items():
                with self.subTest(kind, by=pays.__name__), Service(is_lost, trouble) as service:
                    (paid,) = pays(service.url, "invoice")
                    self.assertEqual((paid.signature, paid.idempotency_key, len(service.requests)), ("sig_invoice", "invoice", 3))

    def test_what_others_answer_is_unreachable_in_the_end(self) -> None:
        for pays in BOTH:
            for kind, trouble in OTHERS.items():
                with self.subTest(kind, by=pays.__name__), Service(*[trouble] * 50) as service:
                    with self.assertRaises(Unreachable):
                        pays(service.url, "invoice")

    def test_errors_of_the_service_are_decided(self) -> None:
        refusal = says(402, b'{"error":"policy_violation","message":"No.","request_id":"req_1"}')
        for pays in BOTH:
            with self.subTest(pays.__name__), Service(refusal) as service:
                with self.assertRaisesRegex(Exception, "policy_violation: No. .req_1."):
                    pays(service.url, "invoice")

    def test_answers_that_never_end_are_given_up(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        dripping = {
            "status": drips(b"HTTP/1.1 ", b"2"),
            "head": drips(head, b"x-more: 1\r\n"),
            "header": drips(head + b"x: ", b"1"),
            "continues": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            "body": drips(head + b"content-length: 9000\r\n\r\n", b" "),
            "chunks": drips(head + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
            "trailers": drips(head + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x: 1\r\n"),
            "all of it": drips(head + b"\r\n", b" "),
        }

        def seconds(pays: Pays, trouble: Trouble) -> float:
            with Service(*[trouble] * 9) as service:
                began = time.monotonic()
                # An answer that is whole but for its trailers may be taken.
                with suppress(Unreachable):
                    pays(service.url, "invoice", deadline=1.5)
                return time.monotonic() - began

        kinds = [(pays, kind) for pays in BOTH for kind in dripping]
        with ThreadPoolExecutor(len(kinds)) as threads:
            took = list(threads.map(lambda one: seconds(one[0], dripping[one[1]]), kinds))
        for (pays, kind), passed in zip(kinds, took):
            with self.subTest(kind, by=pays.__name__):
                self.assertLess(passed, 8)

    def test_answers_are_read_up_to_a_bound(self) -> None:
        head, piece = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n", b" " * 100_000
        long: dict[str, Trouble] = {
            "length": floods(head + b"content-length: 80000000\r\n\r\n", piece),
            "chunks": floods(head + b"transfer-encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n" % (len(piece), piece)),
            "one chunk": floods(head + b"transfer-encoding: chunked\r\n\r\n4c4b400\r\n", piece),
            "until the end": floods(head + b"\r\n", piece),
            "headers": floods(head, b"x: 1\r\n" * 1_000),
        }
        for pays in BOTH:
            for kind, trouble in long.items():
                with self.subTest(kind, by=pays.__name__), Service(trouble) as service:
                    self.assertEqual(pays(service.url, "invoice")[0].signature, "sig_invoice")
                    # What the systems on both sides hold comes on top.
                    self.assertLess(service.flooded, 40_000_000)

    def test_proxy_and_certificates_of_the_environment_are_used(self) -> None:
        for pays in BOTH:
            with self.subTest(pays.__name__), Service(is_tls=True) as proxy:
                named = f"http://me:se%3Acret@127.0.0.1:{proxy.port}"
                with environment(HTTPS_PROXY=named, SSL_CERT_FILE=str(CERTIFICATE)):
                    self.assertEqual(pays("https://purser.test", "invoice")[0].signature, "sig_invoice")
                (connect, asked), (post, sent) = proxy.requests
                self.assertEqual((connect, post), ("CONNECT purser.test:443 HTTP/1.1", "POST /v1/transfers HTTP/1.1"))
                self.assertEqual(asked["proxy-authorization"], "Basic bWU6c2U6Y3JldA==")
                self.assertNotIn("authorization", asked)
                self.assertNotIn("proxy-authorization", sent)

    def test_proxy_of_plain_http_gets_the_whole_address(self) -> None:
        for pays in BOTH:
            with self.subTest(pays.__name__), Service() as proxy, environment(HTTP_PROXY=f"127.0.0.1:{proxy.port}"):
                pays("http://purser.test:81", "invoice")
                self.assertEqual(proxy.requests[0][0], "POST http://purser.test:81/v1/transfers HTTP/1.1")

    def test_no_proxy_and_this_machine_are_reached_directly(self) -> None:
        for pays in BOTH:
            with self.subTest(pays.__name__), Service() as service, Service() as proxy:
                with environment(HTTP_PROXY=proxy.url):
                    pays(service.url, "invoice")
                with environment(HTTP_PROXY=proxy.url, NO_PROXY="purser.test"), self.assertRaises(Unreachable):
                    pays("http://purser.test", "invoice")
                self.assertEqual((len(service.requests), proxy.requests), (1, []))

    def test_certificate_that_is_not_trusted_ends_the_call_at_once(self) -> None:
        for pays in BOTH:
            with self.subTest(pays.__name__), Service(is_tls=True) as proxy, environment(HTTPS_PROXY=proxy.url):
                with self.assertRaisesRegex(Unreachable, "certificate"):
                    pays("https://purser.test", "invoice")
                self.assertEqual(len(proxy.requests), 1)

    def test_settings_that_cannot_be_honoured_are_named_at_once(self) -> None:
        settings = {"SSL_CERT_FILE": "/does/not/exist.pem", "HTTPS_PROXY": "socks5://127.0.0.1:1"}
        for pays in BOTH:
            for name, value in settings.items():
                with self.subTest(name, by=pays.__name__), environment(**{name: value}):
                    with self.assertRaisesRegex(ValueError, "SSL_CERT_FILE|socks5"):
                        pays("https://purser.test", "invoice")


if __name__ == "__main__":
    unittest.main()
