-- Token accounts that the service creates for payees, and pays for. Written before the creation is sent, so that it counts towards the
-- quotas of a day whatever becomes of it; deleted only where it is known that nothing was created.

CREATE TABLE token_account_creations (
    operator_id      TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- The paying account.
    account_id       TEXT COLLATE "binary" NOT NULL,
    wallet           TEXT COLLATE "binary" NOT NULL CHECK (length(wallet) BETWEEN 32 AND 44),
    idempotency_key  TEXT COLLATE "binary" NOT NULL,
    created_at       TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- Until then nobody else creates it for this operator.
    lease_expires_at TEXT COLLATE "binary" NOT NULL CHECK (length(lease_expires_at) = 27),
    PRIMARY KEY (operator_id, created_at, wallet, idempotency_key)
);

CREATE INDEX token_account_creations_old ON token_account_creations (created_at);

-- The default for payments of the account.
ALTER TABLE accounts ADD COLUMN create_token_accounts BOOLEAN NOT NULL DEFAULT FALSE;
