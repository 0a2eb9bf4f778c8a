-- Which action set a policy or halted.

-- Found by the transaction that both name.
CREATE INDEX actions_of_signature ON actions (operator_id, tx_signature) WHERE tx_signature IS NOT NULL;

-- The action of the request. NULL: from before this was written, or it went without its record. A policy that waited comes into
-- force by another transaction than its action's, and a pause that comes before the rest of a change has one of its own.
ALTER TABLE policy_askings ADD COLUMN action_id TEXT COLLATE "binary";
