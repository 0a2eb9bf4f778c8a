-- Payments are counted: every payment of an account has a number on the chain, so that a missing one shows. Tags of payments
-- are found in the history; a list of its own is not needed any more.

-- Of a payment: its number among all of its account, from 1; 0 where it was cut off the log; NULL until it is read.
ALTER TABLE history ADD COLUMN number BIGINT;
-- Of a payment that was read from the chain: its tag, 64 bits in hex. Payments that were made from here stand under their
-- idempotency keys.
ALTER TABLE history ADD COLUMN tag TEXT COLLATE "binary" CHECK (length(tag) = 16);

-- With a tag: when it was read, by the host's clock. The time of its block is told by one node, and must not make it be forgotten sooner.
ALTER TABLE history ADD COLUMN read_at TEXT COLLATE "binary" CHECK (length(read_at) = 27);

CREATE INDEX history_of_tag ON history (account_id, tag) WHERE tag IS NOT NULL;

-- The number up to which the history misses no payment, what it has beyond a hole (`12-14,16-16`), and how many payments it
-- has without a number.
ALTER TABLE ledgers ADD COLUMN payments_up_to BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledgers ADD COLUMN payments_beyond TEXT COLLATE "binary" NOT NULL DEFAULT '';
ALTER TABLE ledgers ADD COLUMN payments_unnumbered BIGINT NOT NULL DEFAULT 0;
-- A transfer waits until the history has all payments up to this number.
ALTER TABLE ledgers ADD COLUMN payments_wanted BIGINT NOT NULL DEFAULT 0;

CREATE INDEX ledgers_wanted ON ledgers (account_id) WHERE payments_wanted > payments_up_to;

DROP TABLE landed_tags;

-- A transfer's id ends in its tag.
ALTER TABLE transfers DROP COLUMN tag;
