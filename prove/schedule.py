"""The schedules of policy/tests/schedule/, number for number."""

WORD = (1 << 64) - 1
I64_MIN, I64_MAX = -(1 << 63), (1 << 63) - 1


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        word = self.state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
        return word ^ (word >> 31)

    def below(self, end):
        return self.next() % end


def clamp(second):
    return max(I64_MIN, min(I64_MAX, second))


class Schedule:
    def __init__(self, seeds):
        self.random = random = Random(seeds.next())
        starts = [1_700_000_000, 0, -100_000, (1 << 32) - 40_000, I64_MAX - 3_000_000]
        self.now = starts[random.below(5)]
        self.wait_below = [3, 60, 300, 2_000, 4_000, 12_000, 100_000][random.below(7)]
        self.amount_shift = [0, 4, 20, 34, 44, 62][random.below(6)]
        self.astray = [0, 0, 8, 500][random.below(4)]

    def next(self):
        random = self.random
        self.now = clamp(self.now + random.below(self.wait_below))
        if self.astray and random.below(self.astray) == 0:
            by = random.next() >> 44
            kind = random.below(8)
            if kind < 6:
                return clamp(self.now - by), 1 + random.below(1_000)
            self.now = clamp(self.now + (86_399 + (by & 3) if kind == 6 else by << 12))
        shift = min(self.amount_shift + random.below(11), 63)
        return self.now, random.next() >> shift
