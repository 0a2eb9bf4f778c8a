-- Transactions that open a grant, which the service has signed as their payer and an approver still has to sign. Written before they
-- are given out.

CREATE TABLE co_signatures (
    operator_id             TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    transfer_id             TEXT COLLATE "binary" NOT NULL,
    -- From 1, among those of its transfer.
    number                  BIGINT NOT NULL CHECK (number BETWEEN 1 AND 3),
    approver                TEXT COLLATE "binary" NOT NULL,
    -- The address of the grant.
    grant_address           TEXT COLLATE "binary" NOT NULL,
    -- Base64.
    signed_bytes            TEXT COLLATE "binary" NOT NULL,
    tx_signature            TEXT COLLATE "binary" NOT NULL,
    last_valid_block_height BIGINT NOT NULL,
    created_at              TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    -- When to look what became of it. NULL: that is known, and its grant is closed.
    look_at                 TEXT COLLATE "binary" CHECK (length(look_at) = 27),
    -- It cannot land any more, and has not.
    is_unspent              BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (operator_id, transfer_id, number)
);

CREATE INDEX co_signatures_of_day ON co_signatures (operator_id, created_at) WHERE NOT is_unspent;
CREATE INDEX co_signatures_open ON co_signatures (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX co_signatures_ended ON co_signatures (created_at) WHERE look_at IS NULL;
