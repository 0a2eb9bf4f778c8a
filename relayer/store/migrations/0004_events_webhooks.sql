-- Events, webhooks and deliveries.

CREATE TABLE events (
    operator_id  TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    event_id     TEXT COLLATE "binary" NOT NULL,
    event_type   TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary",
    transfer_id  TEXT COLLATE "binary",
    threshold_usdc TEXT COLLATE "binary",
    webhook_id   TEXT COLLATE "binary",
    -- JSON object, the payload as it is sent.
    data         TEXT COLLATE "binary" NOT NULL,
    created_at   TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- The on-chain fact it announces; unique. A transfer's step is one as well, once a fork has opened the transfer again.
    fact         TEXT COLLATE "binary",
    -- Its place in the operator's stream.
    place        BIGINT,
    PRIMARY KEY (operator_id, event_id),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    FOREIGN KEY (operator_id, transfer_id) REFERENCES transfers (operator_id, transfer_id),
    -- Every type has its subject.
    CHECK ((event_type LIKE 'transfer.%') = (transfer_id IS NOT NULL)),
    CHECK ((event_type = 'balance.low_threshold') = (threshold_usdc IS NOT NULL)),
    CHECK ((event_type = 'webhook.test') = (webhook_id IS NOT NULL)),
    CHECK ((account_id IS NULL) = (event_type = 'webhook.test'))
);

-- A transfer announces each of its steps once, and once more after each time that a fork has opened it again.
CREATE UNIQUE INDEX events_of_step ON events (operator_id, transfer_id, event_type, COALESCE(fact, ''));
CREATE INDEX events_of_type ON events (operator_id, event_type, event_id);
CREATE INDEX events_of_account_and_type ON events (operator_id, account_id, event_type, event_id);
CREATE UNIQUE INDEX events_of_fact ON events (operator_id, fact) WHERE fact IS NOT NULL;
CREATE INDEX events_in_stream ON events (operator_id, place, event_id) WHERE place IS NOT NULL;

-- A stream has one order: no event becomes visible before one with a lower place. The writer of an event marks it as waiting (0).
-- Afterwards all waiting events get places, while the operator's row here is locked. Operators without a stream have no row, and
-- their events no place.
CREATE TABLE event_streams (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    -- The last place given.
    last_place  BIGINT NOT NULL
);

CREATE TABLE webhooks (
    webhook_id      TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id     TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    url             TEXT COLLATE "binary" NOT NULL,
    -- JSON arrays of texts; an empty list of accounts means all.
    events          TEXT COLLATE "binary" NOT NULL,
    account_ids     TEXT COLLATE "binary" NOT NULL,
    threshold_usdc  TEXT COLLATE "binary",
    status          TEXT COLLATE "binary" NOT NULL CHECK (status IN ('enabled', 'disabled')),
    disabled_reason TEXT COLLATE "binary" CHECK (disabled_reason IN ('requested', 'failing')),
    disabled_at     TEXT COLLATE "binary" CHECK (length(disabled_at) = 27),
    -- Sealed with a key that is not in the database.
    secret          TEXT COLLATE "binary" NOT NULL,
    previous_secret TEXT COLLATE "binary",
    previous_until  TEXT COLLATE "binary" CHECK (length(previous_until) = 27),
    -- Failed attempts since the last success, and the time of the first of them.
    failures        BIGINT NOT NULL CHECK (failures >= 0),
    failing_since   TEXT COLLATE "binary" CHECK (length(failing_since) = 27),
    created_at      TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    updated_at      TEXT COLLATE "binary" NOT NULL CHECK (length(updated_at) = 27),
    CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL)),
    CHECK ((status = 'disabled') = (disabled_at IS NOT NULL)),
    CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    CHECK ((failures = 0) = (failing_since IS NULL))
);

CREATE INDEX webhooks_of_operator ON webhooks (operator_id, webhook_id);
CREATE INDEX webhooks_disabled ON webhooks (webhook_id) WHERE status = 'disabled';

-- Deleted webhooks that may still have deliveries, which are deleted a few at a time.
CREATE TABLE deleted_webhooks (
    operator_id TEXT COLLATE "binary" NOT NULL,
    webhook_id  TEXT COLLATE "binary" NOT NULL,
    PRIMARY KEY (operator_id, webhook_id)
);

-- One event on its way to one webhook. Without a foreign key to the webhook: a fact must be recorded even if the webhook is
-- deleted at that moment. A delivery left over by that is never attempted.
CREATE TABLE deliveries (
    operator_id      TEXT COLLATE "binary" NOT NULL,
    webhook_id       TEXT COLLATE "binary" NOT NULL,
    event_id         TEXT COLLATE "binary" NOT NULL,
    state            TEXT COLLATE "binary" NOT NULL CHECK (state IN ('pending', 'delivered', 'undelivered')),
    -- Failed attempts in the current round; a replay begins a new one.
    failures         BIGINT NOT NULL CHECK (failures >= 0),
    next_attempt_at  TEXT COLLATE "binary" CHECK (length(next_attempt_at) = 27),
    -- When it was delivered or given up.
    ended_at         TEXT COLLATE "binary" CHECK (length(ended_at) = 27),
    -- Attempts in all rounds.
    attempts         BIGINT NOT NULL CHECK (attempts >= 0),
    -- The process that attempts it, and until when no other may.
    lease_holder     TEXT COLLATE "binary",
    lease_expires_at TEXT COLLATE "binary",
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, webhook_id, event_id),
    FOREIGN KEY (operator_id, event_id) REFERENCES events (operator_id, event_id),
    CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL)),
    CHECK ((state = 'pending') = (ended_at IS NULL)),
    CHECK ((lease_holder IS NULL) = (lease_expires_at IS NULL))
);

CREATE INDEX deliveries_due ON deliveries (operator_id, webhook_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_next ON deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (lease_holder) WHERE lease_holder IS NOT NULL;
CREATE INDEX deliveries_of_state ON deliveries (operator_id, webhook_id, state, event_id);
-- The event first: with the operator first, SQLite would read through all of the operator's deliveries.
CREATE INDEX deliveries_of_event ON deliveries (event_id, operator_id);

CREATE TABLE delivery_attempts (
    operator_id TEXT COLLATE "binary" NOT NULL,
    webhook_id  TEXT COLLATE "binary" NOT NULL,
    event_id    TEXT COLLATE "binary" NOT NULL,
    attempt     BIGINT NOT NULL CHECK (attempt >= 1),
    started_at  TEXT COLLATE "binary" NOT NULL CHECK (length(started_at) = 27),
    ended_at    TEXT COLLATE "binary" NOT NULL CHECK (length(ended_at) = 27),
    -- The HTTP status and the beginning of the answer's body, or why there was no answer.
    status_code BIGINT,
    body        TEXT COLLATE "binary",
    unanswered  TEXT COLLATE "binary",
    PRIMARY KEY (operator_id, webhook_id, event_id, attempt),
    FOREIGN KEY (operator_id, webhook_id, event_id) REFERENCES deliveries (operator_id, webhook_id, event_id),
    CHECK ((status_code IS NULL) = (unanswered IS NOT NULL)),
    CHECK ((status_code IS NULL) = (body IS NULL))
);

CREATE INDEX attempts_by_time ON delivery_attempts (started_at);

-- The last balance of an account that each webhook with a threshold saw. A crossing goes from at or above the threshold to below.
CREATE TABLE webhook_balances (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    webhook_id   TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    balance_usdc TEXT COLLATE "binary" NOT NULL,
    -- When its reading began.
    read_at      TEXT COLLATE "binary" NOT NULL CHECK (length(read_at) = 27),
    PRIMARY KEY (operator_id, webhook_id, account_id),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);
