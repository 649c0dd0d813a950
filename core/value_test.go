package core_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

func TestValueJSON(t *testing.T) {
	for _, tc := range []struct {
		value core.Value
		want  string
	}{
		{core.Missing(), "null"},
		{core.Unset(), "null"},
		{core.Number(0), "0"},
		{core.Number(2149.3), "2149.3"},
		{core.Unlimited(), `"inf"`},
		{core.Number(math.Inf(-1)), "null"},
		{core.Number(math.NaN()), "null"},
		{core.String(""), `""`},
		{core.String("пропускная"), `"пропускная"`},
		{core.Bool(false), "false"},
	} {
		got, err := json.Marshal(tc.value)
		if err != nil || string(got) != tc.want {
			t.Errorf("marshal %#v = %s, %v; want %s", tc.value, got, err, tc.want)
		}
	}
	for _, v := range []core.Value{core.Missing(), core.Number(-1.5), core.Unlimited(), core.String("a"), core.Bool(true)} {
		data, _ := json.Marshal(v)
		var back core.Value
		if err := json.Unmarshal(data, &back); err != nil || back != v {
			t.Errorf("round trip of %#v gave %#v, %v", v, back, err)
		}
	}
	var v core.Value
	if err := json.Unmarshal([]byte("[1]"), &v); err == nil {
		t.Error("a list was taken as a value")
	}
}

func TestParseValue(t *testing.T) {
	for text, want := range map[string]core.Value{
		"512": core.Number(512), "-0.5": core.Number(-0.5), "true": core.Bool(true), "False": core.Bool(false),
		"unlimited": core.Unlimited(), "inf": core.Unlimited(), "fp8": core.String("fp8"), "": core.String(""),
		"0.11.0": core.String("0.11.0"), "1e309": core.String("1e309"), "NaN": core.String("NaN"),
	} {
		if got := core.ParseValue(text); got != want {
			t.Errorf("ParseValue(%q) = %#v, want %#v", text, got, want)
		}
	}
}

func TestSampleRecordKeepsWhatNeverCame(t *testing.T) {
	want := core.Sample{Index: 3, Due: 0, Sent: 1500 * time.Microsecond, First: core.NoTime, Last: core.NoTime, End: 2 * time.Second,
		InputTokens: 0, CachedTokens: -1, OutputTokens: -1, RequestedOutput: 100, Outcome: core.OutcomeFailed, Error: "boom"}
	chunks := want
	chunks.First, chunks.Last, chunks.Outcome = time.Millisecond, 3*time.Millisecond, core.OutcomeOK
	chunks.Chunks = []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond}
	for _, s := range []core.Sample{want, chunks} {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got core.Sample
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("sample changed (-want +got):\n%s", diff)
		}
	}
}

func TestIDs(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	a, b := core.NewID(at), core.NewID(at.Add(time.Second))
	if a.String() >= b.String() {
		t.Errorf("later id %s sorts before %s", b, a)
	}
	if a.String()[14] != '7' || core.HashID("x").String()[14] != '8' {
		t.Errorf("versions: %s, %s", a, core.HashID("x"))
	}
	if back, err := core.ParseID(a.String()); err != nil || back != a {
		t.Errorf("ParseID(%s) = %s, %v", a, back, err)
	}
	for _, bad := range []string{"", "x", a.String()[:35], "zzzzzzzz-0000-0000-0000-000000000000"} {
		if _, err := core.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) gave no error", bad)
		}
	}
}
