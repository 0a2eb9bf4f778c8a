-- One text for SQLite and Postgres: TEXT, BIGINT and BOOLEAN only.
-- Moments are TEXT in UTC with six fractional digits, so that their order as text is their order in time.
-- Amounts are TEXT with six fractional digits. The chain's own times are BIGINT unix seconds.

CREATE TABLE operators (
    operator_id TEXT NOT NULL PRIMARY KEY,
    network     TEXT NOT NULL CHECK (network IN ('test', 'live')),
    name        TEXT NOT NULL,
    address     TEXT NOT NULL,
    created_at  TEXT NOT NULL CHECK (length(created_at) = 27),
    UNIQUE (network, address)
);

CREATE TABLE accounts (
    account_id     TEXT NOT NULL PRIMARY KEY,
    operator_id    TEXT NOT NULL REFERENCES operators (operator_id),
    name           TEXT NOT NULL,
    metadata       TEXT,
    address        TEXT NOT NULL,
    token_account  TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('active', 'paused')),
    -- The allowlist as submitted, a JSON array of texts; NULL allows anyone.
    counterparties TEXT,
    -- 'requested' until the account is known to be on the chain.
    provisioning   TEXT NOT NULL CHECK (provisioning IN ('requested', 'ready')),
    created_at     TEXT NOT NULL CHECK (length(created_at) = 27),
    -- Lets keys and transfers refer to an account of their own operator only.
    UNIQUE (operator_id, account_id)
);

CREATE INDEX accounts_requested ON accounts (created_at) WHERE provisioning = 'requested';

CREATE TABLE api_keys (
    key_id      TEXT NOT NULL PRIMARY KEY,
    -- SHA-256 of the key, in hex.
    key_hash    TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
    operator_id TEXT NOT NULL REFERENCES operators (operator_id),
    -- NULL for an operator key.
    account_id  TEXT,
    name        TEXT,
    hint        TEXT NOT NULL,
    created_at  TEXT NOT NULL CHECK (length(created_at) = 27),
    expires_at  TEXT CHECK (length(expires_at) = 27),
    revoked_at  TEXT CHECK (length(revoked_at) = 27),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX api_keys_of_operator ON api_keys (operator_id, account_id, key_id);

CREATE TABLE transfers (
    transfer_id             TEXT NOT NULL PRIMARY KEY,
    operator_id             TEXT NOT NULL,
    network                 TEXT NOT NULL CHECK (network IN ('test', 'live')),
    account_id              TEXT NOT NULL,
    key_id                  TEXT NOT NULL REFERENCES api_keys (key_id),
    recipient               TEXT NOT NULL,
    amount_usdc             TEXT NOT NULL,
    memo                    TEXT,
    idempotency_key         TEXT NOT NULL,
    -- 64 bits in hex.
    tag                     TEXT NOT NULL CHECK (length(tag) = 16),
    attempt                 BIGINT NOT NULL CHECK (attempt >= 1),
    state                   TEXT NOT NULL
        CHECK (state IN ('claimed', 'signed', 'sent', 'settled', 'rejected', 'failed')),
    -- Until then a claimed transfer belongs to the process that claimed it.
    lease_expires_at        TEXT NOT NULL CHECK (length(lease_expires_at) = 27),
    -- Base64.
    signed_bytes            TEXT,
    tx_signature            TEXT,
    last_valid_block_height BIGINT,
    sent_at                 TEXT CHECK (length(sent_at) = 27),
    slot                    BIGINT,
    -- When it settled, was rejected or failed.
    ended_at                TEXT CHECK (length(ended_at) = 27),
    -- Why it was rejected or failed.
    reason                  TEXT,
    message                 TEXT,
    -- JSON array: how every rule judged a rejected transfer.
    checks                  TEXT,
    retry_at                TEXT CHECK (length(retry_at) = 27),
    created_at              TEXT NOT NULL CHECK (length(created_at) = 27),
    updated_at              TEXT NOT NULL CHECK (length(updated_at) = 27),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    -- Every state has its facts.
    CHECK (state NOT IN ('signed', 'sent')
        OR (signed_bytes IS NOT NULL AND tx_signature IS NOT NULL AND last_valid_block_height IS NOT NULL)),
    CHECK (state <> 'sent' OR sent_at IS NOT NULL),
    CHECK (state <> 'settled' OR (tx_signature IS NOT NULL AND slot IS NOT NULL)),
    CHECK (state NOT IN ('rejected', 'failed') OR (reason IS NOT NULL AND message IS NOT NULL)),
    CHECK (state <> 'rejected' OR checks IS NOT NULL),
    CHECK ((ended_at IS NOT NULL) = (state IN ('settled', 'rejected', 'failed')))
);

CREATE INDEX transfers_of_account ON transfers (operator_id, account_id, transfer_id);
CREATE INDEX transfers_unfinished ON transfers (network, transfer_id)
    WHERE state IN ('claimed', 'signed', 'sent');

CREATE TABLE idempotency_keys (
    operator_id     TEXT NOT NULL REFERENCES operators (operator_id),
    network         TEXT NOT NULL CHECK (network IN ('test', 'live')),
    idempotency_key TEXT NOT NULL,
    -- SHA-256 of the request, in hex.
    fingerprint     TEXT NOT NULL CHECK (length(fingerprint) = 64),
    -- The latest try.
    transfer_id     TEXT NOT NULL REFERENCES transfers (transfer_id),
    attempt         BIGINT NOT NULL CHECK (attempt >= 1),
    -- By the chain's clock, unix seconds.
    created_unix    BIGINT NOT NULL,
    expires_unix    BIGINT NOT NULL,
    PRIMARY KEY (operator_id, network, idempotency_key)
);

CREATE INDEX idempotency_keys_of_transfer ON idempotency_keys (transfer_id);
