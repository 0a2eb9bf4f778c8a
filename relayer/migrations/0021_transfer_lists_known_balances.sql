-- Every filter of the list of transfers has its index, newest first in each. The status is what clients see: three states are
-- one. `store::transfer_lists` says it in the same words, by which both databases know the index.

CREATE INDEX transfers_of_operator ON transfers (operator_id, transfer_id);
CREATE INDEX transfers_of_status ON transfers (
    operator_id,
    (CASE WHEN state IN ('claimed', 'signed', 'sent') THEN 'submitted' ELSE state END),
    transfer_id
);
CREATE INDEX transfers_of_account_and_status ON transfers (
    operator_id,
    account_id,
    (CASE WHEN state IN ('claimed', 'signed', 'sent') THEN 'submitted' ELSE state END),
    transfer_id
);
CREATE INDEX transfers_of_key ON transfers (operator_id, idempotency_key, transfer_id);

-- When the last look began that went over every account of a network: since then each ledger's `seen_micros` is known.
CREATE TABLE sweeps (
    network  TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (network IN ('test', 'live')),
    began_at TEXT COLLATE "binary" NOT NULL CHECK (length(began_at) = 27)
);
