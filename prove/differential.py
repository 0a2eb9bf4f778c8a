"""Holds the model to the Rust: the same schedules, and one hash of all states of each."""

import subprocess
import time

from model import Numbers, Rule, Span, counts, record
from schedule import WORD, Random, Schedule

STEPS_EACH = 2_000


def rust_hashes(program, schedules):
    ran = subprocess.run([program, str(schedules), str(STEPS_EACH)], check=True, capture_output=True, text=True)
    return ran.stdout.split()


def model_hash(schedule):
    rule, numbers = Rule(), Numbers()
    latest, spans = 0, []
    hashed = 0xCBF29CE484222325
    for step in range(STEPS_EACH):
        second, amount = schedule.next()
        now = max(second, latest)
        spent = min(sum(span.amount for span in spans if counts(rule, now, span)), WORD)
        hashed = ((hashed ^ spent) * 0x100000001B3) & WORD
        latest, spans = record(rule, numbers, latest, spans, Span(second, amount))
        if step % 16 == 0:
            words = [latest & 0xFFFFFFFF, (latest >> 32) & 0xFFFFFFFF, len(spans), 0]
            for span in spans:
                words += [span.last & 0xFFFFFFFF, span.amount & 0xFFFFFFFF, span.amount >> 32]
            for word in words:
                hashed = ((hashed ^ word) * 0x100000001B3) & WORD
    return f"{hashed:016x}"


def run(program, steps, progress):
    """None, or which schedule first goes another way."""
    schedules = steps // STEPS_EACH
    begun = time.monotonic()
    seeds = Random(2)
    for number, rust in enumerate(rust_hashes(program, schedules)):
        if model_hash(Schedule(seeds)) != rust:
            return f"schedule {number} ends in another state"
        if number % 500 == 499:
            progress(f"model and Rust agree on {(number + 1) * STEPS_EACH} steps, {time.monotonic() - begun:.0f} s")
    return None
