-- What makes a question over a million trials cheap: trials name what they have in
-- common by number, and one index holds what most questions read of every trial.
--
-- Both tables repeat columns of trial, which stay the truth for plain SQL. The number
-- alone is read of each trial, and its meaning once.

-- A load, seed and duration aside.
CREATE TABLE load_point (
    id           INTEGER PRIMARY KEY,
    load         TEXT,
    concurrency  REAL,
    request_rate REAL,
    burstiness   REAL,
    num_prompts  REAL
) STRICT;
CREATE INDEX load_point_values ON load_point (load, concurrency, request_rate, burstiness, num_prompts);

-- What a trial was run for, where, and what came of it.
CREATE TABLE context (
    id     INTEGER PRIMARY KEY,
    study  TEXT,
    role   TEXT,
    status TEXT NOT NULL,
    host   TEXT
) STRICT;
CREATE INDEX context_values ON context (study, role, status, host);

ALTER TABLE trial ADD COLUMN load_point INTEGER REFERENCES load_point (id);
ALTER TABLE trial ADD COLUMN context INTEGER REFERENCES context (id);

INSERT INTO load_point (load, concurrency, request_rate, burstiness, num_prompts)
SELECT DISTINCT load, concurrency, request_rate, burstiness, num_prompts FROM trial;
INSERT INTO context (study, role, status, host)
SELECT DISTINCT study, role, status, host FROM trial;
UPDATE trial SET
    load_point = (SELECT p.id FROM load_point p WHERE p.load IS trial.load AND p.concurrency IS trial.concurrency
        AND p.request_rate IS trial.request_rate AND p.burstiness IS trial.burstiness AND p.num_prompts IS trial.num_prompts),
    context = (SELECT c.id FROM context c WHERE c.study IS trial.study AND c.role IS trial.role
        AND c.status IS trial.status AND c.host IS trial.host);

-- The store writes both numbers with the row. What changes a row otherwise is followed
-- here, so that the copies cannot go stale.
CREATE TRIGGER trial_context AFTER UPDATE OF study, role, status, host ON trial
WHEN NEW.context IS OLD.context AND (NEW.study IS NOT OLD.study OR NEW.role IS NOT OLD.role OR NEW.status IS NOT OLD.status OR NEW.host IS NOT OLD.host)
BEGIN
    INSERT INTO context (study, role, status, host) SELECT NEW.study, NEW.role, NEW.status, NEW.host
    WHERE NOT EXISTS (SELECT 1 FROM context c WHERE c.study IS NEW.study AND c.role IS NEW.role AND c.status IS NEW.status AND c.host IS NEW.host);
    UPDATE trial SET context = (SELECT c.id FROM context c WHERE c.study IS NEW.study AND c.role IS NEW.role
        AND c.status IS NEW.status AND c.host IS NEW.host) WHERE number = NEW.number;
END;
CREATE TRIGGER trial_load_point AFTER UPDATE OF load, concurrency, request_rate, burstiness, num_prompts ON trial
WHEN NEW.load_point IS OLD.load_point AND (NEW.load IS NOT OLD.load OR NEW.concurrency IS NOT OLD.concurrency
    OR NEW.request_rate IS NOT OLD.request_rate OR NEW.burstiness IS NOT OLD.burstiness OR NEW.num_prompts IS NOT OLD.num_prompts)
BEGIN
    INSERT INTO load_point (load, concurrency, request_rate, burstiness, num_prompts)
    SELECT NEW.load, NEW.concurrency, NEW.request_rate, NEW.burstiness, NEW.num_prompts
    WHERE NOT EXISTS (SELECT 1 FROM load_point p WHERE p.load IS NEW.load AND p.concurrency IS NEW.concurrency
        AND p.request_rate IS NEW.request_rate AND p.burstiness IS NEW.burstiness AND p.num_prompts IS NEW.num_prompts);
    UPDATE trial SET load_point = (SELECT p.id FROM load_point p WHERE p.load IS NEW.load AND p.concurrency IS NEW.concurrency
        AND p.request_rate IS NEW.request_rate AND p.burstiness IS NEW.burstiness AND p.num_prompts IS NEW.num_prompts) WHERE number = NEW.number;
END;

-- What most questions read of every trial, a fifth of its row. The first columns keep
-- the repeats of a setup together.
CREATE INDEX trial_reading ON trial (
    setup, workload, load_point, context, launch, verdict, started_at, findings, asserted,
    success_rate, requested, completed, incomplete, total_tps, output_tps, input_tps, duration_tps, rps, goodput_rps,
    mean_ttft_ms, median_ttft_ms, p99_ttft_ms, mean_tpot_ms, median_tpot_ms, p99_tpot_ms, p99_itl_ms, mean_e2el_ms, p99_e2el_ms,
    joules_per_output_token, usd_per_mtok_output
);
