-- What the account had paid to the payee of a transfer that waits for a person, when that was first looked at: the newest payments are
-- summed once for each approval, and not for everybody who has its link. NULL: nobody has looked.
ALTER TABLE transfers ADD COLUMN paid_before_count BIGINT;
ALTER TABLE transfers ADD COLUMN paid_before_usdc TEXT COLLATE "binary";
ALTER TABLE transfers ADD COLUMN paid_before_last_at TEXT COLLATE "binary" CHECK (length(paid_before_last_at) = 27);
