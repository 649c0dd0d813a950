package ingest

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// holdsMLflow: the tables of MLflow's tracking store.
func holdsMLflow(db *database) bool {
	return db.has("experiments", "experiment_id", "name") && db.has("runs", "run_uuid", "experiment_id", "status") && db.has("params", "key", "value", "run_uuid") && db.has("metrics", "key", "value", "run_uuid")
}

// mlflowRun is a run of an experiment, as the database or a folder has it.
type mlflowRun struct {
	id, name, experiment string
	status               string
	deleted              bool
	started, ended       any // milliseconds since 1970
	parent               string
	params, metrics      []pair
	tags                 []pair
}

// record makes a trial of a run that has ended. A run without a single value, such
// as the parent of others, is none unless it failed.
func (r *mlflowRun) record(h *history) {
	d := newDraft(h.format, h.tool, 0)
	switch r.status {
	case "FINISHED", "3":
	case "FAILED", "4":
		d.t.Status = core.StatusFailed
	case "KILLED", "5":
		d.t.Status = core.StatusAborted
	default:
		h.leaveOut("that have not ended")
		return
	}
	switch {
	case r.deleted:
		h.leaveOut("that were deleted there")
		return
	case len(r.metrics) == 0 && d.t.Status == core.StatusOK:
		h.leaveOut("without a value")
		return
	}
	status := d.t.Status
	d = h.trial(r.experiment, "run "+clip(r.id, 60), "run "+r.id)
	d.t.Status = status
	d.raw = fmt.Sprintf("experiment %s, run %s: %s\n", r.experiment, r.id, r.status)
	d.t.StartedAt, d.t.EndedAt = milliseconds(r.started), milliseconds(r.ended)
	d.t.Option, d.t.Stage = maskSecrets(clip(r.name, 200)), maskSecrets(clip(r.parent, 200))
	d.extra("mlflow_run", core.OptionalText(clip(r.id, 60)))
	for _, p := range r.params {
		h.param(d, p.name, p.value)
	}
	for _, p := range r.metrics {
		h.measured(d, p.name, p.value)
	}
	for _, p := range r.tags {
		switch {
		case p.name == "mlflow.note.content":
			d.extra("note", setting(p.value))
		case strings.HasPrefix(p.name, "mlflow."):
		default:
			h.label(d, p.name, p.value)
		}
	}
	h.done(d)
}

// takeTags takes what MLflow itself keeps in tags.
func (r *mlflowRun) takeTags() (parent string) {
	for _, p := range r.tags {
		switch value, _ := p.value.(string); p.name {
		case "mlflow.runName":
			if r.name == "" {
				r.name = value
			}
		case "mlflow.parentRunId":
			parent = value
		}
	}
	return parent
}

// readMLflow makes a trial of each run of a tracking database.
func readMLflow(db *database, in *input, out *collector) error {
	h := newHistory(in, out, "mlflow-sqlite", "mlflow")
	defer h.end()
	var runs []mlflowRun
	names := map[string]string{}
	column := func(name string) string {
		return strings.ReplaceAll(db.orNull("runs", name), `"`+name+`"`, `r."`+name+`"`)
	}
	err := db.each(fmt.Sprintf("SELECT %s, %s, substr(e.name, 1, 300), %s, %s, %s, %s FROM runs r LEFT JOIN experiments e ON e.experiment_id = r.experiment_id ORDER BY r.start_time, r.run_uuid LIMIT %d",
		column("run_uuid"), column("name"), column("status"), column("lifecycle_stage"), column("start_time"), column("end_time"), maxTrials), nil, func(row []any) {
		r := mlflowRun{id: clip(cellText(row[0]), 200), name: clip(cellText(row[1]), 300), experiment: cellText(row[2]), status: cellText(row[3]), deleted: cellText(row[4]) == "deleted",
			started: cellNumber(row[5]), ended: cellNumber(row[6])}
		names[r.id] = r.name
		runs = append(runs, r)
	})
	if err != nil {
		return err
	}
	for i := range runs {
		r := &runs[i]
		if err := r.load(db); err != nil {
			return fmt.Errorf("run %s: %w", clip(r.id, 60), err)
		}
		r.parent = names[r.takeTags()]
		r.record(h)
		r.params, r.metrics, r.tags = nil, nil, nil
	}
	return nil
}

// load reads what hangs on a run. Of a value that was logged again and again the
// last counts.
func (r *mlflowRun) load(db *database) error {
	texts := func(table string, to *[]pair) error {
		if !db.has(table, "key", "value", "run_uuid") {
			return nil
		}
		return db.each(fmt.Sprintf("SELECT %s, %s FROM %s WHERE run_uuid = ? ORDER BY 1 LIMIT %d", db.orNull(table, "key"), db.orNull(table, "value"), table, maxPairs),
			[]any{r.id}, func(row []any) { *to = append(*to, pair{clip(cellText(row[0]), 300), clip(cellText(row[1]), 8000)}) })
	}
	if err := texts("params", &r.params); err != nil {
		return err
	}
	if err := texts("tags", &r.tags); err != nil {
		return err
	}
	table, order := "latest_metrics", "1"
	if !db.has(table, "key", "value", "run_uuid") {
		table, order = "metrics", "1, step, timestamp"
	}
	return db.each(fmt.Sprintf("SELECT %s, value, %s FROM %s WHERE run_uuid = ? ORDER BY %s LIMIT 1000000", db.orNull(table, "key"), db.orNull(table, "is_nan"), table, order),
		[]any{r.id}, func(row []any) {
			p := pair{clip(cellText(row[0]), 300), cellNumber(row[1])}
			if nan, _ := row[2].(int64); nan != 0 {
				p.value = nil
			}
			switch n := len(r.metrics); {
			case n > 0 && r.metrics[n-1].name == p.name:
				r.metrics[n-1] = p
			case n < maxPairs:
				r.metrics = append(r.metrics, p)
			}
		})
}
