"""What is proven of the model, by induction: whatever state fulfils the invariant, one spend later it is fulfilled again.

Beside what the window keeps, a state has what is true of the spends themselves. `theta` is any second: a window is read at
`theta + DAY`, for any such second from the newest spend on.

    first       second of a span's earliest spend
    due         sum of a span's spends at `theta` or later: what the day that is read truly holds
    lately      sum of a span's spends at `theta - stretch + 1` or later: what it may hold at most
    gone_due    `due` of spans that were forgotten

A record goes a path of its own for each way in which it can branch: the clock back or not, how many spans expired, the
same second or a new one, and which span joins. Which of those that may joins is left open but for one theorem: so the proof
holds for any choice.
"""

import time
from dataclasses import dataclass

from z3 import ULE, And, BitVec, If, Implies, Int, IntVal, Not, Solver, Sum, sat, unsat

from model import DAY, Span, counts, may_join, record

GHOSTS = ("first", "due", "lately")


@dataclass
class State:
    latest: object
    spans: list
    gone_due: object


def any_state(length):
    span = lambda at: Span(Int(f"last{at}"), Int(f"amount{at}"), {name: Int(f"{name}{at}") for name in GHOSTS})
    return State(Int("latest"), [span(at) for at in range(length)], Int("gone_due"))


def invariant(rule, theta, state, unchanged=()):
    """By name, so that a failure says what failed. Leaves out what it says of the spans of `unchanged`, which stand one
    after the other, where they still do: most come out of a step as they went in."""
    after_it = {id(span): id(before) for before, span in zip([None, *unchanged], unchanged)}
    last_of = lambda at: state.spans[at].last
    parts = {
        "no second before 0": state.latest >= 0,
        "what was forgotten is not due": And(
            state.gone_due >= 0, Implies(theta >= state.latest - DAY, state.gone_due == 0)
        ),
    }
    if state.spans:
        parts["the newest span ends with the newest spend"] = last_of(-1) == state.latest
        parts["the oldest span counts"] = last_of(0) >= state.latest - DAY
    for at, span in enumerate(state.spans):
        first, due, lately = (span.ghost[name] for name in GHOSTS)
        known = id(span) in after_it
        if at > 0 and not (known and after_it[id(span)] == id(state.spans[at - 1])):
            parts[f"span {at} begins after the one before"] = first > last_of(at - 1)
        if known:
            continue
        parts[f"span {at} is shorter than the stretch"] = And(first <= span.last, span.last - first < rule.stretch)
        parts[f"span {at} has its spends"] = And(
            0 <= due, due <= lately, lately <= span.amount,
            Implies(span.last < theta, due == 0),
            Implies(first >= theta, due == span.amount),
            Implies(first >= theta - rule.stretch + 1, lately == span.amount),
        )
    return parts


def counted(rule, theta, spans):
    """What the window counts when it is read at `theta + DAY`."""
    return Sum([If(counts(rule, theta + DAY, span), span.amount, 0) for span in spans] + [IntVal(0)])


def ghost_sum(name, spans):
    return Sum([span.ghost[name] for span in spans] + [IntVal(0)])


def span_theorems(rule, theta, latest, span):
    """What follows from the invariant alone, of one span."""
    first, due, lately = (span.ghost[name] for name in GHOSTS)
    counts_out = counted(rule, theta, [span])
    at_newest_or_later = theta >= latest - DAY
    return {
        "no spend stops counting early": Implies(at_newest_or_later, counts_out >= due),
        "no spend counts longer by the stretch or more": counts_out <= lately,
        "a span of one second is exact": Implies(And(at_newest_or_later, first == span.last), counts_out == due),
    }


class Paths:
    """Decides each way in turn: `choices` says which way to go, and what was not yet chosen goes the first way."""

    def __init__(self, rule, theta, choices):
        self.rule, self.theta, self.choices = rule, theta, list(choices)
        self.taken, self.ways, self.conditions = [], [], []
        self.forgotten = []
        self.name = []

    def choose(self, ways):
        at = len(self.taken)
        choice = self.choices[at] if at < len(self.choices) else 0
        self.taken.append(choice)
        self.ways.append(ways)
        return choice

    def branch(self, condition):
        goes = self.choose(2) == 0
        self.conditions.append(condition if goes else Not(condition))
        return goes

    def add(self, one, other):
        return one + other

    def least(self, spans, candidates):
        at, may = candidates[self.choose(len(candidates))]
        self.conditions.append(may)
        self.name.append(f"span {at} joins")
        return at

    def ghost_of_spend(self, now, new):
        amount = new.amount
        return {
            "first": now,
            "due": If(now >= self.theta, amount, 0),
            "lately": If(now >= self.theta - self.rule.stretch + 1, amount, 0),
        }

    def join_ghosts(self, left, right):
        joined = {name: left[name] + right[name] for name in ("due", "lately")}
        return {"first": left["first"], **joined}

    def forget(self, spans):
        self.forgotten = spans

    def next_choices(self):
        """The next path in order, or None after the last."""
        for at in reversed(range(len(self.taken))):
            if self.taken[at] + 1 < self.ways[at]:
                return self.taken[:at] + [self.taken[at] + 1]
        return None


def steps(rule, theta, state):
    """Every path of one record from `state`: (decisions, state after, spend)."""
    choices = []
    while choices is not None:
        paths = Paths(rule, theta, choices)
        spend = Span(Int("clock"), Int("amount"))
        latest, spans = record(rule, paths, state.latest, state.spans, spend)
        after = State(latest, spans, state.gone_due + ghost_sum("due", paths.forgotten))
        yield paths, after, spend
        choices = paths.next_choices()


def fails(solver, given, claims):
    """The first claim that does not follow, with a counterexample, or None."""
    solver.push()
    solver.add(*given)
    solver.add(Not(And(*claims.values())))
    answer = solver.check()
    if answer == unsat:
        failure = None
    elif answer == sat:
        model = solver.model()
        names = [name for name, claim in claims.items() if not model.eval(claim, model_completion=True)]
        failure = (names[0] if names else "?", model)
    else:
        raise TimeoutError(f"z3 says {answer}")
    solver.pop()
    return failure


def prove_steps(rule, lengths, progress):
    """How many paths there are, and None or the claim that fails on one of them, with the counterexample."""
    theta, cap = Int("theta"), Int("cap")
    solver = Solver()
    count, reported = 0, time.monotonic()
    for length in lengths:
        before = any_state(length)
        solver.push()
        solver.add(*invariant(rule, theta, before).values())
        # Proven by prove_theorems; given here, z3 need not find it anew on every path.
        follows = [
            claim
            for span in before.spans
            for claim in span_theorems(rule, theta, before.latest, span).values()
        ]
        for paths, after, spend in steps(rule, theta, before):
            count += 1
            given = [spend.amount >= 0, *paths.conditions, *follows]
            claims = invariant(rule, theta, after, unchanged=before.spans)
            # A payer spends only what leaves the window within the cap; then the day before it truly held no more.
            fits = counted(rule, after.latest - DAY, before.spans) + spend.amount <= cap
            truly = ghost_sum("due", after.spans) + after.gone_due
            claims["no more than the cap leaves in a day"] = Implies(
                And(theta == after.latest - DAY, fits), truly <= cap
            )
            failure = fails(solver, given, claims)
            if failure:
                return count, (f"{length} spans: {failure[0]}", failure[1])
            if time.monotonic() - reported > 15:
                reported = time.monotonic()
                progress(f"{rule.spans} spans: {count} paths, {length} spans before")
        solver.pop()
    return count, None


def prove_that_every_span_may_be_the_one_that_joins(rule):
    """That the paths are walked at all: nothing follows from conditions that contradict each other."""
    theta = Int("theta")
    missing = {f"span {at} joins" for at in range(1, rule.spans)}
    before, solver = any_state(rule.spans), Solver()
    solver.add(*invariant(rule, theta, before).values())
    for paths, _, spend in steps(rule, theta, before):
        if missing.intersection(paths.name):
            solver.push()
            solver.add(spend.amount >= 0, *paths.conditions)
            if solver.check() == sat:
                missing.difference_update(paths.name)
            solver.pop()
    return missing or None


def prove_theorems(rule, length):
    """Of each span; what the window counts is their sum, and so is what is due."""
    theta, state, solver = Int("theta"), any_state(length), Solver()
    solver.add(*invariant(rule, theta, state).values())
    for at, span in enumerate(state.spans):
        failure = fails(solver, [], span_theorems(rule, theta, state.latest, span))
        if failure:
            return (f"span {at}: {failure[0]}", failure[1])
    return None


def prove_that_enough_may_join(rule):
    """Of N spans and a new one, in a day and in order, at least N - bound_spans + 1 may join."""
    seconds = [Int(f"last{at}") for at in range(rule.spans + 1)]
    spans = [Span(second, 0) for second in seconds]
    solver = Solver()
    may_not = []
    for at in range(1, rule.spans):
        # 0 or 1, so that what is beyond the bound can be added up.
        beyond = Int(f"beyond{at}")
        may_not.append(beyond)
        solver.add(beyond >= 0, beyond <= 1)
        # What `beyond` says, and the one thing that follows from it.
        difference = seconds[at + 1] - seconds[at - 1]
        solver.add(If(may_join(rule, spans, at), beyond == 0, beyond == 1))
        solver.add(difference >= (rule.stretch + 1) * beyond)
    given = [one < other for one, other in zip(seconds, seconds[1:])]
    given.append(seconds[-1] - seconds[0] <= DAY)
    enough = (rule.spans - 1) - Sum(may_not) >= rule.spans - rule.bound_spans + 1
    return fails(solver, given, {"enough spans may join": enough})


def prove_that_32_bits_are_enough(_rule):
    """The age that is reckoned from the low 32 bits is the age, where the newest spend is at most a day ago."""
    now, latest, last = (BitVec(name, 64) for name in ("now", "latest", "last"))
    ago = lambda earlier, later: And(earlier <= later, ULE(later - earlier, DAY))
    low = lambda word: word & 0xFFFF_FFFF
    reckoned = (low(now) - low(last)) & 0xFFFF_FFFF
    return fails(Solver(), [ago(last, latest), ago(latest, now)], {"32 bits are enough": reckoned == now - last})


def prove_that_a_day_of_wall_time_is_covered(rule):
    """What is spent at most 86,400 s of wall time before still counts, though the chain's clock floors its seconds."""
    early, late = Int("early_micros"), Int("late_micros")
    span = Span(early / 1_000_000, 0)
    given = [0 <= early, early <= late, late - early <= DAY * 1_000_000]
    return fails(Solver(), given, {"a day of wall time": counts(rule, late / 1_000_000, span)})
