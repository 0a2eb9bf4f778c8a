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
    -- Lets keys and transfers refer to an account of their own operator only.
    UNIQUE (operator_id, account_id)
);

CREATE INDEX accounts_requested ON accounts (created_at) WHERE provisioning = 'requested';

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
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX api_keys_of_operator ON api_keys (operator_id, account_id, key_id);

CREATE TABLE transfers (
    transfer_id             TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id             TEXT COLLATE "binary" NOT NULL,
    network                 TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    account_id              TEXT COLLATE "binary" NOT NULL,
    key_id                  TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    recipient               TEXT COLLATE "binary" NOT NULL,
    amount_usdc             TEXT COLLATE "binary" NOT NULL,
    memo                    TEXT COLLATE "binary",
    idempotency_key         TEXT COLLATE "binary" NOT NULL,
    -- 64 bits in hex.
    tag                     TEXT COLLATE "binary" NOT NULL CHECK (length(tag) = 16),
    attempt                 BIGINT NOT NULL CHECK (attempt >= 1),
    state                   TEXT COLLATE "binary" NOT NULL
        CHECK (state IN ('claimed', 'signed', 'sent', 'settled', 'rejected', 'failed')),
    -- Who carries the transfer until then; after that, whoever takes the lease.
    lease_holder            TEXT COLLATE "binary" NOT NULL,
    lease_expires_at        TEXT COLLATE "binary" NOT NULL CHECK (length(lease_expires_at) = 27),
    -- Base64.
    signed_bytes            TEXT COLLATE "binary",
    tx_signature            TEXT COLLATE "binary",
    last_valid_block_height BIGINT,
    sent_at                 TEXT COLLATE "binary" CHECK (length(sent_at) = 27),
    slot                    BIGINT,
    -- When it settled, was rejected or failed.
    ended_at                TEXT COLLATE "binary" CHECK (length(ended_at) = 27),
    -- Why it was rejected or failed.
    reason                  TEXT COLLATE "binary",
    message                 TEXT COLLATE "binary",
    -- JSON array: how every rule judged a rejected transfer.
    checks                  TEXT COLLATE "binary",
    retry_at                TEXT COLLATE "binary" CHECK (length(retry_at) = 27),
    created_at              TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    updated_at              TEXT COLLATE "binary" NOT NULL CHECK (length(updated_at) = 27),
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
CREATE INDEX transfers_unfinished ON transfers (network, lease_expires_at)
    WHERE state IN ('claimed', 'signed', 'sent');

CREATE TABLE idempotency_keys (
    operator_id     TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    network         TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    idempotency_key TEXT COLLATE "binary" NOT NULL,
    -- SHA-256 of the request, in hex.
    fingerprint     TEXT COLLATE "binary" NOT NULL CHECK (length(fingerprint) = 64),
    -- The latest try.
    transfer_id     TEXT COLLATE "binary" NOT NULL REFERENCES transfers (transfer_id),
    attempt         BIGINT NOT NULL CHECK (attempt >= 1),
    -- By the chain's clock, unix seconds.
    created_unix    BIGINT NOT NULL,
    expires_unix    BIGINT NOT NULL,
    PRIMARY KEY (operator_id, network, idempotency_key)
);

CREATE INDEX idempotency_keys_of_transfer ON idempotency_keys (transfer_id);
