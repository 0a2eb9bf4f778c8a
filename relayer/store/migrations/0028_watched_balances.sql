-- The latest reading of a balance that webhooks watch, once for each account. It was kept for each webhook, which has the time now
-- from which on readings count for it. A relayer of a version before this file has to be stopped first.

ALTER TABLE accounts ADD COLUMN watched_usdc TEXT COLLATE "binary";
-- When that reading began. NULL: nobody has watched it.
ALTER TABLE accounts ADD COLUMN watched_at TEXT COLLATE "binary" CHECK (length(watched_at) = 27);

UPDATE accounts SET
    watched_usdc = (
        SELECT balance_usdc FROM webhook_balances
        WHERE webhook_balances.operator_id = accounts.operator_id AND webhook_balances.account_id = accounts.account_id
        ORDER BY read_at DESC LIMIT 1),
    watched_at = (
        SELECT MAX(read_at) FROM webhook_balances
        WHERE webhook_balances.operator_id = accounts.operator_id AND webhook_balances.account_id = accounts.account_id);

DROP TABLE webhook_balances;

-- Since when it watches these accounts with this threshold. Never NULL.
ALTER TABLE webhooks ADD COLUMN watches_since TEXT COLLATE "binary" CHECK (length(watches_since) = 27);
UPDATE webhooks SET watches_since = created_at;
