-- One text for SQLite and Postgres: TEXT, BIGINT and BOOLEAN only. Text orders by its bytes in both: the collation
-- "binary" is built into SQLite, and is made on Postgres before this runs.
-- Moments are TEXT in UTC with six fractional digits, so that their order as text is their order in time.
-- Amounts are TEXT with six fractional digits. The chain's own times are BIGINT unix seconds.

CREATE TABLE operators (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    network     TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    name        TEXT COLLATE "binary" NOT NULL,
    address     TEXT COLLATE "binary" NOT NULL,
    created_at  TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    UNIQUE (network, address)
);

CREATE TABLE accounts (
    account_id     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id    TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    name           TEXT COLLATE "binary" NOT NULL,
    metadata       TEXT COLLATE "binary",
    address        TEXT COLLATE "binary" NOT NULL,
    token_account  TEXT COLLATE "binary" NOT NULL,
    status         TEXT COLLATE "binary" NOT NULL CHECK (status IN ('active', 'paused')),
    -- The allowlist as submitted, a JSON array of texts; NULL allows anyone.
    counterparties TEXT COLLATE "binary",
    -- 'requested' until the account is known to be on the chain.
    provisioning   TEXT COLLATE "binary" NOT NULL CHECK (provisioning IN ('requested', 'ready')),
    created_at     TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- What the operator has the service pay rent for: entries of the allowlist, those of policies that wait included.
    allowlist_entries BIGINT NOT NULL DEFAULT 0,
    -- Its rent has come back: it was found closed on the chain.
    is_closed      BOOLEAN NOT NULL DEFAULT FALSE,
    -- Lets keys and transfers refer to an account of their own operator only.
    UNIQUE (operator_id, account_id)
);

CREATE INDEX accounts_requested ON accounts (created_at) WHERE provisioning = 'requested';
CREATE INDEX accounts_of_status ON accounts (operator_id, status, account_id);
-- Of two indexes that both lead half of the way SQLite may take the one to all of an operator's accounts.
CREATE INDEX accounts_of_token_account ON accounts (token_account, operator_id, account_id);
CREATE INDEX accounts_of_address ON accounts (address);

CREATE TABLE api_keys (
    key_id      TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    -- SHA-256 of the key, in hex.
    key_hash    TEXT COLLATE "binary" NOT NULL UNIQUE CHECK (length(key_hash) = 64),
    operator_id TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- NULL for an operator key.
    account_id  TEXT COLLATE "binary",
    name        TEXT COLLATE "binary",
    hint        TEXT COLLATE "binary" NOT NULL,
    created_at  TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    expires_at  TEXT COLLATE "binary" CHECK (length(expires_at) = 27),
    revoked_at  TEXT COLLATE "binary" CHECK (length(revoked_at) = 27),
    -- When it last opened something, about a minute late.
    last_used_at TEXT COLLATE "binary" CHECK (length(last_used_at) = 27),
    -- From where it may be used, a JSON array of ranges; NULL for anywhere.
    allowed_cidrs TEXT COLLATE "binary",
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX api_keys_of_operator ON api_keys (operator_id, account_id, key_id);
-- Counted whenever a key is made.
CREATE INDEX api_keys_unrevoked ON api_keys (operator_id) WHERE revoked_at IS NULL;

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
    status_code      BIGINT CHECK (status_code BETWEEN 200 AND 299 OR status_code = 303),
    answer           TEXT COLLATE "binary",
    is_sealed        BOOLEAN NOT NULL DEFAULT FALSE,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, idempotency_key),
    CHECK ((status_code IS NULL) = (answer IS NULL))
);

CREATE INDEX requests_by_time ON requests (created_at);

-- What is written to see whether anything can be written: one row.
CREATE TABLE probes (
    probe     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    probed_at TEXT COLLATE "binary" NOT NULL CHECK (length(probed_at) = 27)
);
