-- Signed refusals, one chain per operator. Each is written once, in the transaction that sets its number in `transfers`, and kept
-- for ever.

CREATE TABLE denials (
    operator_id TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- From 1 without a gap. Of several relayers that extend a chain at once, one succeeds.
    number      BIGINT NOT NULL CHECK (number >= 1),
    transfer_id TEXT COLLATE "binary" NOT NULL,
    -- The signed JSON, in the form of RFC 8785. The next one contains its SHA-256.
    document    TEXT COLLATE "binary" NOT NULL,
    -- Base58.
    signature   TEXT COLLATE "binary" NOT NULL,
    PRIMARY KEY (operator_id, number),
    UNIQUE (operator_id, transfer_id)
);

-- The last head of each operator's chain that is known to be on Solana.
CREATE TABLE denial_heads (
    operator_id  TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    -- Its number and its transaction.
    number       BIGINT NOT NULL,
    tx_signature TEXT COLLATE "binary",
    -- Earliest time of the next head; its writer moves it on.
    next_at      TEXT COLLATE "binary" NOT NULL CHECK (length(next_at) = 27)
);
