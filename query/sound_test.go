package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// audited is a history of which the audit has found something.
func audited(t testing.TB) memory {
	find := func(s core.Severity, metrics ...string) core.Finding {
		return core.Finding{Rule: "X", Severity: s, Metrics: metrics, Evidence: "…"}
	}
	h := memory{
		trial(t, 1, "engine", "a", "total_tps", 500, "gpus", 2, "mean_ttft_ms", 10),
		trial(t, 2, "engine", "a", "total_tps", 400, "gpus", 1, "mean_ttft_ms", 20),
		trial(t, 3, "engine", "a", "total_tps", 300, "gpus", 1, "mean_ttft_ms", 30),
		trial(t, 4, "engine", "b", "total_tps", 250, "gpus", 1, "mean_ttft_ms", 5),
		trial(t, 5, "engine", "b", "total_tps", 450, "gpus", 1),
		trial(t, 6, "engine", "c", "total_tps", 450, "gpus", 1, "mean_ttft_ms", 40),
		trial(t, 7, "engine", "d", "mean_ttft_ms", 50),
	}
	h[0].Findings = []core.Finding{find(core.SeverityVoid, "total_tps"), find(core.SeverityHard, "mean_ttft_ms")}
	h[1].Findings = []core.Finding{find(core.SeverityNote, "*")}
	h[2].Findings = []core.Finding{find(core.SeverityHard, "peak_output_tps")} // a wrong peak condemns no throughput
	h[4].Findings = []core.Finding{find(core.SeverityHard, "*")}
	h[5].Findings = []core.Finding{find(core.SeverityInfo, "total_tps"), find(core.SeverityVoid, "total_tps")}
	return h
}

func TestSound(t *testing.T) {
	tests := []struct{ query, trials string }{
		{"sound(total_tps)", "2 3 4"},
		{"not sound(total_tps)", "1 5 6"},
		{"sound(mean_ttft_ms)", "2 3 4 6 7"},
		{"sound(total_tps_per_gpu)", "2 3 4"}, // it rests on the throughput
		{"sound(total_tps + mean_ttft_ms)", "2 3 4"},
		{"sound(peak_output_tps)", ""}, // nobody measured it
		{"sound(total_tps) or number == 7", "2 3 4 7"},
		{"sound(findings)", "1 2 3 4 6 7"},
		{"severity.total_tps == 4", "1 6"},
	}
	for _, tt := range tests {
		a := ask(t, audited(t), "show number where "+tt.query)
		if got := strings.Join(column(t, a, "number"), " "); got != tt.trials {
			t.Errorf("%s: trials %s, want %s", tt.query, got, tt.trials)
		}
	}
	a := ask(t, audited(t), "show number where sound(total_tps)")
	if a.Excluded.Undecided != 1 || a.Excluded.Where != 3 {
		t.Errorf("sound leaves out %+v, want 1 undecided and 3 by where", a.Excluded)
	}
	a = ask(t, audited(t), "show count(sound(total_tps)), all(sound(total_tps)) by engine")
	if diff := cmp.Diff([]string{"a 2 false", "b 1 false", "c 0 false", "d 0 "}, rowsOf(a)); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
}

func TestSoundWinner(t *testing.T) {
	tests := []struct {
		query    string
		rows     string // trials
		severity []core.Severity
		sound    string // trial of the sound winner, or of each group's
		warnings []string
	}{
		{"max total_tps", "1", []core.Severity{core.SeverityVoid}, "2",
			[]string{"void: trial 1: a void finding touches total_tps; the best sound row is trial 2 with total_tps = 400"}},
		{"max total_tps as best", "1", []core.Severity{core.SeverityVoid}, "2",
			[]string{"void: trial 1: a void finding touches total_tps; the best sound row is trial 2 with best = 400"}},
		{"min total_tps", "4", []core.Severity{0}, "", nil},
		{"min mean_ttft_ms", "4", []core.Severity{0}, "", nil},
		{"min mean_ttft_ms where number < 4", "1", []core.Severity{core.SeverityHard}, "2",
			[]string{"hard: trial 1: a hard finding touches mean_ttft_ms; the best sound row is trial 2 with mean_ttft_ms = 20"}},
		// Of two tied rows the second is sound.
		{"max total_tps / mean_ttft_ms", "1 4", []core.Severity{core.SeverityVoid, 0}, "4",
			[]string{"void: trial 1: a void finding touches total_tps; the best sound row is trial 4 with total_tps / mean_ttft_ms = 50"}},
		{"max total_tps / mean_ttft_ms where engine == \"a\"", "1", []core.Severity{core.SeverityVoid}, "2",
			[]string{"void: trial 1: a void finding touches total_tps; the best sound row is trial 2 with total_tps / mean_ttft_ms = 20"}},
		{"max total_tps_per_gpu", "5 6", []core.Severity{core.SeverityHard, core.SeverityVoid}, "2", []string{
			"void: trial 6: a void finding touches total_tps; the best sound row is trial 2 with total_tps_per_gpu = 400",
			"hard: trial 5: a hard finding touches total_tps_per_gpu, total_tps; the best sound row is trial 2 with total_tps_per_gpu = 400"}},
		{"max total_tps top 2", "1 5 6", []core.Severity{core.SeverityVoid, core.SeverityHard, core.SeverityVoid}, "2", []string{
			"void: trials 1, 6: a void finding touches total_tps; the best sound row is trial 2 with total_tps = 400",
			"hard: trial 5: a hard finding touches total_tps; the best sound row is trial 2 with total_tps = 400"}},
		{"max total_tps within 20%", "1 5 6 2", []core.Severity{core.SeverityVoid, core.SeverityHard, core.SeverityVoid, core.SeverityNote}, "2", []string{
			"void: trials 1, 6: a void finding touches total_tps; the best sound row is trial 2 with total_tps = 400",
			"hard: trial 5: a hard finding touches total_tps; the best sound row is trial 2 with total_tps = 400"}},
		// The first row by prefer is sound, another tied one is not.
		{"max total_tps within 20% prefer min mean_ttft_ms where number in [2, 6]", "2", []core.Severity{core.SeverityNote}, "", nil},
		{"max total_tps where number in [5, 6]", "5 6", []core.Severity{core.SeverityHard, core.SeverityVoid}, "", []string{
			"void: trial 6: a void finding touches total_tps; no sound row is left", "hard: trial 5: a hard finding touches total_tps; no sound row is left"}},
		{"max total_tps by engine", "1 5 6", []core.Severity{core.SeverityVoid, core.SeverityHard, core.SeverityVoid}, "2 4 - -", []string{
			"void: engine a: trial 1: a void finding touches total_tps; the best sound row is trial 2 with total_tps = 400",
			"void: engine c: trial 6: a void finding touches total_tps; no sound row is left",
			"hard: engine b: trial 5: a hard finding touches total_tps; the best sound row is trial 4 with total_tps = 250"}},
		{"pareto max total_tps, min mean_ttft_ms", "1 4", []core.Severity{core.SeverityVoid, 0}, "2", []string{
			"void: trial 1: a void finding touches total_tps; the best sound row is trial 2 with total_tps = 400, mean_ttft_ms = 20"}},
		{"max gpus", "1", []core.Severity{0}, "", nil}, // no finding touches a choice
		{"max total_tps where sound(total_tps)", "2", []core.Severity{core.SeverityNote}, "", nil},
	}
	for _, tt := range tests {
		a := ask(t, audited(t), tt.query)
		if got := strings.Join(column(t, a, "number"), " "); got != tt.rows {
			t.Errorf("%s: trials %s, want %s", tt.query, got, tt.rows)
		}
		if diff := cmp.Diff(tt.severity, a.Severity); diff != "" {
			t.Errorf("%s: severities (-want +got):\n%s", tt.query, diff)
		}
		number := a.Column("number")
		var sound []string
		for _, g := range a.Groups {
			if g.Sound != nil {
				sound = append(sound, g.Sound[number].String())
			} else if len(a.Groups) > 1 {
				sound = append(sound, "-")
			}
		}
		if got := strings.Join(sound, " "); got != tt.sound {
			t.Errorf("%s: sound rows %q, want %q", tt.query, got, tt.sound)
		}
		if grouped := len(a.Groups) > 1; (a.SoundWinner != nil) != (!grouped && tt.sound != "") {
			t.Errorf("%s: sound winner %v", tt.query, a.SoundWinner)
		}
		var warnings []string
		for _, w := range a.Warnings {
			if w.Code == "void" || w.Code == "hard" {
				warnings = append(warnings, w.Code+": "+w.Message)
			}
		}
		if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.query, diff)
		}
	}
}

func TestSoundWinnerJSON(t *testing.T) {
	for text, want := range map[string]string{"max total_tps": `"total_tps":400,"number":2`, "max total_tps by engine": "null", "min total_tps": "null"} {
		data, err := json.Marshal(ask(t, audited(t), text))
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(data), `"sound_winner":`)
		if !ok || !strings.HasPrefix(strings.TrimPrefix(after, "{"), want) {
			t.Errorf("%s: sound_winner %.60s, want %s", text, after, want)
		}
	}
}

// A history that knows no severities condemns nothing and calls nothing sound.
func TestSeverityUnknown(t *testing.T) {
	src := without{audited(t), "severity."}
	if a := ask(t, src, "max total_tps"); a.SoundWinner != nil || message(a, "void") != "" {
		t.Errorf("winner condemned: %v", a.Warnings)
	}
	if a := ask(t, src, "count where sound(total_tps)"); a.Considered != 0 || a.Excluded.Undecided != 7 {
		t.Errorf("considered %d, undecided %d; want 0 and 7", a.Considered, a.Excluded.Undecided)
	}
}

// The severities are read only where something is ranked or summed up.
func TestSeverityColumns(t *testing.T) {
	for text, want := range map[string]bool{"max total_tps": true, "pareto max total_tps, min mean_ttft_ms": true, "change total_tps along number": true,
		"show total_tps": false, "count where total_tps > 1": false, "show mean(total_tps) by engine": true, "show count(total_tps > 1) by engine": false, "count where sound(total_tps)": true} {
		s := &seen{memory: audited(t)}
		ask(t, s, text)
		if got := strings.Contains(strings.Join(s.columns, " "), "severity."); got != want {
			t.Errorf("%s reads %v", text, s.columns)
		}
	}
}

var _ query.Source = without{}
