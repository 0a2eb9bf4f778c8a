-- Policies: pending ones, those that were in force, and who requested them.

-- Policies that loosen something and are pending on the chain.
CREATE TABLE pending_policies (
    operator_id      TEXT COLLATE "binary" NOT NULL,
    account_id       TEXT COLLATE "binary" NOT NULL,
    -- The proposal's hash on the chain, in hex.
    hash             TEXT COLLATE "binary" NOT NULL CHECK (length(hash) = 64),
    -- The only policy version that it can replace.
    expected_version BIGINT NOT NULL,
    -- Entries of its allowlist, which count for the operator's quota.
    allowlist_entries BIGINT NOT NULL DEFAULT 0,
    -- When to look at it: the expected time at which it can take effect, by the chain's clock, unix seconds.
    due_unix         BIGINT NOT NULL,
    -- FALSE until it has been seen on the chain, which is when it is announced.
    is_announced     BOOLEAN NOT NULL,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- The wallet that put it on the chain past this service; NULL if this service did.
    sealed_by        TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, account_id, hash),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX pending_policies_due ON pending_policies (due_unix);

-- Every version of an account's policy that was read: what a change replaced, what a payment was judged by, and who set it.

CREATE TABLE policy_versions (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    version      BIGINT NOT NULL,
    -- The transaction that set it, and when; NULL if it was found in force, before that was read.
    tx_signature TEXT COLLATE "binary",
    set_at       TEXT COLLATE "binary" CHECK (length(set_at) = 27),
    -- NULL if it was cut off the log, too.
    signer       TEXT COLLATE "binary",
    -- JSON object, as the API shows it; NULL if it could no longer be read.
    policy       TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, account_id, version),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK ((tx_signature IS NULL) = (set_at IS NULL))
);

-- Who requested a version over the API.

CREATE TABLE policy_askings (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    -- The signature of the transaction that did what was requested; for a pending policy, the hash of its draft in hex.
    done_by      TEXT COLLATE "binary" NOT NULL,
    -- The version that a pending policy became.
    version      BIGINT,
    key_id       TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    reason       TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, account_id, done_by),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE UNIQUE INDEX policy_askings_of_version ON policy_askings (operator_id, account_id, version) WHERE version IS NOT NULL;

-- Pauses and halts that landed and may still be forked away: followed until they are final, and sent again if they are gone.
CREATE TABLE stops (
    tx_signature TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id  TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- NULL: every account of the operator.
    account_id   TEXT COLLATE "binary",
    -- A pause by the policy; otherwise a halt.
    is_pause     BOOLEAN NOT NULL,
    landed_at    TEXT COLLATE "binary" NOT NULL CHECK (length(landed_at) = 27),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK (account_id IS NOT NULL OR NOT is_pause)
);

-- Since when an operator watches limits: it has a webhook for events about them.
CREATE TABLE limit_watches (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    since       TEXT COLLATE "binary" NOT NULL CHECK (length(since) = 27)
);
