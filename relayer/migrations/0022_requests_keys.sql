-- POST requests that came with an `Idempotency-Key`, but for transfers, and what they were answered with: kept for 24 hours.

CREATE TABLE requests (
    operator_id      TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    idempotency_key  TEXT COLLATE "binary" NOT NULL,
    -- SHA-256 of method, path and body, in hex.
    fingerprint      TEXT COLLATE "binary" NOT NULL CHECK (length(fingerprint) = 64),
    -- The API key that it came with: as long as it is unfinished, nobody else takes it up.
    key_id           TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    -- 128 random bits in hex: the ids of what it makes follow from them.
    seed             TEXT COLLATE "binary" NOT NULL CHECK (length(seed) = 32),
    -- Who carries it out, and until when nobody else does.
    lease            TEXT COLLATE "binary" NOT NULL,
    lease_expires_at TEXT COLLATE "binary" NOT NULL CHECK (length(lease_expires_at) = 27),
    -- What it was answered with; an answer that shows a secret is sealed with what only the holder of the API key has.
    status_code      BIGINT CHECK (status_code BETWEEN 200 AND 299),
    answer           TEXT COLLATE "binary",
    is_sealed        BOOLEAN NOT NULL DEFAULT FALSE,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, idempotency_key),
    CHECK ((status_code IS NULL) = (answer IS NULL))
);

CREATE INDEX requests_by_time ON requests (created_at);

-- When a key last opened something, about a minute late; and from where it may be used, a JSON array of ranges, NULL for
-- anywhere.
ALTER TABLE api_keys ADD COLUMN last_used_at TEXT COLLATE "binary" CHECK (length(last_used_at) = 27);
ALTER TABLE api_keys ADD COLUMN allowed_cidrs TEXT COLLATE "binary";
