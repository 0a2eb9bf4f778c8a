-- Whether a person may be asked about an account's transfers that policy refuses. `asks_approval` of a transfer is 2 where it was off.
ALTER TABLE accounts ADD COLUMN approvals TEXT COLLATE "binary" NOT NULL DEFAULT 'on' CHECK (approvals IN ('on', 'off'));
