-- Requested payments and their states. A transfer's id begins with the time of the request and ends with its tag.

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
    -- Counts the uses of its idempotency key, from 1; the latest is in force. NULL: the key was released.
    key_use                 BIGINT CHECK (key_use >= 1),
    -- The earliest time at which the key may be used again: 24 hours after its first use, by the chain's clock, unix seconds.
    key_expires_unix        BIGINT NOT NULL,
    -- SHA-256 of the request, in hex.
    fingerprint             TEXT COLLATE "binary" NOT NULL CHECK (length(fingerprint) = 64),
    -- For a purchase by x402: who pays the fee and sends the transaction.
    fee_payer               TEXT COLLATE "binary",
    -- Why a seller that holds the signed bytes did not take them.
    refusal                 TEXT COLLATE "binary",
    state                   TEXT COLLATE "binary" NOT NULL
        CHECK (state IN ('claimed', 'signed', 'sent', 'settled', 'rejected', 'failed')),
    -- The process that carries the transfer, and until when no other may.
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
    -- JSON array: the verdict of every rule on a rejected transfer.
    checks                  TEXT COLLATE "binary",
    -- Version of the policy that judged it last: whose rules had all passed before it was signed, or that rejected it, if read.
    policy_version          BIGINT,
    -- How often a fork dropped the payment that had settled it.
    reopened                BIGINT NOT NULL DEFAULT 0,
    -- Number of a rejected transfer's denial, once it is signed.
    denial                  BIGINT,
    retry_at                TEXT COLLATE "binary" CHECK (length(retry_at) = 27),
    -- JSON: what was bought.
    resource                TEXT COLLATE "binary",
    created_at              TEXT COLLATE "binary" NOT NULL CHECK (length(created_at) = 27),
    updated_at              TEXT COLLATE "binary" NOT NULL CHECK (length(updated_at) = 27),
    PRIMARY KEY (operator_id, transfer_id),
    -- Of several transfers that claim a key at once, one succeeds.
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

-- Every filter of the list has its index, read newest first.
CREATE INDEX transfers_of_account ON transfers (operator_id, account_id, transfer_id);
-- Partial, because transfers under way are few, and a full index would be written at each of their steps.
CREATE INDEX transfers_unfinished ON transfers (network, lease_expires_at)
    WHERE state IN ('claimed', 'signed', 'sent');
CREATE INDEX transfers_of_status ON transfers (operator_id, state, transfer_id)
    WHERE ended_at IS NOT NULL;
CREATE INDEX transfers_of_account_and_status ON transfers (operator_id, account_id, state, transfer_id)
    WHERE ended_at IS NOT NULL;
-- Rejected transfers without a signed denial. Where refusals are signed, it is empty most of the time.
CREATE INDEX transfers_undenied ON transfers (ended_at, transfer_id)
    WHERE state = 'rejected' AND denial IS NULL;
-- Settled by a payment that was found on the chain, not by bytes of its own.
CREATE INDEX transfers_settled_elsewhere ON transfers (operator_id, account_id, tx_signature)
    WHERE state = 'settled' AND signed_bytes IS NULL;
