-- What an operator has the service pay rent for: entries of allowlists, those of policies that wait included, and the accounts
-- that are still there.

ALTER TABLE accounts ADD COLUMN allowlist_entries BIGINT NOT NULL DEFAULT 0;
-- Its rent has come back: it was found closed on the chain.
ALTER TABLE accounts ADD COLUMN is_closed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE pending_policies ADD COLUMN allowlist_entries BIGINT NOT NULL DEFAULT 0;

-- As many as there are pairs of quotes: no entry has one in it.
UPDATE accounts SET allowlist_entries = (length(counterparties) - length(replace(counterparties, '"', ''))) / 2
    WHERE counterparties IS NOT NULL;
UPDATE pending_policies SET allowlist_entries = (length(counterparties) - length(replace(counterparties, '"', ''))) / 2
    WHERE counterparties IS NOT NULL;
