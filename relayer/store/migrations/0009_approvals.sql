-- Transfers that wait for a person. One that waits is `claimed`, with the refusal's reason, message and checks: a version that does
-- not know of approvals decides it anew, and rejects it.

-- Whether a person is asked where policy refuses it: 0 or 1.
ALTER TABLE transfers ADD COLUMN asks_approval BIGINT NOT NULL DEFAULT 0;
-- Why policy had refused what a person was asked about, and until when it could be approved. NULL: nobody was asked.
ALTER TABLE transfers ADD COLUMN approval_reason TEXT COLLATE "binary";
ALTER TABLE transfers ADD COLUMN approval_expires_at TEXT COLLATE "binary" CHECK (length(approval_expires_at) = 27);

CREATE INDEX transfers_with_approval ON transfers (operator_id, transfer_id) WHERE approval_expires_at IS NOT NULL;
CREATE INDEX transfers_pending_approval ON transfers (operator_id, account_id)
    WHERE state = 'claimed' AND message IS NOT NULL;
