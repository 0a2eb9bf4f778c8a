-- The Unix second that a payment's bytes name, which the program holds to its own clock: payments are found by tag and this second. The
-- date is what one node says. NULL: from before this file, no payment, or a node did not show the instruction.
ALTER TABLE history ADD COLUMN asked_at BIGINT;
