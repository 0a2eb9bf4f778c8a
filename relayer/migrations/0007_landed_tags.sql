-- Payments that are on the chain and were not made from here, or may not have been: from a database that was lost, or by another
-- relayer. Kept for as long as an idempotency key lives, which may be longer than the chain
-- remembers a tag.
CREATE TABLE landed_tags (
    account_id TEXT COLLATE "binary" NOT NULL REFERENCES accounts (account_id),
    -- 64 bits in hex.
    tag        TEXT COLLATE "binary" NOT NULL CHECK (length(tag) = 16),
    landed_at  TEXT COLLATE "binary" NOT NULL CHECK (length(landed_at) = 27),
    -- The history was read whole from it on: every payment before it is known too.
    is_read    BOOLEAN NOT NULL,
    PRIMARY KEY (account_id, tag)
);
