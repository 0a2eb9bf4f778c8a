-- Events of operators that have opened a stream are told in one order, in which none becomes visible before another that stands
-- below it. Whoever writes an event marks it as waiting (0); a place is given afterwards, to all that wait, while the operator's row
-- here is locked. Events of other operators have no place, and cost nothing.

CREATE TABLE event_streams (
    operator_id TEXT COLLATE "binary" NOT NULL PRIMARY KEY REFERENCES operators (operator_id),
    -- The last place that was given.
    last_place  BIGINT NOT NULL
);

ALTER TABLE events ADD COLUMN place BIGINT;
CREATE INDEX events_in_stream ON events (operator_id, place, event_id) WHERE place IS NOT NULL;
