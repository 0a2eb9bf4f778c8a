-- An entry of a history has a place: `position` begins with the moment at which it became visible, and is that moment alone from
-- now on. Places of one account are given one after another, while its ledger is locked, so none becomes visible before a lower
-- one. While the past of an account that was found on the chain is being read, its entries have none: their positions begin
-- with `!`, below every moment, and go by the chain.

-- The last place that was given, in microseconds since 1970; its negative as long as the past is being read.
ALTER TABLE ledgers ADD COLUMN placed_micros BIGINT NOT NULL DEFAULT 0;
-- The latest slot of which the history tells.
ALTER TABLE ledgers ADD COLUMN newest_slot BIGINT NOT NULL DEFAULT 0;

UPDATE ledgers SET newest_slot = COALESCE(
    (SELECT MAX(slot) FROM history WHERE history.account_id = ledgers.account_id), 0);

CREATE INDEX ledgers_unplaced ON ledgers (account_id) WHERE placed_micros < 0;

-- A filter lets some kinds of entries through, each with some statuses: every pair is found in its order. Without the operator,
-- which the account tells: SQLite leaves a wider index aside and reads through all of the account.
DROP INDEX history_of_status;
CREATE INDEX history_of_kind ON history (account_id, kind, status, position);
