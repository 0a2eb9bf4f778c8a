-- One text for SQLite and Postgres: TEXT, BIGINT and BOOLEAN only. Text orders by its bytes in both: the collation
-- "binary" is built into SQLite, and is made on Postgres before this runs.
-- Times are TEXT in UTC with six fractional digits, so they sort as text in order of time.
-- Amounts are TEXT with six fractional digits. Times of the chain are BIGINT unix seconds.

CREATE TABLE operators (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    network     TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    name        TEXT COLLATE "binary" NOT NULL,
    address     TEXT COLLATE "binary" NOT NULL,
    created_at  TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    UNIQUE (network, address)
);

CREATE TABLE accounts (
    -- It derives from genesis hash and address: two networks, operators or databases never give one id to two accounts.
    account_id     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id    TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    name           TEXT COLLATE "binary" NOT NULL,
    metadata       TEXT COLLATE "binary",
    address        TEXT COLLATE "binary" NOT NULL,
    token_account  TEXT COLLATE "binary" NOT NULL,
    status         TEXT COLLATE "binary" NOT NULL CHECK (status IN ('active', 'paused')),
    -- What becomes of a transfer that looks like a duplicate.
    duplicates     TEXT COLLATE "binary" NOT NULL DEFAULT 'as_asked' CHECK (duplicates IN ('as_asked', 'refused', 'paid')),
    -- 'requested' until the account has been seen on the chain.
    provisioning   TEXT COLLATE "binary" NOT NULL CHECK (provisioning IN ('requested', 'ready')),
    created_at     TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- Allowlist entries that the service pays rent for, pending policies included.
    allowlist_entries BIGINT NOT NULL DEFAULT 0,
    -- It was found closed on the chain, so its rent has come back.
    is_closed      BOOLEAN NOT NULL DEFAULT FALSE,
    -- Keys and transfers refer to it, so that they can name accounts of their own operator only.
    UNIQUE (operator_id, account_id)
);

CREATE INDEX accounts_requested ON accounts (created_at) WHERE provisioning = 'requested';
CREATE INDEX accounts_by_time ON accounts (operator_id, created_at, account_id);
CREATE INDEX accounts_of_status ON accounts (operator_id, status, created_at, account_id);
-- With the account id: otherwise SQLite may choose an index that lists all accounts of the operator.
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
    -- When it was last used, written up to a minute later.
    last_used_at TEXT COLLATE "binary" CHECK (length(last_used_at) = 27),
    -- Address ranges that it may be used from, a JSON array; NULL for anywhere.
    allowed_cidrs TEXT COLLATE "binary",
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX api_keys_of_operator ON api_keys (operator_id, account_id, key_id);
-- Counted whenever a key is made.
CREATE INDEX api_keys_unrevoked ON api_keys (operator_id) WHERE revoked_at IS NULL;

-- POST requests with an `Idempotency-Key` and their answers, kept for 24 hours. Transfers are in their own table.
CREATE TABLE requests (
    operator_id      TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    idempotency_key  TEXT COLLATE "binary" NOT NULL,
    -- SHA-256 of method, path and body, in hex.
    fingerprint      TEXT COLLATE "binary" NOT NULL CHECK (length(fingerprint) = 64),
    -- The API key that sent it. Only this key may repeat the request while it is unfinished.
    key_id           TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    -- 128 random bits in hex, from which the ids of what it creates are derived.
    seed             TEXT COLLATE "binary" NOT NULL CHECK (length(seed) = 32),
    -- The process that carries it out, and until when no other may.
    lease            TEXT COLLATE "binary" NOT NULL,
    lease_expires_at TEXT COLLATE "binary" NOT NULL CHECK (length(lease_expires_at) = 27),
    -- Its answer. One that contains a secret is sealed with the API key, which only its holder has.
    status_code      BIGINT CHECK (status_code BETWEEN 200 AND 299 OR status_code = 303),
    answer           TEXT COLLATE "binary",
    is_sealed        BOOLEAN NOT NULL DEFAULT FALSE,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, idempotency_key),
    CHECK ((status_code IS NULL) = (answer IS NULL))
);

CREATE INDEX requests_by_time ON requests (created_at);

-- One row, written to probe the database.
CREATE TABLE probes (
    probe     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    probed_at TEXT COLLATE "binary" NOT NULL CHECK (length(probed_at) = 27)
);
