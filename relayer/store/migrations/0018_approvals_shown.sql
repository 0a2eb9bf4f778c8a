-- What is shown of approvals: who approved, and what was paid to the payee before.

-- Grants as wallets opened them on the chain, by the transactions that they signed.
CREATE TABLE grants_opened (
    operator_id  TEXT COLLATE "binary" NOT NULL,
    account_id   TEXT COLLATE "binary" NOT NULL,
    -- Its number, 64 bits in hex: of a grant for one payment, the tag of its transfer. Once it is closed, another may have the same.
    grant_id     TEXT COLLATE "binary" NOT NULL CHECK (length(grant_id) = 16),
    tx_signature TEXT COLLATE "binary" NOT NULL,
    slot         BIGINT NOT NULL,
    -- The approver, the admin or the policy authority.
    signer       TEXT COLLATE "binary" NOT NULL,
    opened_at    TEXT COLLATE "binary" NOT NULL CHECK (length(opened_at) = 27),
    expires_unix BIGINT NOT NULL,
    PRIMARY KEY (operator_id, grant_id, account_id, tx_signature),
    FOREIGN KEY (operator_id, account_id) REFERENCES accounts (operator_id, account_id)
);

-- Payments of an account to one token account. Whole: what they add up to is read from it alone.
CREATE INDEX history_of_payee ON history (account_id, counterparty, created_at, amount_usdc)
    WHERE kind = 'transfer' AND status = 'settled';
