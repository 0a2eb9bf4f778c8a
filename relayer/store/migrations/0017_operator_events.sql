-- An event may be about its operator and none of its accounts: `action.recorded`. A check of the table refused that.
--
-- The table may have millions of rows, so the check is replaced where it stands, and not by a copy of the table. Each database does
-- that by statements of its own. Postgres nests comments and SQLite does not: each sees the other's statements as a comment.

/* /* */ -- */ ALTER TABLE events DROP CONSTRAINT events_check3;
/* /* */ -- */ ALTER TABLE events ADD CONSTRAINT events_check3 CHECK ((account_id IS NULL) = (event_type IN ('webhook.test', 'action.recorded'))) NOT VALID;

/* /* */
-- As https://www.sqlite.org/lang_altertable.html#making_other_kinds_of_table_schema_changes says for checks.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK ((account_id IS NULL) = (event_type = ''webhook.test''))',
    'CHECK ((account_id IS NULL) = (event_type IN (''webhook.test'', ''action.recorded'')))')
WHERE type = 'table' AND name = 'events';
PRAGMA writable_schema = RESET;
-- */
