-- Policies: those that wait, those that were in force, and who asked for them.

-- Policies that loosen something and wait on the chain.
CREATE TABLE pending_policies (
    operator_id      TEXT COLLATE "binary" NOT NULL,
    account_id       TEXT COLLATE "binary" NOT NULL,
    -- What the chain calls the proposal, in hex.
    hash             TEXT COLLATE "binary" NOT NULL CHECK (length(hash) = 64),
    -- It can take the place of this policy version and of no other.
    expected_version BIGINT NOT NULL,
    -- The allowlist as submitted, a JSON array of texts; NULL allows anyone.
    counterparties   TEXT COLLATE "binary",
    allowlist_entries BIGINT NOT NULL DEFAULT 0,
    -- When to look at it: when it can take effect, as far as is known. By the chain's clock, unix seconds.
    due_unix         BIGINT NOT NULL,
    -- FALSE until it is known to be on the chain; that is when it is announced.
    is_announced     BOOLEAN NOT NULL,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, account_id, hash),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX pending_policies_due ON pending_policies (due_unix);

-- Every version of an account's policy, as transactions on the chain set it, whoever signed them; and who asked for it over the API.

CREATE TABLE policy_versions (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    version      BIGINT NOT NULL,
    set_at       TEXT COLLATE "binary" NOT NULL CHECK (length(set_at) = 27),
    -- NULL where it was cut off the log.
    signer       TEXT COLLATE "binary",
    tx_signature TEXT COLLATE "binary" NOT NULL,
    -- JSON object, as it is answered; NULL where it could not be read any more.
    policy       TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, account_id, version),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE TABLE policy_askings (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    -- The signature of the transaction that did what was asked; of a policy that waits, the hash of its draft in hex.
    done_by      TEXT COLLATE "binary" NOT NULL,
    -- Of a policy that waited: the version that it became.
    version      BIGINT,
    key_id       TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    reason       TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, account_id, done_by),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE UNIQUE INDEX policy_askings_of_version ON policy_askings (operator_id, account_id, version) WHERE version IS NOT NULL;

-- The latest policies of each account by their versions: what a change changed, and what a payment was held to.
CREATE TABLE policies (
    operator_id         TEXT COLLATE "binary" NOT NULL,
    account_id          TEXT COLLATE "binary" NOT NULL,
    version             BIGINT NOT NULL,
    -- Decimal USDC; NULL: no limit.
    max_single_transfer TEXT COLLATE "binary",
    max_daily_spend     TEXT COLLATE "binary",
    require_memo        BOOLEAN NOT NULL,
    paused              BOOLEAN NOT NULL,
    -- JSON arrays of addresses; NULL: anyone may be paid.
    wallets             TEXT COLLATE "binary",
    token_accounts      TEXT COLLATE "binary",
    -- FALSE: it was found in force, and the transaction that set it was not read.
    is_told             BOOLEAN NOT NULL,
    PRIMARY KEY (operator_id, account_id, version),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK ((wallets IS NULL) = (token_accounts IS NULL))
);

-- Since when an operator wants to know of limits.
CREATE TABLE limit_watches (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    since       TEXT COLLATE "binary" NOT NULL CHECK (length(since) = 27)
);
