"""What is asked for again, and after which pause. Everything that this package asks for is done once, however often it is asked
for: payments by their idempotency key, other POSTs by the same in a header, and the rest because it says what is to be."""

from __future__ import annotations

from .errors import ApiError

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
# A payment is answered after at most 30 seconds, settled or accepted, unless the service is configured otherwise.
ATTEMPT_SECONDS = 40.0
# Answers that are the same however often they are asked for.
FINAL = ("transfer_failed", "server_unreachable", "not_configured", "method_not_allowed")


def is_asked_again(error: ApiError) -> bool:
    """Whether the same request may get another answer soon."""
    if error.code in FINAL or error.status == 501:
        return False
    return error.status in (408, 425, 429) or error.status >= 500 or error.code == "idempotency_in_progress"


def pause(attempts: int, retry_after: float | None, random: float) -> float:
    """Seconds until the next attempt: doubled each time, spread so that many clients do not come back together, and never
    before the service wants to be asked."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 16))
    if retry_after is not None:
        return retry_after + longest * random
    return longest * (0.5 + random / 2)
