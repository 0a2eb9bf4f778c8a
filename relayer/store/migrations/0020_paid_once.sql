-- The program refuses what was asked for more than an hour ago, and remembers every payment of a day: payments are no longer counted.

-- The chain's second at the claim; of what waited for a person, at the first signature. NULL: from before this file, and too old.
ALTER TABLE transfers ADD COLUMN asked_at BIGINT;
-- The highest last valid block height of the bytes that were signed before those in `signed_bytes`.
ALTER TABLE transfers ADD COLUMN earlier_valid_until BIGINT;
