-- The wallet that a transfer was asked to pay. `recipient` is its token account then, so that whatever looks for a payee finds both. NULL:
-- the transfer named an account or a token account.
ALTER TABLE transfers ADD COLUMN to_wallet TEXT COLLATE "binary" CHECK (length(to_wallet) BETWEEN 32 AND 44);
