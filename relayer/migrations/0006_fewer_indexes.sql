-- An index costs a page with every transfer. Transactions are found by the slots that they are listed with, events of a span
-- by their ids, which begin with their moments, and a transfer's idempotency key by itself.

DROP INDEX history_of_signature;
DROP INDEX history_of_slots;
CREATE INDEX history_of_slots ON history (network, slot, account_id) WHERE slot IS NOT NULL;

DROP INDEX events_by_time;

DROP INDEX idempotency_keys_of_transfer;
