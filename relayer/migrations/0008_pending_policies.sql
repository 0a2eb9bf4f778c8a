-- Policies that loosen something and wait on the chain; and events that tell of them.

CREATE TABLE pending_policies (
    operator_id      TEXT COLLATE "binary" NOT NULL,
    account_id       TEXT COLLATE "binary" NOT NULL,
    -- What the chain calls the proposal, in hex.
    hash             TEXT COLLATE "binary" NOT NULL CHECK (length(hash) = 64),
    -- It can take the place of this policy version and of no other.
    expected_version BIGINT NOT NULL,
    -- The allowlist as submitted, a JSON array of texts; NULL allows anyone.
    counterparties   TEXT COLLATE "binary",
    -- When to look at it: when it can take effect, as far as is known. By the chain's clock, unix seconds.
    due_unix         BIGINT NOT NULL,
    -- FALSE until it is known to be on the chain; that is when it is announced.
    is_announced     BOOLEAN NOT NULL,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (operator_id, account_id, hash),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE INDEX pending_policies_due ON pending_policies (due_unix);

-- The types of events were listed in a check, which SQLite cannot change: the table is made anew without it, and with it the
-- tables that refer to it. What reads a row knows the types.

ALTER TABLE delivery_attempts RENAME TO old_delivery_attempts;
ALTER TABLE deliveries RENAME TO old_deliveries;
ALTER TABLE events RENAME TO old_events;

CREATE TABLE events (
    event_id     TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id  TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    event_type   TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary",
    transfer_id  TEXT COLLATE "binary" REFERENCES transfers (transfer_id),
    threshold_usdc TEXT COLLATE "binary",
    webhook_id   TEXT COLLATE "binary",
    -- JSON object, the payload as it is sent.
    data         TEXT COLLATE "binary" NOT NULL,
    created_at   TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    -- A transfer announces each of its steps once, whoever writes it down.
    UNIQUE (transfer_id, event_type),
    -- Every type has its subject.
    CHECK ((event_type IN ('transfer.initiated', 'transfer.settled', 'transfer.rejected'))
        = (transfer_id IS NOT NULL)),
    CHECK ((event_type = 'balance.low_threshold') = (threshold_usdc IS NOT NULL)),
    CHECK ((event_type = 'webhook.test') = (webhook_id IS NOT NULL)),
    CHECK ((account_id IS NULL) = (event_type = 'webhook.test'))
);

CREATE TABLE deliveries (
    webhook_id       TEXT COLLATE "binary" NOT NULL,
    event_id         TEXT COLLATE "binary" NOT NULL REFERENCES events (event_id),
    state            TEXT COLLATE "binary" NOT NULL CHECK (state IN ('pending', 'delivered', 'undelivered')),
    -- In the current round; a replay begins a new one.
    failures         BIGINT NOT NULL CHECK (failures >= 0),
    next_attempt_at  TEXT COLLATE "binary" CHECK (length(next_attempt_at) = 27),
    -- When it was delivered or given up.
    ended_at         TEXT COLLATE "binary" CHECK (length(ended_at) = 27),
    -- Attempts ever made.
    attempts         BIGINT NOT NULL CHECK (attempts >= 0),
    -- Who is attempting it, and until when nobody else may.
    lease_holder     TEXT COLLATE "binary",
    lease_expires_at TEXT COLLATE "binary",
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    PRIMARY KEY (webhook_id, event_id),
    CHECK ((state = 'pending') = (next_attempt_at IS NOT NULL)),
    CHECK ((state = 'pending') = (ended_at IS NULL)),
    CHECK ((lease_holder IS NULL) = (lease_expires_at IS NULL))
);

CREATE TABLE delivery_attempts (
    webhook_id  TEXT COLLATE "binary" NOT NULL,
    event_id    TEXT COLLATE "binary" NOT NULL,
    attempt     BIGINT NOT NULL CHECK (attempt >= 1),
    started_at  TEXT COLLATE "binary" NOT NULL CHECK (length(started_at) = 27),
    ended_at    TEXT COLLATE "binary" NOT NULL CHECK (length(ended_at) = 27),
    -- An HTTP status and the beginning of the answer's body, or why there was no answer.
    status_code BIGINT,
    body        TEXT COLLATE "binary",
    unanswered  TEXT COLLATE "binary",
    PRIMARY KEY (webhook_id, event_id, attempt),
    FOREIGN KEY (webhook_id, event_id) REFERENCES deliveries (webhook_id, event_id),
    CHECK ((status_code IS NULL) = (unanswered IS NOT NULL)),
    CHECK ((status_code IS NULL) = (body IS NULL))
);

INSERT INTO events (event_id, operator_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at)
    SELECT event_id, operator_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at
    FROM old_events;
INSERT INTO deliveries (webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, lease_holder,
        lease_expires_at, created_at)
    SELECT webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, lease_holder, lease_expires_at,
        created_at
    FROM old_deliveries;
INSERT INTO delivery_attempts (webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered)
    SELECT webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered
    FROM old_delivery_attempts;

DROP TABLE old_delivery_attempts;
DROP TABLE old_deliveries;
DROP TABLE old_events;

CREATE INDEX events_of_operator ON events (operator_id, event_id);
CREATE INDEX events_of_account ON events (operator_id, account_id, event_id);
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_next ON deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (lease_holder) WHERE lease_holder IS NOT NULL;
