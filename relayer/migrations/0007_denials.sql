-- Signed refusals: one chain for each operator. Written once, in the transaction that notes its number in `transfers`, and kept for ever.

CREATE TABLE denials (
    operator_id TEXT COLLATE "binary" NOT NULL REFERENCES operators (operator_id),
    -- From 1 without a gap. Of several relayers that go on with a chain at once, one does.
    number      BIGINT NOT NULL CHECK (number >= 1),
    transfer_id TEXT COLLATE "binary" NOT NULL,
    -- JSON in the form of RFC 8785: what is signed. Its SHA-256 stands in the next one.
    document    TEXT COLLATE "binary" NOT NULL,
    -- Base58.
    signature   TEXT COLLATE "binary" NOT NULL,
    PRIMARY KEY (operator_id, number),
    UNIQUE (operator_id, transfer_id)
);

-- How far each operator's chain is known to be on Solana.
CREATE TABLE denial_heads (
    operator_id  TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    -- The last head that landed, and its transaction.
    number       BIGINT NOT NULL,
    tx_signature TEXT COLLATE "binary",
    -- Nobody writes the next one before; whoever begins to moves it.
    next_at      TEXT COLLATE "binary" NOT NULL CHECK (length(next_at) = 27)
);
