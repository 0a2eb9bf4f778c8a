-- Payments that were asked for, each in its state. A transfer's id begins with the moment at which it was asked for, and ends in
-- its tag.

CREATE TABLE transfers (
    operator_id             TEXT COLLATE "binary" NOT NULL,
    transfer_id             TEXT COLLATE "binary" NOT NULL,
    network                 TEXT COLLATE "binary" NOT NULL CHECK (network IN ('test', 'live')),
    account_id              TEXT COLLATE "binary" NOT NULL,
    key_id                  TEXT COLLATE "binary" NOT NULL REFERENCES api_keys (key_id),
    recipient               TEXT COLLATE "binary" NOT NULL,
    amount_usdc             TEXT COLLATE "binary" NOT NULL,
    memo                    TEXT COLLATE "binary",
    idempotency_key         TEXT COLLATE "binary" NOT NULL,
    -- Which use of its idempotency key it is, from 1; the latest stands for the key. NULL: the key was given back.
    key_use                 BIGINT CHECK (key_use >= 1),
    -- Until when the key is taken at least: 24 hours after its first use, by the chain's clock, unix seconds.
    key_expires_unix        BIGINT NOT NULL,
    -- What is asked for under the key: SHA-256 of the request, in hex.
    fingerprint             TEXT COLLATE "binary" NOT NULL CHECK (length(fingerprint) = 64),
    -- Who pays the fee and sends it, where it pays for something that is bought by x402.
    fee_payer               TEXT COLLATE "binary",
    state                   TEXT COLLATE "binary" NOT NULL
        CHECK (state IN ('claimed', 'signed', 'sent', 'settled', 'rejected', 'failed')),
    -- Who carries the transfer until then; after that, whoever takes the lease.
    lease_holder            TEXT COLLATE "binary" NOT NULL,
    lease_expires_at        TEXT COLLATE "binary" NOT NULL CHECK (length(lease_expires_at) = 27),
    -- Base64.
    signed_bytes            TEXT COLLATE "binary",
    tx_signature            TEXT COLLATE "binary",
    last_valid_block_height BIGINT,
    sent_at                 TEXT COLLATE "binary" CHECK (length(sent_at) = 27),
    slot                    BIGINT,
    -- When it settled, was rejected or failed.
    ended_at                TEXT COLLATE "binary" CHECK (length(ended_at) = 27),
    -- Why it was rejected or failed.
    reason                  TEXT COLLATE "binary",
    message                 TEXT COLLATE "binary",
    -- JSON array: how every rule judged a rejected transfer.
    checks                  TEXT COLLATE "binary",
    -- Of the policy that judged it last: whose rules had all passed before it was signed, or that rejected it, where that was read.
    policy_version          BIGINT,
    -- The number of a rejected transfer's denial, once that is signed.
    denial                  BIGINT,
    retry_at                TEXT COLLATE "binary" CHECK (length(retry_at) = 27),
    -- JSON: what was bought.
    resource                TEXT COLLATE "binary",
    created_at              TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    updated_at              TEXT COLLATE "binary" NOT NULL CHECK (length(updated_at) = 27),
    PRIMARY KEY (operator_id, transfer_id),
    -- Of any number that use a key at once one does.
    UNIQUE (operator_id, idempotency_key, network, key_use),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id),
    -- Every state has its facts.
    CHECK (state NOT IN ('signed', 'sent')
        OR (signed_bytes IS NOT NULL AND tx_signature IS NOT NULL AND last_valid_block_height IS NOT NULL)),
    CHECK (state <> 'sent' OR sent_at IS NOT NULL),
    CHECK (state <> 'settled' OR (tx_signature IS NOT NULL AND slot IS NOT NULL)),
    CHECK (state NOT IN ('rejected', 'failed') OR (reason IS NOT NULL AND message IS NOT NULL)),
    CHECK (state <> 'rejected' OR checks IS NOT NULL),
    CHECK ((ended_at IS NOT NULL) = (state IN ('settled', 'rejected', 'failed')))
);

-- Every filter of the list has its index, newest first in each.
CREATE INDEX transfers_of_account ON transfers (operator_id, account_id, transfer_id);
-- Those under way are few, and an index of states would be written with each of their steps.
CREATE INDEX transfers_unfinished ON transfers (network, lease_expires_at)
    WHERE state IN ('claimed', 'signed', 'sent');
CREATE INDEX transfers_of_status ON transfers (operator_id, state, transfer_id)
    WHERE ended_at IS NOT NULL;
CREATE INDEX transfers_of_account_and_status ON transfers (operator_id, account_id, state, transfer_id)
    WHERE ended_at IS NOT NULL;
-- Refused, and no denial signed: empty but for moments, where refusals are signed.
CREATE INDEX transfers_undenied ON transfers (ended_at, transfer_id)
    WHERE state = 'rejected' AND denial IS NULL;
