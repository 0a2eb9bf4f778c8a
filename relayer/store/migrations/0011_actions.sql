-- What people and programs change through the service: who, what and when. A row is written before its change begins. It is
-- deleted only if the request is refused and nothing was changed.

CREATE TABLE actions (
    action_id    TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    operator_id  TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- The operation of REST that does this, or one of the dashboard alone: `sign_in`.
    name         TEXT COLLATE "binary" NOT NULL,
    -- 'unknown' until the answer is known: while it runs, and for ever if its process ended on the way.
    outcome      TEXT COLLATE "binary" NOT NULL CHECK (outcome IN ('unknown', 'done')),
    -- The key of the request or of the session. NULL: the command line on the server.
    key_id       TEXT COLLATE "binary" REFERENCES api_keys (key_id),
    -- The dashboard session; NULL for requests with a key.
    session_id   TEXT COLLATE "binary",
    -- The client's address, where it is known.
    address      TEXT COLLATE "binary",
    -- What was changed, and what was made.
    object_id    TEXT COLLATE "binary",
    made_id      TEXT COLLATE "binary",
    -- JSON objects: what was asked for, and what stood in its place; NULL where that is long or not known.
    before_json  TEXT COLLATE "binary",
    after_json   TEXT COLLATE "binary",
    -- Of the change on the chain.
    tx_signature TEXT COLLATE "binary",
    request_id   TEXT COLLATE "binary",
    created_at   TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27)
);

CREATE INDEX actions_of_operator ON actions (operator_id, action_id);
CREATE INDEX actions_of_name ON actions (operator_id, name, action_id);
CREATE INDEX actions_of_key ON actions (operator_id, key_id, action_id);
CREATE INDEX actions_of_object ON actions (operator_id, object_id, action_id);
CREATE INDEX actions_of_made ON actions (operator_id, made_id, action_id) WHERE made_id IS NOT NULL;

-- From where somebody signed in, where it is known.
ALTER TABLE sessions ADD COLUMN address TEXT COLLATE "binary";
