package plugins

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// oneOfEach holds a value of every kind: missing, 0, false and "" must all survive
// beside each other.
func oneOfEach() core.Knobs {
	return core.Knobs{
		"missing": core.Missing(), "unset": core.Unset(), "unlimited": core.Unlimited(), "zero": core.Number(0), "number": core.Number(-1.5e-300),
		"false": core.Bool(false), "true": core.Bool(true), "empty": core.String(""), "text": core.String("unlimited"), "nan": core.String("NaN"),
	}
}

// The full values have no zero field anywhere; requireFull keeps it so when core
// gains a field.
func fullConfig() core.Config {
	return core.Config{Engine: "vllm", Model: "m", Checkpoint: "c", Revision: "r", Knobs: oneOfEach(), Env: map[string]string{"A": "b"}, CommandKnown: true}
}

func fullOrigin() core.Origin {
	return core.Origin{Version: "1", Image: "i", Venv: "v", Cmd: "c", URL: "u"}
}

func fullPlan() core.Plan {
	return core.Plan{
		Processes: []core.Process{
			{
				Name: "a", Argv: []string{"x", "--y", "--template=a\nb"}, Env: map[string]string{"E": "f"}, GPUs: []string{"0"}, After: []string{"b"},
				Files: []core.PlanFile{{Path: "d/config.yaml", Data: []byte{0, 0xff}}},
			},
			{Name: "b", Argv: []string{"x"}, Env: map[string]string{"E": "f"}, GPUs: []string{"0"}, After: []string{"a"}, Files: []core.PlanFile{{Path: "f", Data: []byte("x")}}},
		},
		Ready:      core.ReadyRule{BaseURL: "http://127.0.0.1:1", Model: "m", Timeout: 1, Idle: 2},
		SetupHints: oneOfEach(),
	}
}

func fullWorkload() core.Workload {
	return core.Workload{
		Name: "n", Dataset: "d", Path: "p", InputLen: core.Number(1), OutputLen: core.Number(2), IgnoreEOS: core.Bool(true), Turns: core.Number(3), Endpoint: "/e", Params: oneOfEach(),
	}
}

func fullLoad() core.Load {
	return core.Load{
		Concurrency: core.Number(1), RequestRate: core.Unlimited(), Burstiness: core.Number(2), NumPrompts: core.Number(3), DurationS: core.Number(4), Seed: core.Number(5),
	}
}

func fullSample() core.Sample {
	return core.Sample{
		Index: 1, Due: 2, Sent: 3, First: 4, Last: 6, End: 7, Chunks: []time.Duration{4, 4, 5, 6},
		InputTokens: 8, CachedTokens: 7, OutputTokens: 10, RequestedOutput: 11, Outcome: core.OutcomeIncomplete, Error: "e",
	}
}

// over sends one value through bytes and back.
func over[T any, M proto.Message](t *testing.T, in T, to func(T) M, from func(*check, M) T) T {
	t.Helper()
	data, err := proto.Marshal(to(in))
	if err != nil {
		t.Fatal(err)
	}
	var m M
	m = m.ProtoReflect().Type().New().Interface().(M)
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	var c check
	out := from(&c, m)
	if err := c.reply(); err != nil {
		t.Fatal(err)
	}
	return out
}

func roundTrip[T any, M proto.Message](t *testing.T, full T, to func(T) M, from func(*check, M) T) {
	t.Helper()
	var none M
	t.Run(reflect.TypeOf(full).Name(), func(t *testing.T) {
		var zero T
		if diff := cmp.Diff(zero, from(&check{}, none)); diff != "" {
			t.Errorf("nil is not the zero value:\n%s", diff)
		}
		if diff := cmp.Diff(zero, over(t, zero, to, from)); diff != "" {
			t.Errorf("zero:\n%s", diff)
		}
		requireFull(t, reflect.ValueOf(full), reflect.TypeOf(full).Name())
		if diff := cmp.Diff(full, over(t, full, to, from)); diff != "" {
			t.Errorf("full:\n%s", diff)
		}
	})
}

// requireFull fails for a struct with a field that the test leaves at zero.
func requireFull(t *testing.T, v reflect.Value, at string) {
	t.Helper()
	if v.Type() == reflect.TypeFor[core.Value]() {
		if v.IsZero() {
			t.Errorf("the test sets no %s", at)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			requireFull(t, v.Field(i), at+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("the test sets no %s", at)
		}
		for i := range v.Len() {
			if v.Index(i).Kind() == reflect.Struct {
				requireFull(t, v.Index(i), at)
			}
		}
	default:
		if v.IsZero() {
			t.Errorf("the test sets no %s", at)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, fullConfig(), configToPB, (*check).config)
	roundTrip(t, fullOrigin(), originToPB, (*check).origin)
	roundTrip(t, fullPlanRequest(), planRequestToPB, (*check).planRequest)
	roundTrip(t, core.Installation{Version: "1", Command: "/c", Detail: "d"}, installationToPB, (*check).installation)
	roundTrip(t, fullPlan(), planToPB, (*check).plan)
	roundTrip(t, core.PrepareRequest{PlanRequest: fullPlanRequest(), Plan: fullPlan()}, prepareRequestToPB, (*check).prepareRequest)
	roundTrip(t, fullPreparation(), preparationToPB, (*check).preparation)
	roundTrip(t, core.LaunchRequest{Plan: fullPlan(), PIDs: []int{1, 2}, LogPath: "/l"}, launchRequestToPB, (*check).launchRequest)
	roundTrip(t, core.Progress{Phase: "load", Message: "m", Done: 1, Total: 2}, progressToPB, (*check).progress)
	roundTrip(t, fullWorkload(), workloadToPB, (*check).workload)
	roundTrip(t, fullLoad(), loadToPB, (*check).load)
	roundTrip(t, core.BenchmarkRequest{
		Trial: core.HashID("x"), BaseURL: "u", Model: "m", Config: fullConfig(), Workload: fullWorkload(), Load: fullLoad(),
		Warmup: 1, DataPath: "/d", RequestTimeout: 2, IdleTimeout: 3,
	}, benchmarkRequestToPB, (*check).benchmarkRequest)
	roundTrip(t, core.StopRequest{BaseURL: "u", PIDs: []int{1}, Grace: 2}, stopRequestToPB, (*check).stopRequest)
	roundTrip(t, core.DiagnoseRequest{LogTail: "a\xff\x1b\n", ExitCode: -1, Phase: "p"}, diagnoseRequestToPB, (*check).diagnoseRequest)
	// These must name something, so their nil and zero are refused elsewhere.
	ready := core.Ready{BaseURL: "u", Model: "m", Version: "1", Resolved: oneOfEach(), LoadS: core.Number(0), Facts: oneOfEach()}
	if diff := cmp.Diff(ready, over(t, ready, readyToPB, (*check).ready)); diff != "" {
		t.Error(diff)
	}
	info := core.EngineInfo{Name: "n", Version: "1", Simulated: true, Knobs: []core.KnobInfo{{Name: "k", Flag: "--k", Type: core.BoolType, Default: core.Bool(false), Doc: "d"}, {Name: "l"}}}
	if diff := cmp.Diff(info, over(t, info, infoToPB, (*check).info)); diff != "" {
		t.Error(diff)
	}
}

func fullPlanRequest() core.PlanRequest {
	return core.PlanRequest{Config: fullConfig(), Origin: fullOrigin(), Host: "h", Port: 1, GPUs: []string{"0", "GPU-1"}, WorkDir: "/w", ModelPath: "/m"}
}

func fullPreparation() core.Preparation {
	return core.Preparation{
		Facts: oneOfEach(), Flags: []core.BadFlag{{Flag: "--x", Text: "t"}}, Notes: []string{"n"},
		Needs: []core.Need{{Kind: "model", Name: "a/b", Found: "f", Problem: "p", Fetch: []string{"get", ""}, Env: map[string]string{"HF_HOME": "/h"}, Denied: "d"}},
	}
}

func TestSampleRoundTrip(t *testing.T) {
	requireFull(t, reflect.ValueOf(fullSample()), "Sample")
	never := core.Sample{
		Due: core.NoTime, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeFailed,
	}
	for name, in := range map[string]core.Sample{"zero": {}, "full": fullSample(), "never": never} {
		out := over(t, in, func(s core.Sample) *pb.Sample {
			p, err := sampleToPB(s)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, (*check).sample)
		if diff := cmp.Diff(in, out); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestValueNeverLies(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(-1)} {
		if got := over(t, core.Value{Kind: core.KindNumber, Num: f}, valueToPB, func(c *check, m *pb.Value) core.Value { return c.value("v", m) }); !got.IsMissing() {
			t.Errorf("%v arrives as %v", f, got)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var c check
		if v := c.value("v", &pb.Value{Kind: &pb.Value_Number{Number: f}}); c.err == nil || !v.IsMissing() {
			t.Errorf("the number %v is taken as %v", f, v)
		}
	}
}

func TestValueTypes(t *testing.T) {
	for typ := core.Type(0); typ <= core.AnyType; typ++ {
		p := typeToPB(typ)
		want := map[string]string{"": "UNSPECIFIED", "true/false": "BOOL"}[typ.String()]
		if want == "" {
			want = strings.ToUpper(typ.String())
		}
		if p.String() != "VALUE_TYPE_"+want || valueType(p) != typ {
			t.Errorf("%d %q is %s on the wire and %d again", typ, typ, p, valueType(p))
		}
	}
	if got := valueType(99); got != core.AnyType {
		t.Errorf("a type of a later version is %v", got)
	}
}

func TestBatches(t *testing.T) {
	small := make([]core.Sample, 10000)
	for i := range small {
		small[i] = core.Sample{Index: i, RequestedOutput: -1}
	}
	long := core.Sample{Index: 1, Last: maxMoment, End: maxMoment, Chunks: make([]time.Duration, maxChunks)}
	for i := range long.Chunks {
		long.Chunks[i] = time.Duration(i) * (maxMoment / maxChunks)
	}
	for name, in := range map[string][]core.Sample{"none": nil, "small": small, "long": {long, long, long}, "mixed": append(small[:5000:5000], long)} {
		batches, err := batchesToPB(in)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, b := range batches {
			if size := proto.Size(b); size > maxMessage*3/4 || len(b.Samples) > 4096 {
				t.Errorf("%s: batch %d has %d bytes and %d samples", name, i, size, len(b.Samples))
			}
			n += len(b.Samples)
		}
		if n != len(in) {
			t.Errorf("%s: %d of %d samples are sent", name, n, len(in))
		}
	}
	for name, bad := range map[string]core.Sample{
		"too many chunks": {Chunks: make([]time.Duration, maxChunks+1)}, "time going back": {Chunks: []time.Duration{2, 1}}, "a chunk that never came": {Chunks: []time.Duration{core.NoTime}},
	} {
		if _, err := batchesToPB([]core.Sample{bad}); err == nil {
			t.Errorf("%s is sent", name)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"tab\there\r\n":         "tab here",
		"\x1b[2Jgone":           `\x1b[2Jgone`,
		"two\nlines":            `two\nlines`,
		"\u202egpj.exe":         `\u202egpj.exe`,
		"bad \xff\xfe byte":     "bad \uFFFD byte",
		"\u009b31m C1 controls": `\x9b31m C1 controls`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := prose(strings.Repeat("é", 5000)); len(got) > maxProse || !strings.HasSuffix(got, "é…") {
		t.Errorf("cut to %d bytes ending in %q", len(got), got[len(got)-6:])
	}
}
