-- The tags of an account: words with blanks between them.
ALTER TABLE accounts ADD COLUMN tags TEXT COLLATE "binary" NOT NULL DEFAULT '';
