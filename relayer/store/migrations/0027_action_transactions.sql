-- The transactions of actions that are not over. Each is written before it is sent, so that any relayer can look it up on chain when the
-- process that sent it is gone. Rows are deleted when it is known how their action ended; pauses and halts stay until they are final.
-- A relayer of a version before this file has to be stopped first.

CREATE TABLE action_transactions (
    tx_signature            TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id             TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- NULL: a pause or a halt without an action, which could not be written.
    action_id               TEXT COLLATE "binary",
    -- It can land in no block above this height. NULL: it had landed when it was recorded.
    last_valid_block_height BIGINT,
    -- It only prepares the change, as those that write a draft do.
    is_step                 BOOLEAN NOT NULL,
    -- A pause or a halt that landed, and that a fork may still drop. Then it is sent again.
    stop                    TEXT COLLATE "binary" CHECK (stop IN ('pause', 'halt')),
    -- The account that it stops. NULL: every account of the operator.
    account_id              TEXT COLLATE "binary",
    -- When it was sent; for a stop, when it landed.
    sent_at                 TEXT COLLATE "binary" NOT NULL CHECK (length(sent_at) = 27),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    CHECK (stop IS NOT NULL OR action_id IS NOT NULL AND last_valid_block_height IS NOT NULL)
);

CREATE INDEX action_transactions_of_action ON action_transactions (action_id);

INSERT INTO action_transactions (tx_signature, operator_id, is_step, stop, account_id, sent_at)
SELECT tx_signature, operator_id, FALSE, CASE WHEN is_pause THEN 'pause' ELSE 'halt' END, account_id, landed_at FROM stops;

DROP TABLE stops;

-- The chain shows that an action whose outcome was 'unknown' changed nothing. `outcome` keeps its word, because its check names only two.
ALTER TABLE actions ADD COLUMN is_unchanged BOOLEAN NOT NULL DEFAULT FALSE;
