package ingest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// holdsOptuna: the tables of Optuna's storage, of all its versions.
func holdsOptuna(db *database) bool {
	return db.has("studies", "study_id", "study_name") && db.has("trials", "trial_id", "study_id", "state") && db.has("trial_params", "trial_id", "param_name", "param_value")
}

// optunaStudy is one study: what is optimised, and what was said of it.
type optunaStudy struct {
	id         int64
	name       string
	names      []string // of the objectives
	directions map[int]string
	labels     []pair
}

type pair struct {
	name  string
	value any
}

// maxTrials bounds the trials of one history that are read.
const maxTrials = maxHeld / trialSize

// maxPairs bounds the parameters, values and labels of one trial, each.
const maxPairs = 500

// readOptuna makes a trial of each trial of each study that has ended.
func readOptuna(db *database, in *input, out *collector) error {
	h := newHistory(in, out, "optuna-sqlite", "optuna")
	defer h.end()
	if db.has("version_info", "library_version") {
		if err := db.each("SELECT "+db.orNull("version_info", "library_version")+" FROM version_info LIMIT 1", nil, func(row []any) { h.version = clip(cellText(row[0]), 40) }); err != nil {
			return err
		}
	}
	studies, err := optunaStudies(db)
	if err != nil {
		return err
	}
	for _, s := range studies {
		if err := s.read(db, h); err != nil {
			return fmt.Errorf("study %q: %w", clip(s.name, 100), err)
		}
	}
	return nil
}

func optunaStudies(db *database) ([]*optunaStudy, error) {
	var studies []*optunaStudy
	err := db.each("SELECT study_id, "+db.orNull("studies", "study_name")+" FROM studies ORDER BY study_id LIMIT 10000", nil, func(row []any) {
		if id, ok := row[0].(int64); ok {
			studies = append(studies, &optunaStudy{id: id, name: clip(cellText(row[1]), 200), directions: map[int]string{}})
		}
	})
	if err != nil {
		return nil, err
	}
	for _, s := range studies {
		if db.has("study_directions", "study_id", "direction") {
			err := db.each("SELECT "+db.orNull("study_directions", "objective")+", "+db.orNull("study_directions", "direction")+" FROM study_directions WHERE study_id = ? LIMIT 100",
				[]any{s.id}, func(row []any) {
					objective, _ := row[0].(int64)
					s.directions[int(objective)] = strings.ToLower(clip(cellText(row[1]), 20))
				})
			if err != nil {
				return nil, err
			}
		}
		if s.labels, err = db.pairs("study_user_attributes", "study_id", s.id); err != nil {
			return nil, err
		}
		system, err := db.pairs("study_system_attributes", "study_id", s.id)
		if err != nil {
			return nil, err
		}
		for _, p := range system {
			if list, ok := p.value.([]any); ok && p.name == "study:metric_names" {
				for _, name := range list {
					s.names = append(s.names, clip(text(name), 100))
				}
			}
		}
	}
	return studies, nil
}

// pairs gives the attributes of a study or a trial, whose values are JSON.
func (d *database) pairs(table, of string, id int64) (list []pair, err error) {
	if !d.has(table, of, "key", "value_json") {
		return nil, nil
	}
	err = d.each(fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s = ? ORDER BY 1 LIMIT %d", d.orNull(table, "key"), d.orNull(table, "value_json"), table, of, maxPairs),
		[]any{id}, func(row []any) { list = append(list, pair{clip(cellText(row[0]), 200), jsonValue(cellText(row[1]))}) })
	return list, err
}

// optunaTrial is the head of a trial.
type optunaTrial struct {
	id, number     int64
	state          string
	started, ended string
	value          any // of versions before 2.4, which had one objective
}

func (s *optunaStudy) read(db *database, h *history) error {
	var trials []optunaTrial
	query := fmt.Sprintf("SELECT trial_id, %s, %s, %s, %s, %s FROM trials WHERE study_id = ? ORDER BY trial_id LIMIT %d", db.orNull("trials", "number"),
		db.orNull("trials", "state"), db.orNull("trials", "datetime_start"), db.orNull("trials", "datetime_complete"), db.orNull("trials", "value"), maxTrials)
	err := db.each(query, []any{s.id}, func(row []any) {
		t := optunaTrial{number: int64(len(trials)), state: cellText(row[2]), started: dateText(row[3]), ended: dateText(row[4]), value: cellNumber(row[5])}
		t.id, _ = row[0].(int64)
		if n, ok := row[1].(int64); ok {
			t.number = n
		}
		trials = append(trials, t)
	})
	if err != nil {
		return err
	}
	for _, t := range trials {
		switch t.state {
		case "COMPLETE", "FAIL", "PRUNED":
		default:
			h.leaveOut("that have not ended")
			continue
		}
		if err := s.trial(db, h, t); err != nil {
			return err
		}
	}
	return nil
}

// trial reads one trial. Optuna writes local times without a zone.
func (s *optunaStudy) trial(db *database, h *history, t optunaTrial) error {
	d := h.trial(s.name, fmt.Sprintf("study %s, trial %d", clip(s.name, 100), t.number), fmt.Sprintf("study %s trial %d of %s", s.name, t.number, t.started))
	d.raw = fmt.Sprintf("study %s, trial %d: %s\n", s.name, t.number, t.state)
	switch t.state {
	case "FAIL":
		d.t.Status = core.StatusFailed
	case "PRUNED":
		d.t.Status = core.StatusStopped
	}
	if at, _, ok := moment(t.started); ok {
		d.t.StartedAt, d.t.ZoneAssumed = at, true
	}
	if at, _, ok := moment(t.ended); ok {
		d.t.EndedAt, d.t.ZoneAssumed = at, true
	}
	d.extra("optuna_trial", core.Number(float64(t.number)))
	for _, p := range s.labels {
		h.label(d, p.name, p.value)
	}
	params, err := db.optunaParams(t.id)
	if err != nil {
		return err
	}
	for _, p := range params {
		h.param(d, p.name, p.value)
	}
	if err := s.values(db, h, d, t); err != nil {
		return err
	}
	for _, table := range []string{"trial_user_attributes", "trial_system_attributes"} {
		attributes, err := db.pairs(table, "trial_id", t.id)
		if err != nil {
			return err
		}
		for _, p := range attributes {
			if table == "trial_user_attributes" || p.name == "fail_reason" {
				h.label(d, p.name, p.value)
			}
		}
	}
	h.done(d)
	return nil
}

// optunaParams gives the parameters of a trial. Of a choice the file has the index.
func (d *database) optunaParams(trial int64) (list []pair, err error) {
	err = d.each(fmt.Sprintf("SELECT %s, %s, %s FROM trial_params WHERE trial_id = ? ORDER BY 1 LIMIT %d", d.orNull("trial_params", "param_name"),
		d.orNull("trial_params", "param_value"), d.orNull("trial_params", "distribution_json"), maxPairs), []any{trial}, func(row []any) {
		p := pair{clip(cellText(row[0]), 200), cellNumber(row[1])}
		distribution, _ := jsonValue(cellText(row[2])).(*object)
		if distribution == nil {
			distribution = &object{}
		}
		if distribution.text("name") == "CategoricalDistribution" {
			p.value = chosen(distribution.sub("attributes").vals["choices"], p.value)
		}
		list = append(list, p)
	})
	return list, err
}

// chosen gives the choice at an index, nil where there is none.
func chosen(choices, index any) any {
	i, ok := number(index)
	if !ok || i < 0 || i != math.Trunc(i) {
		return nil
	}
	switch list := choices.(type) {
	case []any:
		if int(i) < len(list) {
			return list[int(i)]
		}
	case []float64:
		if int(i) < len(list) {
			return list[int(i)]
		}
	}
	return nil
}

// values takes the values of the objectives, under the name that the study gives
// them. Of a pruned trial they are what was reported last, no result.
func (s *optunaStudy) values(db *database, h *history, d *draft, t optunaTrial) error {
	values := map[int]any{}
	if t.value != nil {
		values[0] = t.value
	}
	if db.has("trial_values", "trial_id", "value") {
		err := db.each(fmt.Sprintf("SELECT %s, %s, %s FROM trial_values WHERE trial_id = ? LIMIT %d", db.orNull("trial_values", "objective"), db.orNull("trial_values", "value"),
			db.orNull("trial_values", "value_type"), maxPairs), []any{t.id}, func(row []any) {
			objective, _ := row[0].(int64)
			values[int(objective)] = cellNumber(row[1])
			if kind := cellText(row[2]); kind == "INF_POS" || kind == "INF_NEG" {
				values[int(objective)] = kind
			}
		})
		if err != nil {
			return err
		}
	}
	for i := range min(max(len(values), len(s.directions)), 100) {
		name := "objective"
		if len(s.directions) > 1 {
			name = fmt.Sprintf("objective_%d", i)
		}
		if direction := s.directions[i]; direction != "" && direction != "not_set" {
			d.extra(name+"_direction", core.String(direction))
		}
		label := name
		if i < len(s.names) && s.names[i] != "" {
			label = s.names[i]
			d.extra(name+"_name", core.String(label))
		}
		switch v := values[i]; {
		case v == "INF_POS" || v == "INF_NEG":
			d.note("value", label, v)
			d.extra(name+"_not_finite", core.String(strings.ToLower(text(v))))
		case t.state == "PRUNED":
			d.note("last reported", label, v)
			d.extra(snakeLabel("last_reported_"+label), setting(v))
		case t.state == "COMPLETE":
			h.measured(d, label, v)
		}
	}
	return nil
}

// dateText gives a cell of a date as SQLAlchemy writes it, without its fraction.
func dateText(v any) string {
	if at, ok := v.(time.Time); ok {
		return at.UTC().Format("2006-01-02 15:04:05")
	}
	s, _, _ := strings.Cut(strings.TrimSpace(cellText(v)), ".")
	return s
}
