-- What accounts paid by day: the sums are read from the index alone. A transfer's row holds its signed bytes; to read one for
-- each payment of a week or a month takes three times as long.
CREATE INDEX transfers_spent ON transfers (operator_id, ended_at, account_id, amount_usdc) WHERE state = 'settled';
