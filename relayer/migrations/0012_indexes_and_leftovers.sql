-- Every filter of a list has its index, and so has everything by which old rows are found and deleted.

CREATE INDEX accounts_of_status ON accounts (operator_id, status, account_id);
-- With the operator, though the account tells it: between two bounds SQLite takes the index with more columns that are equal.
CREATE INDEX history_of_status ON history (operator_id, account_id, status, position);
CREATE INDEX events_of_type ON events (operator_id, event_type, event_id);
CREATE INDEX events_of_account_and_type ON events (operator_id, account_id, event_type, event_id);
CREATE INDEX deliveries_of_state ON deliveries (webhook_id, state, event_id);

-- Of two indexes that both lead half of the way SQLite may take the one to all of an operator's accounts.
DROP INDEX accounts_of_token_account;
CREATE INDEX accounts_of_token_account ON accounts (token_account, operator_id, account_id);
CREATE INDEX ledgers_unexplained ON ledgers (account_id) WHERE unexplained_micros <> 0;

CREATE INDEX deliveries_of_event ON deliveries (event_id);
CREATE INDEX attempts_by_time ON delivery_attempts (started_at);
CREATE INDEX idempotency_keys_of_transfer ON idempotency_keys (transfer_id);
CREATE INDEX webhooks_disabled ON webhooks (webhook_id) WHERE status = 'disabled';

-- Webhooks that are deleted, and of which there may still be deliveries: those are deleted a few at a time.
CREATE TABLE deleted_webhooks (
    webhook_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY
);
