-- What is written to see whether anything can be written: one row.
CREATE TABLE probes (
    probe     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    probed_at TEXT COLLATE "binary" NOT NULL CHECK (length(probed_at) = 27)
);

-- Counted whenever a key is made.
CREATE INDEX api_keys_unrevoked ON api_keys (operator_id) WHERE revoked_at IS NULL;
