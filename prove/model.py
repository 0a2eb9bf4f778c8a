"""The spend window's rule (policy/src/window.rs), once for two uses: run on numbers, it is held to the Rust step by step;
run on z3 terms, its properties are proven. What differs is only who decides: see `Numbers` here and `Paths` in
induction.py.

Seconds and amounts are integers without end here. That 32 bits of a second are enough is a lemma of its own in
induction.py; that amounts stay at the largest u64 is in `Numbers.add` and so in the comparison with the Rust.
"""

from dataclasses import dataclass, field

DAY = 86_400


@dataclass(frozen=True)
class Rule:
    """How many spans there are, for how many the bound is reckoned, and what a mutant does otherwise."""

    spans: int = 40
    bound_spans: int = 32
    mutant: str = ""

    @property
    def stretch(self):
        return 2 * DAY // (self.bound_spans - 1)

    @staticmethod
    def like_the_real_one(spans, mutant=""):
        """A smaller window with about as large a share of spans to choose from."""
        return Rule(spans, spans - spans // 5, mutant)


MUTANTS = {
    "joined span keeps the earlier second": "earlier_last",
    "any span may join, however far the next one": "no_bound",
    "a span may join one second beyond the bound": "bound_off_by_one",
    "the oldest span may join too": "oldest_joins",
    "a spend counts while it is less than 86,400 s old": "exclusive_day",
    "joining drops the new spend's amount": "drops_newest",
    "joining drops the joined amount": "drops_joined",
    "a clock that goes back is believed": "believes_the_clock",
}


@dataclass(frozen=True)
class Span:
    last: object
    amount: object
    # For proofs only: what is true of the spends in the span and not written down in it.
    ghost: dict = field(default_factory=dict)


def counts(rule, now, span):
    age = now - span.last
    return age < DAY if rule.mutant == "exclusive_day" else age <= DAY


def effective(rule, decide, latest, now):
    """`now`, but never before the newest spend."""
    if rule.mutant == "believes_the_clock":
        return now
    return latest if decide.branch(now < latest) else now


def may_join(rule, spans, at):
    """Whether span `at` may join the next one."""
    if rule.mutant == "no_bound":
        return spans[at + 1].last == spans[at + 1].last
    before = spans[max(at - 1, 0)]
    bound = rule.stretch + 1 if rule.mutant == "bound_off_by_one" else rule.stretch
    return spans[at + 1].last - before.last <= bound


def join(rule, decide, left, right, right_is_new):
    if rule.mutant == "drops_newest" and right_is_new:
        amount = left.amount
    elif rule.mutant == "drops_joined":
        amount = right.amount
    else:
        amount = decide.add(left.amount, right.amount)
    last = left.last if rule.mutant == "earlier_last" else right.last
    return Span(last, amount, decide.join_ghosts(left.ghost, right.ghost))


def record(rule, decide, latest, spans, new):
    """The window, newest second and spans, after the spend `new`, whose `last` is the clock's second."""
    now = effective(rule, decide, latest, new.last)
    new = Span(now, new.amount, decide.ghost_of_spend(now, new))
    expired = 0
    while expired < len(spans) and not decide.branch(counts(rule, now, spans[expired])):
        expired += 1
    decide.forget(spans[:expired])
    spans = spans[expired:]
    if spans and decide.branch(spans[-1].last == now):
        return now, spans[:-1] + [join(rule, decide, spans[-1], new, False)]
    spans = spans + [new]
    if len(spans) > rule.spans:
        first = 0 if rule.mutant == "oldest_joins" else 1
        at = decide.least(spans, [(at, may_join(rule, spans, at)) for at in range(first, rule.spans)])
        joined = join(rule, decide, spans[at], spans[at + 1], at + 1 == rule.spans)
        spans = spans[:at] + [joined] + spans[at + 2 :]
    return now, spans


class Numbers:
    """Decides by looking."""

    U64_MAX = (1 << 64) - 1

    def branch(self, condition):
        return condition

    def add(self, one, other):
        return min(one + other, self.U64_MAX)

    def least(self, spans, candidates):
        # `min` gives the first of equals.
        return min((at for at, may in candidates if may), key=lambda at: spans[at].amount)

    def ghost_of_spend(self, now, new):
        return new.ghost

    def join_ghosts(self, left, right):
        return left

    def forget(self, spans):
        pass
