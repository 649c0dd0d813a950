-- What the GPUs of a trial showed over its window, about once a second: power, clock and
-- memory, packed. Few questions need it, so that it stands beside the row.
CREATE TABLE course (
    trial INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    n     INTEGER NOT NULL, -- moments
    data  BLOB NOT NULL     -- packed JSON, one list a column
) STRICT;
