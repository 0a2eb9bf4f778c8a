-- What moved money in or out of an account, or was refused; and how far the chain has been read for it.

CREATE TABLE history (
    -- Follows from signature, account and place in the transaction, so that indexing anew gives the same.
    entry_id     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    network      TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    kind         TEXT COLLATE "binary" NOT NULL CHECK (kind IN ('transfer', 'deposit', 'withdrawal')),
    status       TEXT COLLATE "binary" NOT NULL CHECK (status IN ('settled', 'rejected')),
    amount_usdc  TEXT COLLATE "binary" NOT NULL,
    counterparty TEXT COLLATE "binary",
    memo         TEXT COLLATE "binary",
    -- As the chain has it: not always a transfer that this database knows.
    transfer_id  TEXT COLLATE "binary",
    tx_signature TEXT COLLATE "binary",
    slot         BIGINT,
    reason       TEXT COLLATE "binary",
    message      TEXT COLLATE "binary",
    -- FALSE as long as its slot may still be forked away.
    is_final     BOOLEAN NOT NULL,
    created_at   TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- Where it stands in the account's list.
    position     TEXT COLLATE "binary" NOT NULL,
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK ((status = 'settled') = (tx_signature IS NOT NULL)),
    CHECK ((status = 'settled') = (slot IS NOT NULL)),
    CHECK ((status = 'rejected') = (reason IS NOT NULL)),
    CHECK ((status = 'rejected') = (message IS NOT NULL))
);

CREATE INDEX history_of_account ON history (account_id, position);
CREATE INDEX history_of_slots ON history (account_id, slot) WHERE slot IS NOT NULL;
CREATE INDEX history_of_signature ON history (tx_signature) WHERE tx_signature IS NOT NULL;
CREATE INDEX history_open ON history (network, slot) WHERE NOT is_final;

CREATE INDEX accounts_of_token_account ON accounts (token_account);
CREATE INDEX accounts_of_address ON accounts (address);

-- Each account's money in micro-USDC, for comparing with the chain.
CREATE TABLE ledgers (
    account_id         TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
    -- What came in less what went out, by its history.
    booked_micros      BIGINT NOT NULL,
    -- What the chain holds beyond that and no transaction explains.
    unexplained_micros BIGINT NOT NULL,
    -- What a sweep saw last, and at which slot.
    seen_micros        BIGINT NOT NULL,
    seen_slot          BIGINT NOT NULL
);

-- How far the signatures of an address (an operator's, or a token account) have been read.
CREATE TABLE walks (
    network          TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    address          TEXT COLLATE "binary" NOT NULL,
    -- Everything up to this one was read.
    until_signature  TEXT COLLATE "binary",
    until_slot       BIGINT,
    -- A walk under way: where it began, which is where the next one ends, and how far back it has come.
    under_way        BOOLEAN NOT NULL,
    top_signature    TEXT COLLATE "binary",
    top_slot         BIGINT,
    before_signature TEXT COLLATE "binary",
    PRIMARY KEY (network, address),
    CHECK ((until_signature IS NULL) = (until_slot IS NULL)),
    CHECK ((top_signature IS NULL) = (top_slot IS NULL)),
    CHECK (under_way OR (top_signature IS NULL AND before_signature IS NULL))
);

CREATE INDEX walks_under_way ON walks (network, address) WHERE under_way;

-- Transactions that were listed and that no node would show yet.
CREATE TABLE owed_transactions (
    network      TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    tx_signature TEXT COLLATE "binary" NOT NULL,
    slot         BIGINT NOT NULL,
    tries        BIGINT NOT NULL CHECK (tries >= 1),
    next_try_at  TEXT COLLATE "binary" NOT NULL CHECK (length(next_try_at) = 27),
    PRIMARY KEY (network, tx_signature)
);

-- Which process indexes a network, and until when no other does.
CREATE TABLE indexers (
    network    TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (network IN ('test', 'live')),
    holder     TEXT COLLATE "binary" NOT NULL,
    expires_at TEXT COLLATE "binary" NOT NULL CHECK (length(expires_at) = 27)
);
