"""Deliveries that are ours and those that are not. The signatures here were made by npm's and PyPI's `standardwebhooks` too."""

from __future__ import annotations

import base64
import hashlib
import hmac
import unittest

from purser_pay import webhooks
from purser_pay.webhooks import NotVerified, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
OTHER = "whsec_" + base64.b64encode(b"another secret of 32 bytes......").decode()
BODY = '{"id":"evt_1","type":"transfer.settled","created_at":"2026-01-01T00:00:00.000000Z","data":{"memo":"café"}}'.encode()
NOW = 1_767_225_600


def stamped(secret: str, body: bytes = BODY, at: int = NOW) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, b"evt_1.%d." % at + body, hashlib.sha256).digest()).decode()


def signed(secret: str, body: bytes = BODY) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def delivery(secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    return {
        "Webhook-Id": "evt_1", "webhook-timestamp": str(at), "webhook-signature": stamped(secret, at=at),
        "X-Service-Signature": signed(secret),
    }  # fmt: skip


class Verifying(unittest.TestCase):
    def test_delivery_is_the_event(self) -> None:
        event = verify(BODY, delivery(), SECRET, now=NOW + 299)
        self.assertEqual((event.id, event.type, event.data), ("evt_1", "transfer.settled", {"memo": "café"}))

    def test_other_bodies_secrets_and_times_are_refused(self) -> None:
        for body, headers, secret, now in [
            (BODY + b" ", delivery(), SECRET, NOW),
            (BODY, delivery(), OTHER, NOW),
            (BODY, delivery(), SECRET, NOW + 301),
            (BODY, delivery(), SECRET, NOW - 301),
            (BODY, delivery() | {"webhook-timestamp": str(NOW + 1)}, SECRET, NOW),
            (BODY, delivery() | {"webhook-timestamp": "nan"}, SECRET, NOW),
            (BODY, {}, SECRET, NOW),
            (BODY, delivery() | {"webhook-signature": "v1,é v2,x"}, SECRET, NOW),
        ]:
            with self.assertRaises(NotVerified):
                verify(body, headers, secret, now=now)

    def test_recorded_delivery_without_its_time_is_refused(self) -> None:
        headers = {"X-Service-Signature": signed(SECRET)}
        with self.assertRaises(NotVerified):
            verify(BODY, headers, SECRET)
        self.assertEqual(verify(BODY, headers, SECRET, tolerance_seconds=None).id, "evt_1")
        with self.assertRaises(NotVerified):
            verify(BODY, {"X-Service-Signature": signed(OTHER)}, SECRET, tolerance_seconds=None)

    def test_during_a_rotation_either_secret_will_do(self) -> None:
        headers = delivery() | {"webhook-signature": f"{stamped(OTHER)} {stamped(SECRET)}"}
        for secret in (SECRET, OTHER, [OTHER, SECRET]):
            self.assertEqual(verify(BODY, headers, secret, now=NOW).id, "evt_1")
        headers = {"x-service-signature": signed(OTHER), "x-service-signature-previous": signed(SECRET)}
        self.assertEqual(verify(BODY, headers, SECRET, tolerance_seconds=None).id, "evt_1")

    def test_parsed_body_and_empty_secret_are_mistakes(self) -> None:
        with self.assertRaises(TypeError):
            verify(BODY.decode(), delivery(), SECRET)  # type: ignore[arg-type]
        for secret in ("", [], ["", SECRET]):
            with self.assertRaises(ValueError):
                verify(BODY, delivery(), secret)

    def test_standard_library_of_others_agrees(self) -> None:
        try:
            from standardwebhooks.webhooks import Webhook  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            self.skipTest("standardwebhooks is not installed")
        from datetime import datetime, timezone

        theirs = Webhook(SECRET).sign("evt_1", datetime.fromtimestamp(NOW, timezone.utc), BODY.decode())
        self.assertEqual(theirs, stamped(SECRET))
        self.assertEqual(webhooks.verify(BODY, delivery() | {"webhook-signature": theirs}, SECRET, now=NOW).id, "evt_1")


if __name__ == "__main__":
    unittest.main()
