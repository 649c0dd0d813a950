package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// Options say what the suite may ask of an engine. The zero value asks what every
// engine must answer.
type Options struct {
	// Config is one that the engine can plan. Empty fields are filled in: the
	// engine's name, a model, and up to three documented knobs at their defaults.
	Config core.Config
	Origin core.Origin
	// Unknown is a knob that the engine must refuse. Empty: an unknown knob must be
	// refused by name or be seen in the plan, since engines pass raw flags through.
	Unknown string
	// MustBenchmark demands that the engine measures by itself.
	MustBenchmark bool
	// Prompt is how soon a call must return once its context ends; zero is 3 s.
	Prompt time.Duration
}

// Conformance checks that an engine keeps the contract of core.Engine, once as it
// is and once over the wire. It starts no server of the engine and needs no GPU.
// Each failure says in a sentence what is wrong.
func Conformance(t *testing.T, engine core.Engine, opt Options) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { conformance(t, engine, opt) })
	t.Run("wire", func(t *testing.T) { conformance(t, New(t, engine), opt) })
}

type suite struct {
	engine core.Engine
	info   core.EngineInfo
	req    core.PlanRequest
	opt    Options
}

func conformance(t *testing.T, engine core.Engine, opt Options) {
	if opt.Prompt == 0 {
		opt.Prompt = 3 * time.Second
	}
	s := &suite{engine: engine, opt: opt}
	if !t.Run("Info", s.checkInfo) {
		t.Fatal("without a sane Info nothing else can be asked")
	}
	cfg := opt.Config
	if cfg.Engine == "" {
		cfg.Engine = s.info.Name
	}
	if cfg.Model == "" {
		cfg.Model = "test/model"
	}
	if cfg.Knobs == nil {
		cfg.Knobs = documented(s.info, 3)
	}
	cfg.CommandKnown = true
	s.req = core.PlanRequest{Config: cfg, Origin: opt.Origin, Host: "127.0.0.1", Port: 21750, WorkDir: t.TempDir()}
	t.Run("Plan", s.checkPlan)
	t.Run("PlanSideEffects", s.checkSideEffects)
	t.Run("PlanKnobOrder", s.checkKnobOrder)
	t.Run("PlanAddress", s.checkAddress)
	t.Run("PlanUnknownKnob", s.checkUnknownKnob)
	t.Run("PlanIllTypedKnob", s.checkIllTyped)
	t.Run("Prepare", s.checkPrepare)
	t.Run("DiagnoseEmpty", s.checkDiagnose)
	t.Run("StopDead", s.checkStop)
	t.Run("Benchmark", s.checkBenchmark)
	t.Run("Cancelled", s.checkCancelled)
}

// documented takes a few knobs at their defaults, which must be fit to pass.
func documented(info core.EngineInfo, n int) core.Knobs {
	knobs := core.Knobs{}
	for _, k := range info.Knobs {
		switch k.Default.Kind {
		case core.KindNumber, core.KindText, core.KindBool:
			if !k.Default.IsUnlimited() && k.Default.String() != "" && len(knobs) < n {
				knobs[k.Name] = k.Default
			}
		}
	}
	return knobs
}

func (s *suite) checkInfo(t *testing.T) {
	info, err := s.engine.Info(t.Context())
	if err != nil {
		t.Fatalf("Info must always answer, it failed: %v", err)
	}
	s.info = info
	if info.Name == "" || strings.ToLower(info.Name) != info.Name || strings.ContainsAny(info.Name, "/\\ \t") {
		t.Errorf("Info.Name %q must be a lower-case name without spaces and separators", info.Name)
	}
	if info.Version == "" {
		t.Error("Info.Version is empty: it is recorded with every trial, so that results can be told apart")
	}
	seen := map[string]bool{}
	for _, k := range info.Knobs {
		if canonical := core.CanonicalKnob(info.Name, k.Name); k.Name == "" || k.Name != canonical {
			t.Errorf("knob %q must be documented under its canonical name %q", k.Name, canonical)
		}
		if seen[k.Name] {
			t.Errorf("knob %q is documented twice", k.Name)
		}
		seen[k.Name] = true
		if k.Doc == "" {
			t.Errorf("knob %q has no line of documentation", k.Name)
		}
		if want, ok := kindOf(k.Type); ok && !k.Default.IsMissing() && k.Default.Kind != core.KindUnset && k.Default.Kind != want {
			t.Errorf("knob %q is a %s, but its default %q is not", k.Name, k.Type, k.Default)
		}
	}
	again, err := s.engine.Info(t.Context())
	if diff := cmp.Diff(info, again); err != nil || diff != "" {
		t.Errorf("Info must say the same each time (error %v):\n%s", err, diff)
	}
}

func kindOf(typ core.Type) (core.Kind, bool) {
	switch typ {
	case core.NumberType, core.TimeType:
		return core.KindNumber, true
	case core.TextType, core.VersionType:
		return core.KindText, true
	case core.BoolType:
		return core.KindBool, true
	}
	return 0, false
}

func (s *suite) plan(t *testing.T, req core.PlanRequest) core.Plan {
	t.Helper()
	plan, err := s.engine.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("Plan must express its own documented knobs (%s), it failed: %v", req.Config.Knobs, err)
	}
	return plan
}

func (s *suite) checkPlan(t *testing.T) {
	plan := s.plan(t, s.req)
	if len(plan.Processes) == 0 {
		t.Fatal("a plan must start at least one process")
	}
	for _, p := range plan.Processes {
		if len(p.Argv) == 0 || p.Argv[0] == "" {
			t.Errorf("process %q of the plan has no executable", p.Name)
		}
		for _, f := range p.Files {
			if !filepath.IsLocal(f.Path) {
				t.Errorf("file %q of process %q must lie inside the launch's folder", f.Path, p.Name)
			}
		}
	}
	if plan.Ready.Model == "" {
		t.Error("ReadyRule.Model is empty: requests need the served model's name")
	}
	for range 3 {
		if diff := cmp.Diff(plan, s.plan(t, s.req)); diff != "" {
			t.Fatalf("Plan must give the same answer for the same request, it differed:\n%s", diff)
		}
	}
}

func (s *suite) checkSideEffects(t *testing.T) {
	req := s.req
	req.WorkDir = filepath.Join(t.TempDir(), "not made yet")
	before := req.Config.Knobs.String()
	// Somebody else may have the port already, which is no fault of the engine's.
	taken := listens(req)
	plan := s.plan(t, req)
	if _, err := os.Stat(req.WorkDir); err == nil {
		t.Error("Plan made the launch's folder: it must have no side effects, the host writes the plan's files")
	}
	if after := req.Config.Knobs.String(); after != before {
		t.Errorf("Plan changed the knobs of its request from %q to %q", before, after)
	}
	if !taken && listens(req) {
		t.Errorf("something listens on %s:%d after Plan, which must start nothing", req.Host, req.Port)
	}
	if len(plan.Processes) == 0 {
		t.Error("a plan must start at least one process")
	}
}

// listens reports whether somebody listens at the address of a request.
func listens(req core.PlanRequest) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", req.Host, req.Port), 200*time.Millisecond)
	if err != nil {
		return false
	}
	_ = conn.Close() // it only asked
	return true
}

func (s *suite) checkKnobOrder(t *testing.T) {
	if len(s.req.Config.Knobs) < 2 {
		t.Skip("the engine documents fewer than two knobs with defaults, so there is no order to try")
	}
	want := s.plan(t, s.req)
	for range 8 {
		names := s.req.Config.Knobs.Names()
		slices.Reverse(names)
		req := s.req
		req.Config.Knobs = core.Knobs{}
		for _, name := range names {
			req.Config.Knobs[name] = s.req.Config.Knobs[name]
		}
		if diff := cmp.Diff(want, s.plan(t, req)); diff != "" {
			t.Fatalf("equal knobs must give an equal plan in whatever order they were given, it differed:\n%s", diff)
		}
	}
}

func (s *suite) checkAddress(t *testing.T) {
	for _, port := range []int{21750, 21999} {
		req := s.req
		req.Port = port
		plan := s.plan(t, req)
		want := fmt.Sprintf("http://%s:%d", req.Host, port)
		if strings.TrimSuffix(plan.Ready.BaseURL, "/") != want {
			t.Errorf("the server must be reached at the allotted %s, the plan says %q", want, plan.Ready.BaseURL)
		}
		if !mentions(plan, fmt.Sprint(port)) {
			t.Errorf("the allotted port %d stands nowhere in command, environment or files of the plan", port)
		}
		if !mentions(plan, req.Host) {
			t.Errorf("the allotted address %s stands nowhere in command, environment or files of the plan: the server would listen on its default", req.Host)
		}
	}
}

// mentions reports whether a text stands in what starts the servers.
func mentions(plan core.Plan, text string) bool {
	for _, p := range plan.Processes {
		if slices.ContainsFunc(p.Argv, func(a string) bool { return strings.Contains(a, text) }) {
			return true
		}
		for name, v := range p.Env {
			if strings.Contains(name, text) || strings.Contains(v, text) {
				return true
			}
		}
		if slices.ContainsFunc(p.Files, func(f core.PlanFile) bool { return strings.Contains(string(f.Data), text) }) {
			return true
		}
	}
	return false
}

func (s *suite) checkUnknownKnob(t *testing.T) {
	name := s.opt.Unknown
	if name == "" {
		name = "no_such_knob_anywhere"
	}
	plan, err := s.engine.Plan(t.Context(), s.with(name, core.Number(7)))
	switch {
	case err != nil && !strings.Contains(err.Error(), name):
		t.Errorf("the refusal of the unknown knob %q must name it, it says: %v", name, err)
	case err != nil && !errors.Is(err, core.ErrInvalid):
		t.Errorf("the refusal of the unknown knob %q must wrap core.ErrInvalid, it is: %v", name, err)
	case err == nil && s.opt.Unknown != "":
		t.Errorf("the unknown knob %q must be refused, the plan is %q", name, plan.Processes)
	case err == nil && !mentions(plan, name) && !mentions(plan, strings.ReplaceAll(name, "_", "-")):
		t.Errorf("the unknown knob %q was dropped in silence: refuse it by name or pass it on as a flag", name)
	}
}

func (s *suite) checkIllTyped(t *testing.T) {
	i := slices.IndexFunc(s.info.Knobs, func(k core.KnobInfo) bool { return k.Type == core.NumberType })
	if i < 0 {
		t.Skip("the engine documents no knob that takes a number")
	}
	name := s.info.Knobs[i].Name
	_, err := s.engine.Plan(t.Context(), s.with(name, core.String("not a number")))
	switch {
	case err == nil:
		t.Errorf("knob %q takes a number: the text %q must be refused before a server is started with it", name, "not a number")
	case !strings.Contains(err.Error(), name) || !errors.Is(err, core.ErrInvalid):
		t.Errorf("the refusal of an ill-typed value must name the knob %q and wrap core.ErrInvalid, it is: %v", name, err)
	}
}

func (s *suite) with(name string, v core.Value) core.PlanRequest {
	req := s.req
	req.Config = req.Config.With(core.Config{Knobs: core.Knobs{name: v}})
	return req
}

func (s *suite) checkDiagnose(t *testing.T) {
	d, err := s.engine.Diagnose(t.Context(), core.DiagnoseRequest{ExitCode: 1, Phase: "start"})
	if err != nil || d.Class != core.UnknownFailure {
		t.Errorf("an empty log proves nothing: Diagnose must say %q without an error, it says %q and %v", core.UnknownFailure, d.Class, err)
	}
}

func (s *suite) checkStop(t *testing.T) {
	err := s.engine.Stop(t.Context(), core.StopRequest{BaseURL: deadURL(t), Grace: time.Second})
	if err != nil {
		t.Errorf("stopping a server that is already dead is no error, Stop says: %v", err)
	}
}

// deadURL is an address on which nobody listens.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String()
}

func (s *suite) checkPrepare(t *testing.T) {
	preparer, ok := s.engine.(core.Preparer)
	if !ok {
		t.Skip("the engine does not prepare")
	}
	plan, err := s.engine.Plan(t.Context(), s.req)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	p, err := preparer.Prepare(t.Context(), core.PrepareRequest{PlanRequest: s.req, Plan: plan})
	switch {
	case errors.Is(err, core.ErrUnimplemented):
		t.Skip("the engine does not prepare")
	case err != nil:
		t.Fatalf("Prepare must answer whatever is missing on this machine, it failed: %v", err)
	}
	for name, v := range p.Facts {
		if err := (&core.Trial{}).SetField(name, v); err != nil {
			t.Errorf("fact %q is no field of a trial: %v", name, err)
		}
	}
	for _, n := range p.Needs {
		if n.Kind == "" || n.Name == "" || (n.Found == "") == (n.Problem == "") {
			t.Errorf("a need has a kind and a name, and either where it was found or what is missing: %+v", n)
		}
	}
	if entries, err := os.ReadDir(s.req.WorkDir); err != nil || len(entries) > 0 {
		t.Errorf("Prepare must leave the launch's folder alone; it holds %d files (%v)", len(entries), err)
	}
}
