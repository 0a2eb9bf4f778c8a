-- Accounts' histories: money in and out, and rejected transfers; and how far the chain has been read for them.

CREATE TABLE history (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    -- Derived from signature, account and position in the transaction, so that reading the chain again gives the same id.
    entry_id     TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    network      TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    kind         TEXT COLLATE "binary" NOT NULL CHECK (kind IN ('transfer', 'deposit', 'withdrawal')),
    status       TEXT COLLATE "binary" NOT NULL CHECK (status IN ('settled', 'rejected')),
    amount_usdc  TEXT COLLATE "binary" NOT NULL,
    counterparty TEXT COLLATE "binary",
    memo         TEXT COLLATE "binary",
    -- As on the chain; this database may not know the transfer.
    transfer_id  TEXT COLLATE "binary",
    tx_signature TEXT COLLATE "binary",
    slot         BIGINT,
    reason       TEXT COLLATE "binary",
    message      TEXT COLLATE "binary",
    -- FALSE while its slot may still be forked away.
    is_final     BOOLEAN NOT NULL,
    created_at   TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- Its place in the account's list: the time at which it became visible. Places of one account are given while its ledger is
    -- locked, so none becomes visible before a lower one. While the past of an account that was found on the chain is being
    -- read, its entries have no place yet: their positions begin with `!`, which sorts below every time.
    position     TEXT COLLATE "binary" NOT NULL,
    -- A payment's number among those of its account, from 1; 0 if it was cut off the log; NULL until it is read.
    number       BIGINT,
    -- The tag of a payment, 64 bits in hex.
    tag          TEXT COLLATE "binary" CHECK (length(tag) = 16),
    -- With a tag: when it was recorded, by the relayers' clock. One node reports the block time, and must not make us forget the tag
    -- sooner.
    read_at      TEXT COLLATE "binary" CHECK (length(read_at) = 27),
    -- What the account had spent in 24 hours, this payment included, in micro-USDC, and the policy version that allowed it. Read
    -- only if the operator watches limits: see `limit_watches`.
    spent_micros   BIGINT,
    policy_version BIGINT,
    PRIMARY KEY (operator_id, entry_id),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK ((status = 'settled') = (tx_signature IS NOT NULL)),
    CHECK ((status = 'settled') = (slot IS NOT NULL)),
    CHECK ((status = 'rejected') = (reason IS NOT NULL)),
    CHECK ((status = 'rejected') = (message IS NOT NULL))
);

-- A filter selects kinds and statuses, and each pair of them is read in order. It begins with the account, which implies the
-- operator: SQLite would ignore a wider index and read through all of the account.
CREATE INDEX history_of_kind ON history (account_id, kind, status, position);
CREATE INDEX history_unplaced ON history (account_id, position) WHERE position < '0';
-- Transactions are found by slot, because rows of one time lie together.
CREATE INDEX history_of_slots ON history (network, slot, account_id) WHERE slot IS NOT NULL;
CREATE INDEX history_open ON history (network, slot) WHERE NOT is_final;
CREATE INDEX history_of_tag ON history (account_id, tag) WHERE tag IS NOT NULL;

-- Each account's money in micro-USDC, for comparing with the chain.
CREATE TABLE ledgers (
    operator_id        TEXT COLLATE "binary" NOT NULL,
    account_id         TEXT COLLATE "binary" NOT NULL,
    -- Money in minus money out, by its history.
    booked_micros      BIGINT NOT NULL,
    -- What the chain holds beyond that and no transaction explains yet.
    unexplained_micros BIGINT NOT NULL,
    -- The balance that the last sweep read, and its slot.
    seen_micros        BIGINT NOT NULL,
    seen_slot          BIGINT NOT NULL,
    -- The number up to which the history misses no payment, the numbers it has beyond a gap (`12-14,16-16`), and how many
    -- payments it has without a number.
    payments_up_to      BIGINT NOT NULL DEFAULT 0,
    payments_beyond     TEXT COLLATE "binary" NOT NULL DEFAULT '',
    payments_unnumbered BIGINT NOT NULL DEFAULT 0,
    -- A transfer waits until the history has every payment up to this number.
    payments_wanted     BIGINT NOT NULL DEFAULT 0,
    -- The last place given, in microseconds since 1970; negative while the past is being read.
    placed_micros       BIGINT NOT NULL DEFAULT 0,
    -- Latest slot in the history.
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

-- Transactions that were listed but that no node has shown yet.
CREATE TABLE pending_fetches (
    network      TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    tx_signature TEXT COLLATE "binary" NOT NULL,
    slot         BIGINT NOT NULL,
    tries        BIGINT NOT NULL CHECK (tries >= 1),
    next_try_at  TEXT COLLATE "binary" NOT NULL CHECK (length(next_try_at) = 27),
    PRIMARY KEY (network, tx_signature)
);

-- The process that indexes a network, and until when no other may.
CREATE TABLE indexers (
    network    TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (network IN ('test', 'live')),
    holder     TEXT COLLATE "binary" NOT NULL,
    expires_at TEXT COLLATE "binary" NOT NULL CHECK (length(expires_at) = 27)
);

-- When the last complete sweep of a network began: every ledger's `seen_micros` was read after that.
CREATE TABLE sweeps (
    network  TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (network IN ('test', 'live')),
    began_at TEXT COLLATE "binary" NOT NULL CHECK (length(began_at) = 27)
);
