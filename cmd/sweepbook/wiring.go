package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// This file hands the packages to each other: only here do store, query and
// plugins meet.

// builtins are the engines inside this binary.
func builtins() []string { return []string{"sglang", "sim", "trtllm", "vllm"} }

// runStore is the history as core/study wants it.
type runStore struct {
	*store.DB
	app *app
	// redact keeps secrets out of what is recorded of a server's own words.
	redact *serving.Redactor
	// ended is closed when the user wants to end at once: nothing waits then.
	ended <-chan struct{}
}

func (s runStore) Trials(ctx context.Context, name string) ([]*core.Trial, error) {
	return s.trialsWhere(ctx, core.Cond{Field: "study", Op: core.OpEq, Values: []core.Value{core.String(name)}})
}

func (s runStore) trialsWhere(ctx context.Context, where ...core.Cond) ([]*core.Trial, error) {
	var ids []core.ID
	for row, err := range s.Rows(ctx, core.Select{Columns: []string{"id"}, Where: where}) {
		if err != nil {
			return nil, err
		}
		id, err := core.ParseID(row[0].Text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return s.TrialsByID(ctx, ids)
}

func (s runStore) Equal(ctx context.Context, name, host, config string) ([]*core.Trial, error) {
	is := func(field, value string) core.Cond {
		return core.Cond{Field: field, Op: core.OpEq, Values: []core.Value{core.String(value)}}
	}
	trials, err := s.trialsWhere(ctx, is("config", config), is("host", host), is("status", string(core.StatusOK)))
	return slices.DeleteFunc(trials, func(t *core.Trial) bool { return t.Study == name }), err
}

// judge answers a study's questions with the query language.
type judge struct {
	src query.Source
	app *app
	// accept acknowledges what the study accepts of the audit before it is asked.
	accept func(ctx context.Context) error
	// void names the rules that void some trials.
	void func(ctx context.Context, trials []core.ID) ([]string, error)
}

func (j judge) Check(ctx context.Context, objective string) error {
	q, err := query.Parse(objective)
	if err != nil {
		return err
	}
	names, err := j.src.Names(ctx)
	if err != nil {
		return err
	}
	return q.Check(names)
}

func (j judge) CheckCondition(ctx context.Context, condition string) error {
	return j.Check(ctx, "show id where "+condition)
}

func (j judge) Best(ctx context.Context, objective string, among []core.ID) ([]core.ID, error) {
	if len(among) == 0 {
		return nil, nil
	}
	if err := j.accept(ctx); err != nil {
		return nil, err
	}
	// A void figure may not decide a study. Each trial is asked alone, because a
	// median of repeats does not say which of them is void.
	var sound, void []core.ID
	for _, id := range among {
		answer, err := query.Run(ctx, subset{j.src, []core.ID{id}}, objective, query.Options{Now: j.app.now()})
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(answer.Severity, core.SeverityVoid):
			void = append(void, id)
		default:
			sound = append(sound, id)
		}
	}
	objective = combined(objective)
	var best []core.ID
	if len(sound) > 0 {
		answer, err := query.Run(ctx, subset{j.src, sound}, objective, query.Options{Now: j.app.now()})
		if err == nil {
			best, err = idsOf(answer)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(best) == 0 && len(void) > 0 {
		rules, err := j.void(ctx, void)
		if err != nil {
			return nil, err
		}
		return nil, &study.VoidError{Void: study.Void{Trials: len(void), Rules: rules}}
	}
	return best, nil
}

// combined judges configurations by the median of their repeats, so that the luckiest
// single one does not win. An objective that says itself how repeats combine is left
// alone.
func combined(objective string) string {
	if _, err := query.Parse(objective + " per config"); err == nil {
		return objective + " per config"
	}
	return objective
}

// Rank asks for all that qualify instead of the best alone.
func (j judge) Rank(ctx context.Context, objective string, among []core.ID) (study.Ranking, error) {
	// What an objective says itself of groups and ties cannot be said again.
	for _, clause := range []string{" by engine", " within noise", " top 2", " limit 1", " prefer max output_tps"} {
		if _, err := query.Parse(objective + clause); err != nil {
			return study.Ranking{}, study.ErrUnranked
		}
	}
	parsed, err := query.Parse(objective)
	if err != nil {
		return study.Ranking{}, err
	}
	r := study.Ranking{Figures: map[core.ID]float64{}, Lower: parsed.Verb() == "min"}
	if len(among) == 0 {
		return r, nil
	}
	if err := j.accept(ctx); err != nil {
		return r, err
	}
	all := fmt.Sprintf(" top %d", len(among))
	answer, err := query.Run(ctx, subset{j.src, among}, objective+all, query.Options{Now: j.app.now()})
	if err != nil {
		return r, err
	}
	ids, err := idsOf(answer)
	if err != nil {
		return r, err
	}
	var void []core.ID
	for i, id := range ids {
		if i < len(answer.Severity) && answer.Severity[i] == core.SeverityVoid {
			void = append(void, id)
			continue
		}
		r.Figures[id] = answer.Rows[i][0].Num
	}
	sound := slices.DeleteFunc(slices.Clone(among), func(id core.ID) bool { return slices.Contains(void, id) })
	objective = combined(objective)
	if len(sound) > 0 {
		answer, err := query.Run(ctx, subset{j.src, sound}, objective+all, query.Options{Now: j.app.now()})
		if err != nil {
			return r, err
		}
		if ids, err = idsOf(answer); err != nil {
			return r, err
		}
		for i, id := range ids {
			r.Rows = append(r.Rows, study.Ranked{Trial: id, Value: answer.Rows[i][0].Num})
		}
	}
	if len(r.Rows) == 0 && len(void) > 0 {
		rules, err := j.void(ctx, void)
		if err != nil {
			return r, err
		}
		return r, &study.VoidError{Void: study.Void{Trials: len(void), Rules: rules}}
	}
	return r, nil
}

func (j judge) Holds(ctx context.Context, condition string, trial core.ID) (bool, error) {
	answer, err := query.Run(ctx, subset{j.src, []core.ID{trial}}, "show id where "+condition, query.Options{Now: j.app.now()})
	if err != nil {
		return false, err
	}
	return len(answer.Rows) == 1, nil
}

func idsOf(answer *query.Answer) ([]core.ID, error) {
	column := answer.Column("id")
	if column < 0 {
		return nil, fmt.Errorf("objective: the answer names no trial: ask for max or min")
	}
	var ids []core.ID
	for _, row := range answer.Rows {
		id, err := core.ParseID(row[column].Text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// subset is a history of a few of another's trials.
type subset struct {
	query.Source
	ids []core.ID
}

func (s subset) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	values := make([]core.Value, len(s.ids))
	for i, id := range s.ids {
		values[i] = core.String(id.String())
	}
	sel.Where = append(slices.Clone(sel.Where), core.Cond{Field: "id", Op: core.OpIn, Values: values})
	return s.Source.Rows(ctx, sel)
}

// withKnobs is a history in which a study's own knobs may be named before any
// trial has recorded them.
type withKnobs struct {
	query.Source
	knobs []string
}

func (w withKnobs) Names(ctx context.Context) (core.Names, error) {
	names, err := w.Source.Names(ctx)
	names.Knobs = append(slices.Clone(names.Knobs), w.knobs...)
	return names, err
}

// judgeOf answers the questions of one study.
func (a *app) judgeOf(src query.Source, file *study.File) judge {
	knobs := file.Study.Baseline.Knobs.Names()
	for _, stage := range file.Study.Stages {
		for _, option := range stage.Try {
			knobs = append(knobs, option.Change.Knobs.Names()...)
		}
	}
	for _, axis := range file.Study.Search.Matrix {
		for _, value := range axis.Values {
			knobs = append(knobs, value.Change.Knobs.Names()...)
		}
	}
	for _, option := range file.Study.Search.Configs {
		knobs = append(knobs, option.Change.Knobs.Names()...)
	}
	return judge{src: withKnobs{src, knobs}, app: a}
}

// opener opens engines as plugin processes: a built-in is this binary again.
func (a *app) opener(host *plugins.Host) func(context.Context, string) (*study.Session, error) {
	return func(ctx context.Context, engine string) (*study.Session, error) {
		spec, err := a.engineSpec(engine)
		if err != nil {
			return nil, err
		}
		if spec.Manifest != "" {
			// Its plugin process would say the same in the midst of its own words.
			if _, err := readManifest(engine, spec.Manifest, spec.Manifest); err != nil {
				return nil, err
			}
		}
		client, err := host.Start(ctx, spec)
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", engine, err)
		}
		return &study.Session{Engine: client, SHA256: client.SHA256(), Close: client.Close}, nil
	}
}

func (a *app) engineSpec(engine string) (plugins.Spec, error) {
	if slices.Contains(builtins(), engine) {
		return plugins.Builtin(engine)
	}
	// What is refused among other plugins concerns only who asks for it.
	found, refused := plugins.Discover(a.pluginPath())
	names := builtins()
	for _, spec := range found {
		if spec.Name == engine {
			return spec, nil
		}
		names = append(names, spec.Name)
	}
	if refused != nil {
		return plugins.Spec{}, fmt.Errorf("engine %q: %w", engine, refused)
	}
	msg := fmt.Errorf("unknown engine %q: %w", engine, core.ErrNotFound)
	hint := "sweepbook engines lists what is here"
	if near := core.NearestNames(engine, names); len(near) > 0 {
		hint = fmt.Sprintf("nearest: %s; %s", near[0], hint)
	}
	return plugins.Spec{}, hinted{msg, hint}
}

// pluginPath is where engines of other people are looked for.
func (a *app) pluginPath() []string {
	path := filepath.SplitList(a.getenv("SWEEPBOOK_PLUGIN_PATH"))
	data := a.getenv("XDG_DATA_HOME")
	if data == "" {
		if home, err := os.UserHomeDir(); err == nil {
			data = filepath.Join(home, ".local", "share")
		}
	}
	if data != "" {
		path = append(path, filepath.Join(data, "sweepbook", "plugins"))
	}
	return path
}

// secretsOf gives the values of a study's secrets from this environment. One that
// is not set is left out: the engine says itself what it lacks.
func (a *app) secretsOf(names []string) map[string]string {
	secrets := map[string]string{}
	for _, name := range names {
		if v := a.getenv(name); v != "" {
			secrets[name] = v
		} else {
			a.warn("secret %s is not set in the environment", name)
		}
	}
	return secrets
}

// serverEnv is the allow-listed environment of this process with the plan's own:
// where programs, libraries, models and certificates lie. What changes a figure,
// as NCCL's and CUDA's settings do, belongs in the configuration's env, where it
// is recorded.
func serverEnv(own map[string]string) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
		"HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := os.LookupEnv(name); ok {
			if _, given := own[name]; !given {
				env = append(env, name+"="+v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name])
	}
	return env
}
