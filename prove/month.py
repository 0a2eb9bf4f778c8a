"""What is proven of the window of 30 days (policy/src/month.rs), by induction over what it keeps.

A day's sum stands at the day's number modulo `days`. Whenever the window is read or written, the places of the days that began
since the newest one are emptied, at most `days` of them. Of any day that is still there, the step says when it goes; of any
second of it, the other two say which spends count.
"""

from z3 import If, Int, Not, Solver, unsat

DAY = 86_400
MONTH = 30 * DAY
DAYS = 31


def refutes(claim, *given):
    """A counterexample, or None."""
    solver = Solver()
    solver.add(*given, Not(claim))
    return None if solver.check() == unsat else solver.model()


def prove_that_a_sum_goes_on_its_day(days=DAYS):
    """Of a day that is `age` days before the newest one, as `passed` more begin. All cases: where as many days pass as there are
    places, each place is emptied."""
    for age in range(days):
        for passed in range(2 * days):
            today = age + passed
            emptied = any((today - at) % days == 0 for at in range(min(passed, days)))
            if emptied != (today >= days):
                return f"age {age}, {passed} days on: emptied is {emptied}"
    return None


def prove_that_30_days_count(days=DAYS):
    """Of a spend of up to 30 days ago, the day counts; however far a clock went back before."""
    second, now, newest = Int("second"), Int("now"), Int("newest")
    day, today = second / DAY, If(now / DAY > newest, now / DAY, newest)
    given = [0 <= second, newest <= now / DAY, now - second <= MONTH]
    return refutes(today < day + days, *given)


def prove_that_nothing_counts_a_day_longer(days=DAYS):
    second, now = Int("second"), Int("now")
    return refutes(now - second < MONTH + DAY, 0 <= second, second <= now, now / DAY < second / DAY + days)


LEMMAS = {
    "30 days: a sum goes when its day is over for 31 days, and not before": prove_that_a_sum_goes_on_its_day,
    "30 days: nothing of the last 2,592,000 s is missing": prove_that_30_days_count,
    "30 days: nothing counts for a day longer": prove_that_nothing_counts_a_day_longer,
}
MUTANTS = {
    "30 days of 30 sums": lambda: prove_that_30_days_count(30),
    "30 days of 32 sums": lambda: prove_that_nothing_counts_a_day_longer(32),
}
