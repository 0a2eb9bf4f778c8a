-- What the chain says of accounts is announced: money that came or was withdrawn, limits that are reached, policies and halts.

-- What an event tells of, where that is a fact of the chain: announced once, whoever reads it and however often.
ALTER TABLE events ADD COLUMN fact TEXT COLLATE "binary";
CREATE UNIQUE INDEX events_of_fact ON events (fact) WHERE fact IS NOT NULL;

-- What had left an account in 24 hours with a payment, in micro-USDC, and the policy that let it pass. Read where somebody wants to
-- know of limits: since when is kept for each operator.
ALTER TABLE history ADD COLUMN spent_micros BIGINT;
ALTER TABLE history ADD COLUMN policy_version BIGINT;

CREATE TABLE limit_watches (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    since       TEXT COLLATE "binary" NOT NULL CHECK (length(since) = 27)
);

-- The latest policies of each account by their versions: what a change changed, and what a payment was held to.
CREATE TABLE policies (
    account_id          TEXT COLLATE "binary" NOT NULL REFERENCES accounts (account_id),
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
    PRIMARY KEY (account_id, version),
    CHECK ((wallets IS NULL) = (token_accounts IS NULL))
);
