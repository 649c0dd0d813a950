package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// Another print of a trial fills in what the trial lacks, unless it contradicts it.
func TestImportFillsIn(t *testing.T) {
	ctx := context.Background()
	bare := func(t *core.Trial) { // the first print, of a summary
		t.Setup.GPU, t.Setup.GPUs, t.Setup.EngineVersion, t.Setup.ToolVersion = "", 0, "", ""
		t.Setup.Config.CommandKnown, t.Setup.Config.Knobs = false, core.Knobs{"tp": core.Number(2)}
		t.Stage, t.Option, t.Role = "", "", ""
		delete(t.Figures, "p99_tpot_ms")
		delete(t.Figures, "output_tps")
	}
	full := plain(0)
	all7 := map[string]core.Value{"gpu": full.Value("gpu"), "gpus": core.Number(2), "engine_version": core.String("0.11.0"), "tool_version": core.String("0.11.0"),
		"args.max_num_seqs": core.Number(256), "args.nothing": core.Unset(), "output_tps": core.Number(2938.77), "output_tps_per_gpu": core.Number(2938.77 / 2)}
	for _, c := range []struct {
		name          string
		first, second func(*core.Trial)
		decimals      [2]int
		want          core.ImportOutcome
		fields        map[string]core.Value
	}{
		{"everything", bare, func(t *core.Trial) { t.Setup.Driver, t.Setup.Image = "560.35", "vllm:v0.11" }, [2]int{2, 2}, core.ImportUpdated,
			merged(all7, map[string]core.Value{"p99_tpot_ms": core.Number(25.5), "driver": core.String("560.35"), "image": core.String("vllm:v0.11")})},
		{"full floats after a block", bare, nil, [2]int{2, -1}, core.ImportUpdated, merged(all7, map[string]core.Value{"p99_tpot_ms": core.Number(25.5)})},
		{"a coarser latency is left out", bare, nil, [2]int{-1, 2}, core.ImportUpdated, merged(all7, map[string]core.Value{"p99_tpot_ms": core.Missing()})},
		{"its place in a study", func(t *core.Trial) { t.Stage, t.Option, t.Role = "", "", "" }, func(t *core.Trial) { t.Study, t.Tags = "other", []string{"x"} },
			[2]int{2, 2}, isDuplicate, map[string]core.Value{"stage": core.Missing(), "option": core.Missing(), "role": core.Missing(),
				"study": core.String("qwen3-32b"), "tag": core.Missing()}},
		{"nothing lacks", nil, bare, [2]int{2, 2}, isDuplicate, all7},
		{"the measured latency ends an estimate", nil, func(t *core.Trial) { t.Figures["mean_e2el_ms"] = 2190.75 }, [2]int{2, 2}, core.ImportUpdated,
			map[string]core.Value{"mean_e2el_ms": core.Number(2190.75), "est_e2el_ms": core.Missing()}},
		{"failed requests known", nil, func(t *core.Trial) { t.Figures["failed"] = 0 }, [2]int{2, 2}, core.ImportUpdated,
			map[string]core.Value{"failed": core.Number(0), "requested": core.Number(1000), "success_rate": core.Number(1)}},
		{"what follows would change", nil, func(t *core.Trial) { t.Figures["failed"], t.Setup.Driver = 24, "560.35" }, [2]int{2, 2}, isDuplicate,
			map[string]core.Value{"failed": core.Missing(), "success_rate": core.Number(1), "driver": core.Missing()}},
		{"a figure differs", bare, func(t *core.Trial) { t.Figures["total_tps"]++ }, [2]int{2, 2}, isDuplicate, map[string]core.Value{"gpu": core.Missing(), "output_tps": core.Missing()}},
		{"another GPU", func(t *core.Trial) { bare(t); t.Setup.GPU = "NVIDIA A100" }, nil, [2]int{2, 2}, isDuplicate,
			map[string]core.Value{"gpu": core.String("NVIDIA A100"), "gpus": core.Missing(), "output_tps": core.Missing()}},
		{"another number of GPUs", func(t *core.Trial) { bare(t); t.Setup.GPUs = 8 }, nil, [2]int{2, 2}, isDuplicate, map[string]core.Value{"gpu": core.Missing()}},
		{"another model", func(t *core.Trial) { bare(t); t.Setup.Config.Model = "m" }, nil, [2]int{2, 2}, isDuplicate, map[string]core.Value{"gpu": core.Missing()}},
		{"another knob", func(t *core.Trial) { bare(t); t.Setup.Config.Knobs["tp"] = core.Number(1) }, nil, [2]int{2, 2}, isDuplicate,
			map[string]core.Value{"args.tp": core.Number(1), "args.max_num_seqs": core.Missing()}},
		{"a knob beside the command", func(t *core.Trial) { bare(t); t.Setup.Config.Knobs["swap"] = core.Number(1) }, nil, [2]int{2, 2}, core.ImportUpdated,
			map[string]core.Value{"args.max_num_seqs": core.Missing(), "args.swap": core.Number(1), "gpu": full.Value("gpu")}},
		{"another command", func(t *core.Trial) { t.Setup.Config.Knobs = core.Knobs{"tp": core.Number(2)} }, func(t *core.Trial) { t.Setup.Driver = "560.35" }, [2]int{2, 2}, isDuplicate,
			map[string]core.Value{"driver": core.Missing()}},
		{"a version of another tool", func(t *core.Trial) { bare(t); t.Setup.Tool = "" }, nil, [2]int{2, 2}, core.ImportUpdated,
			map[string]core.Value{"tool": core.Missing(), "tool_version": core.Missing(), "engine_version": core.String("0.11.0")}},
		{"another end", bare, func(t *core.Trial) { t.Status = core.StatusAborted }, [2]int{2, 2}, isDuplicate, map[string]core.Value{"gpu": core.Missing()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, asserted := range []bool{false, true} {
				db := openNew(t)
				var prints [2]*core.Trial
				for i, change := range []func(*core.Trial){c.first, c.second} {
					prints[i] = record(0, string(rune('a'+i)), "1", c.decimals[i])
					if change != nil {
						change(prints[i])
					}
				}
				prints[1].ID = id(77)
				imports(t, db, prints[0])
				if asserted {
					_, err := db.Set(ctx, []core.Assertion{{Trial: prints[0].ID, Verb: "set", Field: "turns", New: core.Number(5)}})
					ok(t, err)
				}
				before := all(t, db)[0]
				got := imports(t, db, prints[1])
				trials := all(t, db)
				if len(trials) != 1 || got[0] != c.want || prints[1].Number != 1 || len(trials[0].Sources) != 2 {
					t.Fatalf("asserted %t: outcome %d, want %d; %d trials, number %d", asserted, got[0], c.want, len(trials), prints[1].Number)
				}
				for field, want := range c.fields {
					if v := trials[0].Value(field); v != want {
						t.Errorf("asserted %t: %s is %#v, want %#v", asserted, field, v, want)
					}
				}
				for name, v := range before.Figures {
					if now, ok := trials[0].Figures[name]; name != "est_e2el_ms" && (!ok || now != v) {
						t.Errorf("asserted %t: %s was %v and is %v", asserted, name, v, now)
					}
				}
				if again := imports(t, db, prints[1], prints[0]); !slices.Equal(again, []core.ImportOutcome{isDuplicate, isDuplicate}) {
					t.Errorf("asserted %t: a second import gives %v", asserted, again)
				}
				if asserted {
					ok(t, db.Undo(ctx, 1))
					undone := all(t, db)[0]
					if undone.Value("turns") != core.Number(1) || undone.Value("gpu") != trials[0].Value("gpu") || undone.Figures["output_tps"] != trials[0].Figures["output_tps"] {
						t.Errorf("after the assertion was undone: %+v", undone)
					}
				}
				sound(t, db)
			}
		})
	}
}

func merged(ms ...map[string]core.Value) map[string]core.Value {
	out := map[string]core.Value{}
	for _, m := range ms {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// What a person set stays over what another print gives.
func TestFillInBelowAnAssertion(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	first, second := record(0, "a", "1", 2), record(0, "b", "1", 2)
	first.Setup.GPU = ""
	imports(t, db, first)
	_, err := db.Set(ctx, []core.Assertion{{Trial: first.ID, Verb: "set", Field: "gpu", New: core.String("H100 of ours")}})
	ok(t, err)
	if got := imports(t, db, second); got[0] != core.ImportUpdated {
		t.Errorf("outcome %d", got[0])
	}
	if v := all(t, db)[0].Value("gpu"); v != core.String("H100 of ours") {
		t.Errorf("gpu is %v", v)
	}
	ok(t, db.Undo(ctx, 1))
	if v := all(t, db)[0].Value("gpu"); v != second.Value("gpu") {
		t.Errorf("without the assertion gpu is %v", v)
	}
}
