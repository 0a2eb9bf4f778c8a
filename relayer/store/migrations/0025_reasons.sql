-- Whether changes of the operator's policies need a reason.
ALTER TABLE operators ADD COLUMN requires_reason BOOLEAN NOT NULL DEFAULT FALSE;
