-- What moved money in or out of an account, or was refused; and how far the chain has been read for it.

CREATE TABLE history (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    -- Follows from signature, account and place in the transaction, so that indexing anew gives the same.
    entry_id     TEXT COLLATE "binary" NOT NULL,
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
    -- Where it stands in the account's list: the moment at which it became visible. Places of one account are given one after
    -- another, while its ledger is locked, so none becomes visible before a lower one. While the past of an account that was
    -- found on the chain is being read, its entries have none: their positions begin with `!`, below every moment.
    position     TEXT COLLATE "binary" NOT NULL,
    -- Of a payment: its number among all of its account, from 1; 0 where it was cut off the log; NULL until it is read.
    number       BIGINT,
    -- Of a payment that was read from the chain: its tag, 64 bits in hex. Payments that were made from here stand under their
    -- idempotency keys.
    tag          TEXT COLLATE "binary" CHECK (length(tag) = 16),
    -- With a tag: when it was read, by the host's clock. The time of its block is told by one node, and must not make it be
    -- forgotten sooner.
    read_at      TEXT COLLATE "binary" CHECK (length(read_at) = 27),
    -- What had left the account in 24 hours with a payment, in micro-USDC, and the policy that let it pass. Read where somebody
    -- wants to know of limits: since when is kept for each operator.
    spent_micros   BIGINT,
    policy_version BIGINT,
    PRIMARY KEY (operator_id, entry_id),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK ((status = 'settled') = (tx_signature IS NOT NULL)),
    CHECK ((status = 'settled') = (slot IS NOT NULL)),
    CHECK ((status = 'rejected') = (reason IS NOT NULL)),
    CHECK ((status = 'rejected') = (message IS NOT NULL))
);

-- A filter lets some kinds of entries through, each with some statuses: every pair is found in its order. Without the operator,
-- which the account tells: SQLite leaves a wider index aside and reads through all of the account.
CREATE INDEX history_of_kind ON history (account_id, kind, status, position);
CREATE INDEX history_unplaced ON history (account_id, position) WHERE position < '0';
-- Transactions are found by the slots that they are listed with, where the rows of a moment lie side by side.
CREATE INDEX history_of_slots ON history (network, slot, account_id) WHERE slot IS NOT NULL;
CREATE INDEX history_open ON history (network, slot) WHERE NOT is_final;
CREATE INDEX history_of_tag ON history (account_id, tag) WHERE tag IS NOT NULL;

-- Each account's money in micro-USDC, for comparing with the chain.
CREATE TABLE ledgers (
    operator_id        TEXT COLLATE "binary" NOT NULL,
    account_id         TEXT COLLATE "binary" NOT NULL,
    -- What came in less what went out, by its history.
    booked_micros      BIGINT NOT NULL,
    -- What the chain holds beyond that and no transaction explains.
    unexplained_micros BIGINT NOT NULL,
    -- What a sweep saw last, and at which slot.
    seen_micros        BIGINT NOT NULL,
    seen_slot          BIGINT NOT NULL,
    -- The number up to which the history misses no payment, what it has beyond a hole (`12-14,16-16`), and how many payments
    -- it has without a number.
    payments_up_to      BIGINT NOT NULL DEFAULT 0,
    payments_beyond     TEXT COLLATE "binary" NOT NULL DEFAULT '',
    payments_unnumbered BIGINT NOT NULL DEFAULT 0,
    -- A transfer waits until the history has all payments up to this number.
    payments_wanted     BIGINT NOT NULL DEFAULT 0,
    -- The last place that was given, in microseconds since 1970; its negative as long as the past is being read.
    placed_micros       BIGINT NOT NULL DEFAULT 0,
    -- The latest slot of which the history tells.
    newest_slot         BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (operator_id, account_id),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX ledgers_unexplained ON ledgers (operator_id, account_id) WHERE unexplained_micros <> 0;
CREATE INDEX ledgers_wanted ON ledgers (operator_id, account_id) WHERE payments_wanted > payments_up_to;
CREATE INDEX ledgers_unplaced ON ledgers (operator_id, account_id) WHERE placed_micros < 0;

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
CREATE TABLE pending_fetches (
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

-- When the last look began that went over every account of a network: since then each ledger's `seen_micros` is known.
CREATE TABLE sweeps (
    network  TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (network IN ('test', 'live')),
    began_at TEXT COLLATE "binary" NOT NULL CHECK (length(began_at) = 27)
);
