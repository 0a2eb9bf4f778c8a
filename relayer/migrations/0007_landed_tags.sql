-- Payments that an account's history on the chain showed, and that were not ours or may not have been: a database that was
-- lost, or another relayer's. Kept for as long as an idempotency key lives, which may be longer than the chain
-- remembers a tag.
CREATE TABLE landed_tags (
    account_id TEXT COLLATE "binary" NOT NULL REFERENCES accounts (account_id),
    -- 64 bits in hex.
    tag        TEXT COLLATE "binary" NOT NULL CHECK (length(tag) = 16),
    landed_at  TEXT COLLATE "binary" NOT NULL CHECK (length(landed_at) = 27),
    PRIMARY KEY (account_id, tag)
);
