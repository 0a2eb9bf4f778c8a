-- What had one row for each operator moves into `operators`, and what had one for each network or one in all into `marks`. A relayer of a
-- version before this file has to be stopped first.

-- The last place that was given in the operator's stream of events. NULL: nobody has opened it.
ALTER TABLE operators ADD COLUMN last_place BIGINT;
-- From when on the operator's payments are compared with their limits. NULL: nobody subscribes to `limit.threshold`.
ALTER TABLE operators ADD COLUMN limits_since TEXT COLLATE "binary" CHECK (length(limits_since) = 27);
-- The last head of the operator's chain of refusals that is known to be on Solana: its number, its transaction, and the earliest time of
-- the next one, which its writer moves on.
ALTER TABLE operators ADD COLUMN head_number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operators ADD COLUMN head_signature TEXT COLLATE "binary";
ALTER TABLE operators ADD COLUMN head_next_at TEXT COLLATE "binary" CHECK (length(head_next_at) = 27);

UPDATE operators SET last_place =
    (SELECT last_place FROM event_streams WHERE event_streams.operator_id = operators.operator_id);
UPDATE operators SET limits_since =
    (SELECT since FROM limit_watches WHERE limit_watches.operator_id = operators.operator_id);
UPDATE operators SET
    head_number = (SELECT number FROM denial_heads WHERE denial_heads.operator_id = operators.operator_id),
    head_signature = (SELECT tx_signature FROM denial_heads WHERE denial_heads.operator_id = operators.operator_id),
    head_next_at = (SELECT next_at FROM denial_heads WHERE denial_heads.operator_id = operators.operator_id)
WHERE operator_id IN (SELECT operator_id FROM denial_heads);

-- Times that all relayers of a database share, by name.
CREATE TABLE marks (
    name   TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    at     TEXT COLLATE "binary" NOT NULL CHECK (length(at) = 27),
    -- Of a lease, the process that has it until then.
    holder TEXT COLLATE "binary"
);

-- When the last complete sweep of a network began: every ledger's `seen_micros` was read after that.
INSERT INTO marks (name, at) SELECT 'sweep ' || network, began_at FROM sweeps;

DROP TABLE event_streams;
DROP TABLE limit_watches;
DROP TABLE denial_heads;
DROP TABLE sweeps;
DROP TABLE indexers;
DROP TABLE probes;
