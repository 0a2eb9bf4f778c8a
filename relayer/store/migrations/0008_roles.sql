-- What a key may do, and which key made it.

-- Words with blanks between them. NULL for everything, as keys of 0.1.0 have it.
ALTER TABLE api_keys ADD COLUMN scopes TEXT COLLATE "binary";
-- NULL where the command line made it, or 0.1.0.
ALTER TABLE api_keys ADD COLUMN made_by TEXT COLLATE "binary" REFERENCES api_keys (key_id);
