package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

// Report is a finished report. Charts are PNG pictures by the file name under
// which Markdown looks for them.
type Report struct {
	Title  string
	Charts map[string][]byte

	blocks  []block
	figures map[string]chart.Figure // what Charts show, to hold the marks against the tables
}

// Options are what a report needs beside the history. The zero Options are valid.
type Options struct {
	Now     time.Time // printed as the date of the report; zero prints none
	Version string    // of the Sweepbook that writes the report; "" prints none

	// Objective and DecideOn stand in for those of a study that has no definition,
	// such as an imported one. Empty ones are DefaultObjective and the workload
	// with the most measured trials; with the default objective, its load where one has
	// the most measured trials, since trials at different loads do not compare.
	Objective string
	DecideOn  string
	// Baseline is a condition that picks trials of the baseline's configuration, for
	// a source that marks none; "" is role == "baseline".
	Baseline string

	// USDPerGPUHour prices a trial that has no price of its own; 0 takes that of the
	// study's definition.
	USDPerGPUHour float64

	// Details gives what no query can: commands, the text of a failure, what the audit
	// found. A nil one leaves them out. An error ends the report, except
	// core.ErrNotFound.
	Details func(ctx context.Context, trialID string) (Details, error)
	// RuleTitles say what an audit rule says, by its id ("A3x"); nil leaves them out.
	RuleTitles map[string]string
}

// Details of one trial, as the history or its sources record them.
type Details struct {
	Serve       string // command that starts the server, "" unknown
	Bench       string // command that measures, "" unknown
	FailureLine string // the line that proves the failure class, "" none
	Findings    []core.Finding
}

// DefaultObjective is asked of a study that states none.
const DefaultObjective = "max total_tps where success_rate == 1"

// Build asks a history for everything that a report on one study says. def is the
// study's definition, nil for an imported study. The error wraps core.ErrNotFound
// when the history holds no trial of the study. A study in which nothing
// qualifies has a report too, which says so.
func Build(ctx context.Context, src query.Source, study string, def *core.Study, opt Options) (*Report, error) {
	b := &builder{ctx: ctx, src: src, study: study, def: def, opt: opt, r: &Report{Charts: map[string][]byte{}, figures: map[string]chart.Figure{}}}
	steps := []func() error{b.begin, b.title, b.knobs, b.decide, b.overview, b.beforeAfter, b.stages, b.singleChanges, b.pareto, b.curves, b.noise, b.audit, b.reused, b.leftOut,
		b.failures, b.gaps, b.reproduce}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("report on study %q: %w", study, err)
		}
	}
	return b.r, nil
}

// builder collects the blocks of a report in the order of its steps.
type builder struct {
	ctx   context.Context //nolint:containedctx // a builder lives within one call of Build
	src   query.Source
	study string
	def   *core.Study
	opt   Options
	r     *Report

	obj        objective
	scope      string // condition that picks the study
	decideOn   string // workload
	decideLoad string // label of a load; "" leaves the load to the objective
	queries    []string
	history    core.History
	names      core.Names
	life       *rows  // count and times of the study's trials
	simulated  string // what every picture says of simulated trials; "" where there are none

	passed   map[string]string     // by config: see knobs
	chose    map[string]attributes // by config
	options  map[string]string     // by config, the one that stands for it: see readOptions
	baseline *setup                // nil when no trial is a baseline
	winner   *setup                // nil when nothing qualifies
	decision *rows
	voided   []core.Value // the first row of the decision, where its figure is void
	// baselines are the baseline's medians on the deciding workload, by loadKey.
	baselines map[string]setup

	measured       *rows            // qualified trials of the deciding workload, for the noise
	groups         [][]int          // rows of measured that repeat each other or are inert twins
	scatter        scatter          // noise of the objective
	byTime         scatter          // noise of duration_tps
	verdict        stats.Comparison // of winner beside baseline; zero where one is missing
	rivals         []setup          // qualified setups at the winner's load, without the winner
	tied           []setup          // of these, the ones that cannot be told from it
	begun          begun            // the trials by what became of them
	left           unfinished       // what the definition plans beyond the trials
	qualityUnknown bool

	workloads []pair   // what baseline and winner were both measured on
	sides     *rows    // the answer that workloads indexes
	figures   []string // its columns of medians
}

// loadFields tell loads apart; the seed is not among them.
const loadFields = "load, num_prompts, burstiness"

func loadKey(a *rows, i int) string {
	return a.text(i, "load") + "/" + a.text(i, "num_prompts") + "/" + a.text(i, "burstiness")
}

// setup reads one row of repeats.
func (b *builder) setup(a *rows, i int) setup {
	config := a.text(i, "config")
	var limits []core.Value
	for _, f := range b.obj.limits() {
		limits = append(limits, a.get(i, limitColumn(f)))
	}
	return setup{limits: limits, config: config, hash: a.text(i, "setup"), model: a.text(i, "model"), engine: a.text(i, "engine"), option: a.text(i, "option"),
		role: a.text(i, "role"), load: a.get(i, "load"), loadKey: loadKey(a, i), passed: b.passed[config], n: a.count(i, "n"), qualified: a.count(i, "qualified"), value: a.get(i, "objective"), low: a.get(i, "lowest"), high: a.get(i, "highest"),
		success: a.get(i, "success_rate"), findings: a.count(i, "findings"), number: a.get(i, "number"), duration: a.get(i, "duration"),
		outputTPS: a.get(i, "output_tps"), gpus: a.get(i, "gpus"), severity: core.Severity(a.count(i, "severity"))}
}

// setup is a setup as the decision compares it: all its repeats on the deciding
// workload at one load.
type setup struct {
	config, hash string // fields config and setup
	model        string
	load         core.Value // its label
	loadKey      string     // equal for equal loads, seed aside
	option, role string
	engine       string
	passed       string // what distinguishes its configuration in the study
	trial        string // id of a trial of it
	number       core.Value
	n            int
	qualified    int          // of the n, how many pass the objective's condition
	value        core.Value   // median of the n repeats
	low, high    core.Value   // of the n repeats
	limits       []core.Value // medians of the objective's limits
	success      core.Value
	findings     int
	single       core.Value    // the objective of the trial alone
	duration     core.Value    // median duration_tps
	outputTPS    core.Value    // median output_tps
	gpus         core.Value    // median
	severity     core.Severity // of the worst finding on the objective
}

// rows is an answer with its columns by name.
type rows struct{ *query.Answer }

func (b *builder) ask(text string) (*rows, error) {
	a, err := ask(b.ctx, b.src, text, b.opt.Now)
	if err != nil {
		return nil, err
	}
	b.queries = append(b.queries, text)
	b.history = a.History
	return a, nil
}

func ask(ctx context.Context, src query.Source, text string, now time.Time) (*rows, error) {
	a, err := query.Run(ctx, src, text, query.Options{Now: now})
	if err != nil {
		return nil, fmt.Errorf("ask %q: %w", text, err)
	}
	return &rows{a}, nil
}

// get is missing for a column that the answer lacks.
func (r *rows) get(i int, name string) core.Value {
	c := r.Column(name)
	if c < 0 {
		return core.Missing()
	}
	return r.Rows[i][c]
}

func (r *rows) text(i int, name string) string { return r.get(i, name).String() }

func (r *rows) count(i int, name string) int { return int(r.get(i, name).Num) }

// known reports whether any row has a value in the column.
func (r *rows) known(name string) bool {
	for i := range r.Rows {
		if v := r.get(i, name); !v.IsMissing() && v.String() != "" {
			return true
		}
	}
	return false
}

// distinct lists the values of a column, each once, in the order of the rows.
func (r *rows) distinct(name string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for i := range r.Rows {
		if s := r.text(i, name); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func (r *rows) column(name string) query.Column {
	if i := r.Column(name); i >= 0 {
		return r.Columns[i]
	}
	return query.Column{Name: name}
}

func (b *builder) add(bl ...block) { b.r.blocks = append(b.r.blocks, bl...) }

func (b *builder) heading(level int, s string) { b.add(block{heading: s, level: level}) }

func (b *builder) details(trial string) (Details, error) {
	if b.opt.Details == nil || trial == "" {
		return Details{}, nil
	}
	d, err := b.opt.Details(b.ctx, trial)
	if err != nil && !isNotFound(err) {
		return Details{}, fmt.Errorf("trial %s: %w", trial, err)
	}
	return d, nil
}

// begin settles the questions: which objective, which trials.
func (b *builder) begin() error {
	text := DefaultObjective
	switch {
	case b.opt.Objective != "":
		text = b.opt.Objective
	case b.def != nil && b.def.Objective != "":
		text = b.def.Objective
	}
	var err error
	b.obj, err = readObjective(text)
	if b.study != "" {
		b.scope = is("study", b.study)
	}
	return err
}

// number writes a value of a table; a missing one is an empty cell.
func number(v core.Value) text { return plainText(printed(v)) }

func printed(v core.Value) string {
	if v.Kind != core.KindNumber || v.IsUnlimited() {
		return v.String()
	}
	return chart.Number(v.Num)
}

// gain is how much better v is than base, as a fraction: positive is better.
func gain(v, base core.Value, better core.Better) core.Value {
	if v.Kind != core.KindNumber || base.Kind != core.KindNumber || base.Num == 0 {
		return core.Missing()
	}
	g := (v.Num - base.Num) / abs(base.Num)
	if better == core.LowerBetter {
		g = -g
	}
	return core.Number(g)
}

func abs(f float64) float64 {
	if f < 0 {
		return -f
	}
	return f
}

// percent writes a fraction as "+82.11 %".
func percent(v core.Value) string {
	if v.Kind != core.KindNumber {
		return ""
	}
	s := fmt.Sprintf("%+.2f %%", v.Num*100)
	return strings.Replace(s, "-0.00", "+0.00", 1)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
