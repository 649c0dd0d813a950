CREATE INDEX assertion_trial ON assertion (trial);

CREATE INDEX context_values ON context (study, role, status, host);

CREATE INDEX finding_severe ON finding (trial) WHERE severity >= 3;

CREATE INDEX load_point_values ON load_point (load, concurrency, request_rate, burstiness, num_prompts);

CREATE INDEX source_record ON source (file, position);

CREATE INDEX study_name ON study (name);

CREATE INDEX tombstone_fingerprint ON tombstone (fingerprint) WHERE fingerprint IS NOT NULL;

CREATE INDEX trial_fingerprint ON trial (fingerprint, duration_s) WHERE fingerprint IS NOT NULL;

CREATE INDEX trial_launch ON trial (launch) WHERE launch IS NOT NULL;

CREATE INDEX trial_reading ON trial (
    setup, workload, load_point, context, launch, verdict, started_at, findings, asserted,
    success_rate, requested, completed, incomplete, total_tps, output_tps, input_tps, duration_tps, rps, goodput_rps,
    mean_ttft_ms, median_ttft_ms, p99_ttft_ms, mean_tpot_ms, median_tpot_ms, p99_tpot_ms, p99_itl_ms, mean_e2el_ms, p99_e2el_ms,
    joules_per_output_token, usd_per_mtok_output
);

CREATE INDEX trial_status ON trial (status);

CREATE INDEX trial_study ON trial (study);

CREATE TABLE ack (
    trial  INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    rule   TEXT NOT NULL,
    reason TEXT NOT NULL,
    who    TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (trial, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE assertion (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    trial     INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    verb      TEXT NOT NULL,
    field     TEXT,
    old_kind  INTEGER NOT NULL, old_num REAL, old_text TEXT,
    new_kind  INTEGER NOT NULL, new_num REAL, new_text TEXT,
    at        INTEGER NOT NULL,
    who       TEXT NOT NULL,
    why       TEXT,
    undone_at INTEGER, -- NULL while it counts
    undone_by TEXT
) STRICT;

CREATE TABLE config (
    id            INTEGER PRIMARY KEY,
    digest        BLOB NOT NULL UNIQUE,
    hash          TEXT NOT NULL, -- the query field config
    engine        TEXT,
    model         TEXT,
    checkpoint    TEXT,
    revision      TEXT,
    command_known INTEGER NOT NULL,
    knobs         INTEGER REFERENCES knobset (id),
    env           TEXT, -- JSON object
    tp REAL, pp REAL, dp REAL, ep REAL
) STRICT;

CREATE TABLE context (
    id     INTEGER PRIMARY KEY,
    study  TEXT,
    role   TEXT,
    status TEXT NOT NULL,
    host   TEXT
) STRICT;

CREATE TABLE course (
    trial INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    n     INTEGER NOT NULL, -- moments
    data  BLOB NOT NULL     -- packed JSON, one list a column
) STRICT;

CREATE TABLE derivation (
    id  INTEGER PRIMARY KEY,
    how TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE finding (
    trial    INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    rule     TEXT NOT NULL,
    version  INTEGER NOT NULL,
    severity INTEGER NOT NULL, -- 1 info, 2 note, 3 hard, 4 void
    metrics  TEXT, -- JSON array; "*" is every figure
    evidence TEXT NOT NULL,
    PRIMARY KEY (trial, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE knob (
    knobset INTEGER NOT NULL REFERENCES knobset (id),
    name    INTEGER NOT NULL REFERENCES name (id),
    kind    INTEGER NOT NULL, -- 0 missing, 1 number, 2 text, 3 boolean, 4 unset
    num     REAL,
    text    TEXT,
    PRIMARY KEY (knobset, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE knob_name (
    engine TEXT NOT NULL,
    name   TEXT NOT NULL,
    own    TEXT,
    PRIMARY KEY (engine, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE knobset (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE -- of the exact content
) STRICT;

CREATE TABLE launch (
    id            INTEGER PRIMARY KEY,
    uuid          BLOB UNIQUE, -- NULL where a source names no launch
    setup         INTEGER NOT NULL REFERENCES setup (id),
    argv          TEXT, -- JSON array
    env           TEXT, -- JSON object, never a secret's value
    resolved      INTEGER REFERENCES knobset (id),
    started_at    INTEGER,
    load_s        REAL,
    ready_s       REAL,
    compile_warm  INTEGER,
    host          TEXT,
    plugin_sha256 TEXT,
    failure       TEXT,
    failure_text  TEXT,
    log           TEXT
) STRICT;

CREATE TABLE load_point (
    id           INTEGER PRIMARY KEY,
    load         TEXT,
    concurrency  REAL,
    request_rate REAL,
    burstiness   REAL,
    num_prompts  REAL
) STRICT;

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY, -- history_id, created_at, created_by, trials, audit_version
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE name (
    id    INTEGER PRIMARY KEY,
    space TEXT NOT NULL, -- knob, figure, quality, extra
    name  TEXT NOT NULL,
    UNIQUE (space, name)
) STRICT;

CREATE TABLE original (
    trial INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    data  BLOB NOT NULL
) STRICT;

CREATE TABLE sample (
    trial INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    n     INTEGER NOT NULL,
    data  BLOB NOT NULL
) STRICT;

CREATE TABLE sample_chunk (
    trial INTEGER PRIMARY KEY REFERENCES trial (number) ON DELETE CASCADE,
    n     INTEGER NOT NULL,
    data  BLOB NOT NULL
) STRICT;

CREATE TABLE setup (
    id             INTEGER PRIMARY KEY,
    digest         BLOB NOT NULL UNIQUE,
    hash           TEXT NOT NULL, -- the query field setup
    config         INTEGER NOT NULL REFERENCES config (id),
    engine_version TEXT,
    image          TEXT,
    gpu            TEXT,
    gpus           REAL,
    nodes          REAL,
    power_limit_w  REAL,
    driver         TEXT,
    weight_dtype   TEXT,
    kv_dtype       TEXT,
    spec_method    TEXT,
    tool           TEXT,
    tool_version   TEXT,
    simulated      INTEGER NOT NULL
) STRICT;

CREATE TABLE source (
    trial    INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    seq      INTEGER NOT NULL, -- 0 is the source of the figures
    file     INTEGER NOT NULL REFERENCES source_file (id),
    position TEXT NOT NULL,
    format   TEXT,
    tool     TEXT,
    version  TEXT,
    decimals INTEGER NOT NULL, -- -1 for full floats
    imported INTEGER,
    raw      BLOB, -- packed source text
    PRIMARY KEY (trial, seq)
) STRICT;

CREATE TABLE source_file (
    id     INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL,
    file   TEXT NOT NULL,
    UNIQUE (sha256, file)
) STRICT;

CREATE TABLE study (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    resolved BLOB NOT NULL -- JSON
) STRICT;

CREATE TABLE tombstone (
    id          BLOB NOT NULL PRIMARY KEY,
    number      INTEGER NOT NULL,
    fingerprint INTEGER,
    figures     TEXT, -- JSON object, for comparison with a twin
    decimals    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    who         TEXT NOT NULL,
    why         TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstone_source (
    sha256    TEXT NOT NULL,
    position  TEXT NOT NULL,
    tombstone BLOB NOT NULL REFERENCES tombstone (id),
    PRIMARY KEY (sha256, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
    number            INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice
    id                BLOB NOT NULL UNIQUE,
    study TEXT, stage TEXT, option TEXT, role TEXT,
    status            TEXT NOT NULL,
    failure TEXT, failure_text TEXT,
    attempt INTEGER, repeat INTEGER,
    setup             INTEGER NOT NULL REFERENCES setup (id),
    workload          INTEGER NOT NULL REFERENCES workload (id),
    launch            INTEGER REFERENCES launch (id),
    host              TEXT,
    started_at INTEGER, ended_at INTEGER,
    zone_assumed      INTEGER NOT NULL,
    tag TEXT, asserted TEXT, -- comma separated
    sweepbook_version TEXT,
    findings          INTEGER NOT NULL, -- those that nobody acknowledged
    verdict           INTEGER REFERENCES verdict (id), -- NULL where they touch nothing
    derivation        INTEGER REFERENCES derivation (id),
    fingerprint       INTEGER, -- hash of the counts by which an import finds its twin
    load TEXT, concurrency REAL, request_rate REAL, burstiness REAL, num_prompts REAL, load_duration_s REAL, seed REAL,
    throttled         INTEGER,
    requested REAL, completed REAL, failed REAL, incomplete REAL, input_tokens REAL, cached_tokens REAL,
    output_tokens REAL, requested_output_tokens REAL, success_rate REAL, duration_s REAL, mean_input_len REAL,
    mean_output_len REAL, rps REAL, goodput_rps REAL, output_tps REAL, input_tps REAL, total_tps REAL,
    computed_tps REAL, steady_output_tps REAL, peak_output_tps REAL, peak_concurrency REAL, mean_concurrency REAL,
    duration_tps REAL, mean_ttft_ms REAL, median_ttft_ms REAL, std_ttft_ms REAL, min_ttft_ms REAL,
    max_ttft_ms REAL, p90_ttft_ms REAL, p95_ttft_ms REAL, p99_ttft_ms REAL, mean_tpot_ms REAL, median_tpot_ms REAL,
    std_tpot_ms REAL, min_tpot_ms REAL, max_tpot_ms REAL, p90_tpot_ms REAL, p95_tpot_ms REAL, p99_tpot_ms REAL,
    mean_itl_ms REAL, median_itl_ms REAL, std_itl_ms REAL, min_itl_ms REAL, max_itl_ms REAL, p90_itl_ms REAL,
    p95_itl_ms REAL, p99_itl_ms REAL, mean_e2el_ms REAL, median_e2el_ms REAL, std_e2el_ms REAL, min_e2el_ms REAL,
    max_e2el_ms REAL, p90_e2el_ms REAL, p95_e2el_ms REAL, p99_e2el_ms REAL, est_e2el_ms REAL, mean_power_w REAL,
    energy_j REAL, joules_per_output_token REAL, sm_clock_mhz REAL, peak_memory_mib REAL, accept_len REAL,
    accept_rate REAL, kv_cache_peak REAL, prefix_hit_rate REAL, preemptions REAL, usd_per_mtok_output REAL,
    usd_per_mtok_total REAL, mbu REAL, mfu REAL
, load_point INTEGER REFERENCES load_point (id), context INTEGER REFERENCES context (id)) STRICT;

CREATE TABLE value (
    trial INTEGER NOT NULL REFERENCES trial (number) ON DELETE CASCADE,
    name  INTEGER NOT NULL REFERENCES name (id),
    kind  INTEGER NOT NULL, -- as in knob
    num   REAL,
    text  TEXT,
    PRIMARY KEY (trial, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    id         INTEGER PRIMARY KEY,
    severities TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE workload (
    id         INTEGER PRIMARY KEY,
    digest     BLOB NOT NULL UNIQUE,
    hash       TEXT NOT NULL,
    name       TEXT,
    label      TEXT, -- the query field workload
    dataset    TEXT,
    path       TEXT,
    input_len  REAL,
    output_len REAL,
    ignore_eos INTEGER,
    turns      REAL,
    endpoint   TEXT,
    params     INTEGER REFERENCES knobset (id)
) STRICT;

CREATE TRIGGER trial_context AFTER UPDATE OF study, role, status, host ON trial
WHEN NEW.context IS OLD.context AND (NEW.study IS NOT OLD.study OR NEW.role IS NOT OLD.role OR NEW.status IS NOT OLD.status OR NEW.host IS NOT OLD.host)
BEGIN
    INSERT INTO context (study, role, status, host) SELECT NEW.study, NEW.role, NEW.status, NEW.host
    WHERE NOT EXISTS (SELECT 1 FROM context c WHERE c.study IS NEW.study AND c.role IS NEW.role AND c.status IS NEW.status AND c.host IS NEW.host);
    UPDATE trial SET context = (SELECT c.id FROM context c WHERE c.study IS NEW.study AND c.role IS NEW.role
        AND c.status IS NEW.status AND c.host IS NEW.host) WHERE number = NEW.number;
END;

CREATE TRIGGER trial_counted AFTER INSERT ON trial BEGIN
    UPDATE meta SET value = value + 1 WHERE key = 'trials';
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

CREATE TRIGGER trial_uncounted AFTER DELETE ON trial BEGIN
    UPDATE meta SET value = value - 1 WHERE key = 'trials';
END;

CREATE VIEW v_assertion AS
SELECT a.trial AS number, a.id, a.verb, a.field, coalesce(a.old_text, a.old_num) AS old, coalesce(a.new_text, a.new_num) AS new,
    strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000000.0, 'unixepoch') AS at_utc, a.who, a.why, a.undone_at IS NOT NULL AS undone
FROM assertion a;

CREATE VIEW v_derived AS
SELECT t.number, j.key AS figure, j.value AS formula
FROM trial t JOIN derivation d ON d.id = t.derivation, json_each(d.how) j;

CREATE VIEW v_finding AS
SELECT f.trial AS number, f.rule, f.version,
    CASE f.severity WHEN 1 THEN 'info' WHEN 2 THEN 'note' WHEN 3 THEN 'hard' WHEN 4 THEN 'void' END AS severity,
    f.metrics, f.evidence, a.reason AS ack, a.who AS ack_by,
    strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000000.0, 'unixepoch') AS ack_at_utc
FROM finding f LEFT JOIN ack a ON a.trial = f.trial AND a.rule = f.rule;

CREATE VIEW v_knob AS
SELECT t.number, c.engine, n.name, kn.own, 'passed' AS origin,
    CASE k.kind WHEN 1 THEN 'number' WHEN 2 THEN 'text' WHEN 3 THEN 'boolean' WHEN 4 THEN 'unset' ELSE 'missing' END AS kind,
    k.num, k.text
FROM trial t
JOIN setup s ON s.id = t.setup
JOIN config c ON c.id = s.config
JOIN knob k ON k.knobset = c.knobs
JOIN name n ON n.id = k.name
LEFT JOIN knob_name kn ON kn.engine = ifnull(c.engine, '') AND kn.name = n.name
UNION ALL
SELECT t.number, c.engine, n.name, kn.own, 'resolved',
    CASE k.kind WHEN 1 THEN 'number' WHEN 2 THEN 'text' WHEN 3 THEN 'boolean' WHEN 4 THEN 'unset' ELSE 'missing' END,
    k.num, k.text
FROM trial t
JOIN setup s ON s.id = t.setup
JOIN config c ON c.id = s.config
JOIN launch l ON l.id = t.launch
JOIN knob k ON k.knobset = l.resolved
JOIN name n ON n.id = k.name
LEFT JOIN knob_name kn ON kn.engine = ifnull(c.engine, '') AND kn.name = n.name
WHERE NOT EXISTS (SELECT 1 FROM knob p WHERE p.knobset = c.knobs AND p.name = k.name AND p.kind IN (1, 2, 3));

CREATE VIEW v_source AS
SELECT x.trial AS number, x.seq, f.file, f.sha256, x.position, x.format, x.tool, x.version, x.decimals,
    strftime('%Y-%m-%dT%H:%M:%fZ', x.imported / 1000000.0, 'unixepoch') AS imported_utc
FROM source x JOIN source_file f ON f.id = x.file;

CREATE VIEW v_trial AS
SELECT
    t.number,
    lower(substr(hex(t.id), 1, 8) || '-' || substr(hex(t.id), 9, 4) || '-' || substr(hex(t.id), 13, 4) || '-'
        || substr(hex(t.id), 17, 4) || '-' || substr(hex(t.id), 21)) AS id,
    t.study, t.stage, t.option, t.role, t.status, t.failure, t.attempt, t.repeat,
    CASE WHEN l.uuid IS NOT NULL THEN
        lower(substr(hex(l.uuid), 1, 8) || '-' || substr(hex(l.uuid), 9, 4) || '-' || substr(hex(l.uuid), 13, 4) || '-'
            || substr(hex(l.uuid), 17, 4) || '-' || substr(hex(l.uuid), 21)) END AS launch,
    t.tag,
    (SELECT f.file FROM source x JOIN source_file f ON f.id = x.file WHERE x.trial = t.number AND x.seq = 0) AS source,
    s.tool, s.tool_version, t.sweepbook_version,
    t.started_at / 1000000.0 AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', t.started_at / 1000000.0, 'unixepoch') AS started_at_utc,
    s.simulated, t.asserted,
    c.engine, s.engine_version, c.model, c.checkpoint, s.weight_dtype, s.kv_dtype, c.tp, c.pp, c.dp, c.ep, s.gpus, s.nodes,
    s.spec_method, s.image, c.hash AS config, s.hash AS setup,
    s.gpu, s.driver, t.host, s.power_limit_w,
    CASE l.compile_warm WHEN 1 THEN 'warm' WHEN 0 THEN 'cold' END AS compile_cache,
    l.load_s, l.ready_s,
    w.label AS workload, w.dataset, w.input_len, w.output_len, w.ignore_eos, w.turns,
    t.load, t.concurrency, t.request_rate, t.burstiness, t.num_prompts, t.seed, t.throttled, t.findings,
    t.requested, t.completed, t.failed, t.incomplete, t.input_tokens, t.cached_tokens, t.output_tokens,
    t.requested_output_tokens, t.success_rate, t.duration_s, t.mean_input_len, t.mean_output_len, t.rps,
    t.goodput_rps, t.output_tps, t.input_tps, t.total_tps, t.computed_tps, t.steady_output_tps, t.peak_output_tps,
    t.peak_concurrency, t.mean_concurrency, t.duration_tps, t.mean_ttft_ms, t.median_ttft_ms, t.std_ttft_ms,
    t.min_ttft_ms, t.max_ttft_ms, t.p90_ttft_ms, t.p95_ttft_ms, t.p99_ttft_ms, t.mean_tpot_ms, t.median_tpot_ms,
    t.std_tpot_ms, t.min_tpot_ms, t.max_tpot_ms, t.p90_tpot_ms, t.p95_tpot_ms, t.p99_tpot_ms, t.mean_itl_ms,
    t.median_itl_ms, t.std_itl_ms, t.min_itl_ms, t.max_itl_ms, t.p90_itl_ms, t.p95_itl_ms, t.p99_itl_ms,
    t.mean_e2el_ms, t.median_e2el_ms, t.std_e2el_ms, t.min_e2el_ms, t.max_e2el_ms, t.p90_e2el_ms, t.p95_e2el_ms,
    t.p99_e2el_ms, t.est_e2el_ms, t.mean_power_w, t.energy_j, t.joules_per_output_token, t.sm_clock_mhz,
    t.peak_memory_mib, t.accept_len, t.accept_rate, t.kv_cache_peak, t.prefix_hit_rate, t.preemptions,
    t.usd_per_mtok_output, t.usd_per_mtok_total, t.mbu, t.mfu,
    t.rps / s.gpus AS rps_per_gpu,
    t.goodput_rps / s.gpus AS goodput_rps_per_gpu,
    t.output_tps / s.gpus AS output_tps_per_gpu,
    t.input_tps / s.gpus AS input_tps_per_gpu,
    t.total_tps / s.gpus AS total_tps_per_gpu,
    t.computed_tps / s.gpus AS computed_tps_per_gpu,
    t.steady_output_tps / s.gpus AS steady_output_tps_per_gpu,
    t.peak_output_tps / s.gpus AS peak_output_tps_per_gpu,
    t.peak_concurrency / s.gpus AS peak_concurrency_per_gpu,
    t.mean_concurrency / s.gpus AS mean_concurrency_per_gpu,
    t.duration_tps / s.gpus AS duration_tps_per_gpu
FROM trial t
JOIN setup s ON s.id = t.setup
JOIN config c ON c.id = s.config
JOIN workload w ON w.id = t.workload
LEFT JOIN launch l ON l.id = t.launch;

CREATE VIEW v_value AS
SELECT v.trial AS number, n.space, n.name,
    CASE v.kind WHEN 1 THEN 'number' WHEN 2 THEN 'text' WHEN 3 THEN 'boolean' WHEN 4 THEN 'unset' ELSE 'missing' END AS kind,
    v.num, v.text
FROM value v JOIN name n ON n.id = v.name;
