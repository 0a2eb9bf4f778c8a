-- Passkeys: what a person's device signs in to the dashboard with, in place of an operator key.

CREATE TABLE passkeys (
    passkey_id    TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    key_id        TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    name          TEXT COLLATE "binary" NOT NULL,
    -- What the device calls it, in base64url.
    credential_id TEXT COLLATE "binary" NOT NULL UNIQUE,
    -- Its public key and its counter, as the library wrote them that checks its signatures.
    credential    TEXT COLLATE "binary" NOT NULL,
    created_at    TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    used_at       TEXT COLLATE "binary" CHECK (length(used_at) = 27)
);

CREATE INDEX passkeys_of_key ON passkeys (key_id, created_at);

-- The passkey that opened the session, if one did.
ALTER TABLE sessions ADD COLUMN passkey_id TEXT COLLATE "binary";
CREATE INDEX sessions_of_passkey ON sessions (passkey_id) WHERE passkey_id IS NOT NULL;
