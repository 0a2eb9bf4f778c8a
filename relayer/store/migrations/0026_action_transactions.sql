-- The transactions of actions that are not over. Each is written before it is sent, so that any relayer can look it up on chain when the
-- process that sent it is gone. An action's rows are deleted when it is known how the action ended.

CREATE TABLE action_transactions (
    operator_id             TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    action_id               TEXT COLLATE "binary" NOT NULL,
    tx_signature            TEXT COLLATE "binary" NOT NULL,
    -- It can land in no block above this height.
    last_valid_block_height BIGINT NOT NULL,
    -- It only prepares the change, as those that write a draft do.
    is_step                 BOOLEAN NOT NULL,
    sent_at                 TEXT COLLATE "binary" NOT NULL CHECK (length(sent_at) = 27),
    PRIMARY KEY (action_id, tx_signature)
);

-- The chain shows that an action whose outcome was 'unknown' changed nothing. `outcome` keeps its word, because its check names only two.
ALTER TABLE actions ADD COLUMN is_unchanged BOOLEAN NOT NULL DEFAULT FALSE;
