-- Dashboard sessions. Each row is one API key in one browser, found by the hash of the browser's token.

CREATE TABLE sessions (
    token_hash TEXT COLLATE "binary" NOT NULL PRIMARY KEY CHECK (length(token_hash) = 64),
    key_id     TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    started_at TEXT COLLATE "binary" NOT NULL CHECK (length(started_at) = 27),
    -- Written up to a minute later.
    used_at    TEXT COLLATE "binary" NOT NULL CHECK (length(used_at) = 27)
);

CREATE INDEX sessions_started ON sessions (started_at);
CREATE INDEX sessions_of_key ON sessions (key_id, started_at);
