#!/usr/bin/env python3
"""Proves the properties of the spend window, and of the window of 30 days, with z3, refutes mutants of it, and holds the model to the Rust.

    prove.py             windows of 4, 8 and 16 spans, and 400,000 steps against the Rust
    prove.py --long      the real one of 40 spans and one of 32 as well, and 10,000,000 steps

Needs z3-solver (requirements.txt); `cargo xtask prove` brings it, and names the Rust to compare with (--rust). What is proven, and how, stands in induction.py.
"""

import argparse
import json
import sys
import time

import differential
import induction
import month
from model import MUTANTS, Rule

SHORT = [Rule.like_the_real_one(spans) for spans in (4, 8, 16)]
LONG = [Rule.like_the_real_one(32), Rule()]
LEMMAS = {
    "the low 32 bits of a second are enough": induction.prove_that_32_bits_are_enough,
    "86,400 s of wall time are covered": induction.prove_that_a_day_of_wall_time_is_covered,
}


class Report:
    def __init__(self):
        self.rows = []

    def run(self, name, proof, wanted=True):
        """`proof` gives None or what speaks against it. Of a mutant, something has to."""
        begun = time.monotonic()
        against = proof()
        ok = (against is None) == wanted
        seconds = time.monotonic() - begun
        said = "" if against is None else str(against)
        self.rows.append({"name": name, "ok": ok, "seconds": round(seconds, 2), "against": said[:2_000]})
        detail = f": {said[:2_000] if said else 'nothing speaks against it'}" if not ok else f": {said}" if said else ""
        progress(f"{'ok    ' if ok else 'FAILED'} {seconds:7.1f} s  {name}{detail}")

    @property
    def failed(self):
        return sum(not row["ok"] for row in self.rows)


def progress(line):
    print(line, file=sys.stderr, flush=True)


def against_steps(rule, lengths):
    """Only what fails, not how many paths were gone."""
    _, failure = induction.prove_steps(rule, lengths, progress)
    return failure


def against_mutant(rule):
    """A mutant fails somewhere: in a lemma, in a step, or in what follows from the invariant."""
    # From a full window first: most mutants are about joining.
    lengths = range(rule.spans, -1, -1)
    for proof in (
        lambda: induction.prove_theorems(rule, rule.spans),
        lambda: against_steps(rule, lengths),
        lambda: induction.prove_that_enough_may_join(rule),
        *[lambda lemma=lemma: lemma(rule) for lemma in LEMMAS.values()],
    ):
        failure = proof()
        if failure:
            return failure[0]
    return None


def window(report, rule):
    size = f"{rule.spans} spans, bound of {rule.bound_spans}"
    report.run(f"{size}: at least {rule.spans - rule.bound_spans + 1} may join",
               lambda: induction.prove_that_enough_may_join(rule))
    report.run(f"{size}: the invariant says what is wanted of each span",
               lambda: next(filter(None, (induction.prove_theorems(rule, length) for length in range(rule.spans + 1))), None))
    report.run(f"{size}: one spend keeps the invariant and the cap, from a window that is not full",
               lambda: against_steps(rule, range(rule.spans)))
    report.run(f"{size}: every span but the oldest can be the one that joins",
               lambda: induction.prove_that_every_span_may_be_the_one_that_joins(rule))
    report.run(f"{size}: the same from a full one, whichever span joins",
               lambda: against_steps(rule, [rule.spans]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="the real size too, and 10^7 steps against the Rust")
    parser.add_argument("--json", action="store_true", help="print the results as JSON on stdout")
    parser.add_argument("--rust", metavar="PROGRAM", help="the example window_states of policy/; without it nothing is compared with the Rust")
    args = parser.parse_args()

    report, begun = Report(), time.monotonic()
    for name, lemma in LEMMAS.items():
        report.run(name, lambda lemma=lemma: lemma(Rule()))
    for name, lemma in month.LEMMAS.items():
        report.run(name, lemma)
    for name, mutant in month.MUTANTS.items():
        report.run(f"refuted: {name}", mutant, wanted=False)
    report.run("40 spans, bound of 32: at least 9 may join", lambda: induction.prove_that_enough_may_join(Rule()))
    for rule in SHORT + (LONG if args.long else []):
        window(report, rule)
    for name, mutant in MUTANTS.items():
        rule = Rule.like_the_real_one(8, mutant)
        report.run(f"refuted: {name}", lambda rule=rule: against_mutant(rule), wanted=False)
    if args.rust:
        steps = 10_000_000 if args.long else 400_000
        report.run(f"the model is the Rust, over {steps:,} steps", lambda: differential.run(args.rust, steps, progress))

    seconds = time.monotonic() - begun
    if args.json:
        print(json.dumps({"ok": report.failed == 0, "seconds": round(seconds, 1), "results": report.rows}, indent=2))
    progress(f"{len(report.rows) - report.failed} hold, {report.failed} do not, in {seconds:.0f} s")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
