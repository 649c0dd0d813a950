package plugins

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// The conversions between core and the wire, one pair a type. Towards the wire
// nothing fails; from the wire everything is checked. An empty list or map arrives
// as nil, because the wire cannot tell them apart.

// valueToPB sends a value. Numbers that a Value must not hold (NaN, -Inf) travel
// as missing, as core.Number has it.
func valueToPB(v core.Value) *pb.Value {
	switch v.Kind {
	case core.KindNumber:
		if v.IsUnlimited() {
			return &pb.Value{Kind: &pb.Value_Special{Special: pb.Special_SPECIAL_UNLIMITED}}
		}
		if math.IsNaN(v.Num) || math.IsInf(v.Num, 0) {
			return &pb.Value{}
		}
		return &pb.Value{Kind: &pb.Value_Number{Number: v.Num}}
	case core.KindText:
		return &pb.Value{Kind: &pb.Value_Text{Text: v.Text}}
	case core.KindBool:
		return &pb.Value{Kind: &pb.Value_Boolean{Boolean: v.True()}}
	case core.KindUnset:
		return &pb.Value{Kind: &pb.Value_Special{Special: pb.Special_SPECIAL_UNSET}}
	}
	return &pb.Value{}
}

func (c *check) value(field string, v *pb.Value) core.Value {
	switch kind := v.GetKind().(type) {
	case *pb.Value_Number:
		if math.IsNaN(kind.Number) || math.IsInf(kind.Number, 0) {
			c.fail(field, "number is not finite")
			return core.Missing()
		}
		return core.Number(kind.Number)
	case *pb.Value_Text:
		return core.String(c.text(field, kind.Text, maxValue))
	case *pb.Value_Boolean:
		return core.Bool(kind.Boolean)
	case *pb.Value_Special:
		switch kind.Special {
		case pb.Special_SPECIAL_UNLIMITED:
			return core.Unlimited()
		case pb.Special_SPECIAL_UNSET:
			return core.Unset()
		}
		c.fail(field, "special value %d is not known", kind.Special)
	}
	return core.Missing()
}

func valuesToPB[M ~map[string]core.Value](m M) map[string]*pb.Value {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]*pb.Value, len(m))
	for name, v := range m {
		out[name] = valueToPB(v)
	}
	return out
}

func (c *check) values(field string, m map[string]*pb.Value) map[string]core.Value {
	if !c.count(field, len(m), maxList) || len(m) == 0 {
		return nil
	}
	out := make(map[string]core.Value, len(m))
	for name, v := range m {
		name = c.required(field, name, maxName)
		out[name] = c.value(field+"."+clip(clean(name), 80), v)
	}
	return out
}

func configToPB(cfg core.Config) *pb.Config {
	return &pb.Config{
		Engine: cfg.Engine, Model: cfg.Model, Checkpoint: cfg.Checkpoint, Revision: cfg.Revision,
		Knobs: valuesToPB(cfg.Knobs), Env: cfg.Env, CommandKnown: cfg.CommandKnown,
	}
}

func (c *check) config(cfg *pb.Config) core.Config {
	return core.Config{
		Engine: c.text("config.engine", cfg.GetEngine(), maxName), Model: c.text("config.model", cfg.GetModel(), maxText),
		Checkpoint: c.text("config.checkpoint", cfg.GetCheckpoint(), maxText), Revision: c.text("config.revision", cfg.GetRevision(), maxName),
		Knobs: c.values("config.knobs", cfg.GetKnobs()), Env: c.environment("config.env", cfg.GetEnv()), CommandKnown: cfg.GetCommandKnown(),
	}
}

func originToPB(o core.Origin) *pb.Origin {
	return &pb.Origin{Version: o.Version, Image: o.Image, Venv: o.Venv, Cmd: o.Cmd, Url: o.URL}
}

func (c *check) origin(o *pb.Origin) core.Origin {
	return core.Origin{
		Version: c.text("origin.version", o.GetVersion(), maxName), Image: c.text("origin.image", o.GetImage(), maxText),
		Venv: c.text("origin.venv", o.GetVenv(), maxText), Cmd: c.text("origin.cmd", o.GetCmd(), maxText), URL: c.text("origin.url", o.GetUrl(), maxText),
	}
}

// typeToPB and valueType rely on the two enumerations having equal numbers, which
// TestValueTypes holds them to.
func typeToPB(t core.Type) pb.ValueType { return pb.ValueType(t) }

// valueType takes a type that is not known, one of a later version, as any.
func valueType(t pb.ValueType) core.Type {
	if t < 0 || t > pb.ValueType_VALUE_TYPE_ANY {
		return core.AnyType
	}
	return core.Type(t)
}

func infoToPB(info core.EngineInfo) *pb.InfoResponse {
	out := &pb.InfoResponse{Name: info.Name, Version: info.Version, Simulated: info.Simulated}
	for _, k := range info.Knobs {
		out.Knobs = append(out.Knobs, &pb.KnobInfo{
			Name: k.Name, Flag: k.Flag, Type: typeToPB(k.Type), DefaultValue: valueToPB(k.Default), Doc: prose(k.Doc),
		})
	}
	return out
}

func (c *check) info(in *pb.InfoResponse) core.EngineInfo {
	info := core.EngineInfo{
		Name: c.required("name", in.GetName(), maxName), Version: c.text("version", in.GetVersion(), maxName), Simulated: in.GetSimulated(),
	}
	if !c.count("knobs", len(in.GetKnobs()), maxKnobInfo) {
		return info
	}
	seen := make(map[string]bool, len(in.GetKnobs()))
	for _, k := range in.GetKnobs() {
		if seen[k.GetName()] {
			c.fail("knobs.name", "%q is documented twice", clip(clean(k.GetName()), 80))
		}
		seen[k.GetName()] = true
		info.Knobs = append(info.Knobs, core.KnobInfo{
			Name: c.required("knobs.name", k.GetName(), maxName), Flag: c.text("knobs.flag", k.GetFlag(), maxName),
			Type: valueType(k.GetType()), Default: c.value("knobs.default_value", k.GetDefaultValue()), Doc: prose(k.GetDoc()),
		})
	}
	return info
}

func installationToPB(in core.Installation) *pb.ProbeResponse {
	return &pb.ProbeResponse{Version: in.Version, Command: in.Command, Detail: prose(in.Detail)}
}

func (c *check) installation(in *pb.ProbeResponse) core.Installation {
	return core.Installation{
		Version: c.text("version", in.GetVersion(), maxName), Command: c.text("command", in.GetCommand(), maxText), Detail: prose(in.GetDetail()),
	}
}

func planRequestToPB(r core.PlanRequest) *pb.PlanRequest {
	return &pb.PlanRequest{
		Config: configToPB(r.Config), Origin: originToPB(r.Origin), Host: r.Host, Port: int32(min(max(r.Port, -1), math.MaxInt32)), Gpus: r.GPUs, WorkDir: r.WorkDir,
		ModelPath: r.ModelPath,
	}
}

func (c *check) planRequest(r *pb.PlanRequest) core.PlanRequest {
	return core.PlanRequest{
		Config: c.config(r.GetConfig()), Origin: c.origin(r.GetOrigin()), Host: c.text("host", r.GetHost(), maxName),
		Port: c.number("port", int64(r.GetPort()), 0, 65535), GPUs: c.texts("gpus", r.GetGpus(), maxName), WorkDir: c.text("work_dir", r.GetWorkDir(), maxText),
		ModelPath: c.text("model_path", r.GetModelPath(), maxText),
	}
}

func planToPB(p core.Plan) *pb.Plan {
	out := &pb.Plan{
		Ready: &pb.ReadyRule{
			BaseUrl: p.Ready.BaseURL, Model: p.Ready.Model, TimeoutNs: int64(p.Ready.Timeout), IdleNs: int64(p.Ready.Idle),
		},
		SetupHints: valuesToPB(p.SetupHints),
	}
	for _, proc := range p.Processes {
		q := &pb.Process{Name: proc.Name, Argv: proc.Argv, Env: proc.Env, Gpus: proc.GPUs, After: proc.After}
		for _, f := range proc.Files {
			q.Files = append(q.Files, &pb.PlanFile{Path: f.Path, Data: f.Data})
		}
		out.Processes = append(out.Processes, q)
	}
	return out
}

func (c *check) plan(in *pb.Plan) core.Plan {
	p := core.Plan{
		Ready: core.ReadyRule{
			BaseURL: c.text("ready.base_url", in.GetReady().GetBaseUrl(), maxText), Model: c.text("ready.model", in.GetReady().GetModel(), maxText),
			Timeout: c.span("ready.timeout_ns", in.GetReady().GetTimeoutNs()), Idle: c.span("ready.idle_ns", in.GetReady().GetIdleNs()),
		},
		SetupHints: c.values("setup_hints", in.GetSetupHints()),
	}
	if !c.count("processes", len(in.GetProcesses()), 64) {
		return p
	}
	names := map[string]bool{}
	for _, q := range in.GetProcesses() {
		proc := c.process(q)
		if names[proc.Name] {
			c.fail("processes.name", "%q is used twice", proc.Name)
		}
		names[proc.Name] = true
		p.Processes = append(p.Processes, proc)
	}
	for _, proc := range p.Processes {
		if i := slices.IndexFunc(proc.After, func(n string) bool { return !names[n] || n == proc.Name }); i >= 0 {
			c.fail("processes.after", "%q is no other process of the plan", proc.After[i])
		}
	}
	return p
}

func (c *check) process(q *pb.Process) core.Process {
	proc := core.Process{
		Name: c.text("processes.name", q.GetName(), maxName), Argv: c.texts("processes.argv", q.GetArgv(), maxArg),
		Env: c.environment("processes.env", q.GetEnv()), GPUs: c.texts("processes.gpus", q.GetGpus(), maxName), After: c.texts("processes.after", q.GetAfter(), maxName),
	}
	if len(proc.Argv) == 0 || proc.Argv[0] == "" {
		c.fail("processes.argv", "no executable")
	}
	if !c.count("processes.files", len(q.GetFiles()), 256) {
		return proc
	}
	paths, size := map[string]bool{}, 0
	for _, f := range q.GetFiles() {
		path := c.text("processes.files.path", f.GetPath(), maxText)
		// A backslash is a separator on one system and a letter on another.
		if !filepath.IsLocal(path) || strings.Contains(path, `\`) {
			c.fail("processes.files.path", "%q leaves the launch's folder", clip(clean(path), 80))
		}
		if paths[filepath.Clean(path)] {
			c.fail("processes.files.path", "%q is written twice", path)
		}
		paths[filepath.Clean(path)] = true
		if size += len(f.GetData()); size > maxFileData {
			c.fail("processes.files.data", "more than %d bytes", maxFileData)
		}
		proc.Files = append(proc.Files, core.PlanFile{Path: path, Data: f.GetData()})
	}
	return proc
}

func pidsToPB(pids []int) []int64 {
	var out []int64
	for _, pid := range pids {
		out = append(out, int64(pid))
	}
	return out
}

func (c *check) pids(in []int64) []int {
	if !c.count("pids", len(in), maxList) {
		return nil
	}
	var out []int
	for _, pid := range in {
		out = append(out, c.number("pids", pid, 0, math.MaxInt32))
	}
	return out
}

func launchRequestToPB(r core.LaunchRequest) *pb.LaunchRequest {
	return &pb.LaunchRequest{Plan: planToPB(r.Plan), Pids: pidsToPB(r.PIDs), LogPath: r.LogPath}
}

func (c *check) launchRequest(r *pb.LaunchRequest) core.LaunchRequest {
	return core.LaunchRequest{Plan: c.plan(r.GetPlan()), PIDs: c.pids(r.GetPids()), LogPath: c.text("log_path", r.GetLogPath(), maxText)}
}

func progressToPB(p core.Progress) *pb.Progress {
	return &pb.Progress{Phase: prose(p.Phase), Message: prose(p.Message), Done: int64(p.Done), Total: int64(p.Total)}
}

func (c *check) progress(p *pb.Progress) core.Progress {
	return core.Progress{
		Phase: clip(prose(p.GetPhase()), maxName), Message: prose(p.GetMessage()),
		Done: c.number("progress.done", p.GetDone(), 0, maxTokens), Total: c.number("progress.total", p.GetTotal(), 0, maxTokens),
	}
}

func readyToPB(r core.Ready) *pb.Ready {
	return &pb.Ready{
		BaseUrl: r.BaseURL, Model: r.Model, Version: r.Version, Resolved: valuesToPB(r.Resolved), LoadS: valueToPB(r.LoadS), Facts: valuesToPB(r.Facts),
	}
}

func (c *check) ready(r *pb.Ready) core.Ready {
	ready := core.Ready{
		BaseURL: c.required("ready.base_url", r.GetBaseUrl(), maxText), Model: c.text("ready.model", r.GetModel(), maxText),
		Version: c.text("ready.version", r.GetVersion(), maxName), Resolved: c.values("ready.resolved", r.GetResolved()),
		LoadS: c.value("ready.load_s", r.GetLoadS()), Facts: c.values("ready.facts", r.GetFacts()),
	}
	if v := ready.LoadS; !v.IsMissing() && (v.Kind != core.KindNumber || v.Num < 0 || v.Num > maxMoment.Seconds()) {
		c.fail("ready.load_s", "%q is no time in seconds", clip(clean(v.String()), 80))
	}
	return ready
}

func launchFailureToPB(e *core.LaunchError) *pb.LaunchFailure {
	return &pb.LaunchFailure{FailureClass: string(e.Class), Line: prose(e.Line)}
}

func launchError(f *pb.LaunchFailure) *core.LaunchError {
	return &core.LaunchError{Class: class(f.GetFailureClass()), Line: prose(f.GetLine())}
}

func stopRequestToPB(r core.StopRequest) *pb.StopRequest {
	return &pb.StopRequest{BaseUrl: r.BaseURL, Pids: pidsToPB(r.PIDs), GraceNs: int64(r.Grace)}
}

func (c *check) stopRequest(r *pb.StopRequest) core.StopRequest {
	return core.StopRequest{
		BaseURL: c.text("base_url", r.GetBaseUrl(), maxText), PIDs: c.pids(r.GetPids()), Grace: c.span("grace_ns", r.GetGraceNs()),
	}
}

// diagnoseRequestToPB sends the last maxLogTail bytes of the log.
func diagnoseRequestToPB(r core.DiagnoseRequest) *pb.DiagnoseRequest {
	tail := r.LogTail[max(0, len(r.LogTail)-maxLogTail):]
	return &pb.DiagnoseRequest{LogTail: []byte(tail), ExitCode: int64(r.ExitCode), Phase: r.Phase}
}

func (c *check) diagnoseRequest(r *pb.DiagnoseRequest) core.DiagnoseRequest {
	return core.DiagnoseRequest{
		LogTail: string(r.GetLogTail()), ExitCode: c.number("exit_code", r.GetExitCode(), math.MinInt32, math.MaxUint32), Phase: c.text("phase", r.GetPhase(), maxName),
	}
}

func diagnosisToPB(d core.Diagnosis) *pb.DiagnoseResponse {
	return &pb.DiagnoseResponse{FailureClass: string(d.Class), Line: prose(d.Line)}
}

func diagnosis(d *pb.DiagnoseResponse) core.Diagnosis {
	return core.Diagnosis{Class: class(d.GetFailureClass()), Line: prose(d.GetLine())}
}

func trialID(c *check, s string) core.ID {
	if s == "" {
		return core.ID{}
	}
	id, err := core.ParseID(s)
	if err != nil {
		c.fail("trial", "%v", err)
	}
	return id
}

func trialIDToPB(id core.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// requestError says that a request which the host sent breaks a rule.
func requestError(c *check) error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("request: %s: %w: %s", c.err.Field, core.ErrInvalid, c.err.Problem)
}

// nanoseconds sends a moment: core.NoTime as absent.
func nanoseconds(d time.Duration) *int64 {
	if d == core.NoTime {
		return nil
	}
	ns := int64(d)
	return &ns
}
