-- Every version of an account's policy, as transactions on the chain set it, whoever signed them; and who asked for it over the API.

CREATE TABLE policy_versions (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    version      BIGINT NOT NULL,
    set_at       TEXT COLLATE "binary" NOT NULL CHECK (length(set_at) = 27),
    -- NULL where it was cut off the log.
    signer       TEXT COLLATE "binary",
    tx_signature TEXT COLLATE "binary" NOT NULL,
    -- JSON object, as it is answered; NULL where it could not be read any more.
    policy       TEXT COLLATE "binary",
    PRIMARY KEY (account_id, version),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE TABLE policy_askings (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    -- The signature of the transaction that did what was asked; of a policy that waits, the hash of its draft in hex.
    done_by      TEXT COLLATE "binary" NOT NULL,
    -- Of a policy that waited: the version that it became.
    version      BIGINT,
    key_id       TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    reason       TEXT COLLATE "binary",
    PRIMARY KEY (account_id, done_by),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

CREATE UNIQUE INDEX policy_askings_of_version ON policy_askings (account_id, version) WHERE version IS NOT NULL;
