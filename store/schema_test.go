package store_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

var update = flag.Bool("update", false, "write the golden files")

func TestSchema(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	var got string
	ok(t, db.Query(ctx, &got, `SELECT group_concat(sql, ';' || char(10) || char(10)) || ';' || char(10)
		FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name)`))
	path := filepath.Join("testdata", "schema.sql")
	if *update {
		ok(t, os.MkdirAll("testdata", 0o755))
		ok(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	ok(t, err)
	if d := diff(string(want), got); d != "" {
		t.Errorf("schema (-%s +made):\n%s", path, d)
	}
	if db.SchemaVersion() != store.SupportedSchema() || db.SchemaVersion() < 1 {
		t.Errorf("version %d of %d", db.SchemaVersion(), store.SupportedSchema())
	}
	var loose string
	ok(t, db.Query(ctx, &loose, `SELECT ifnull(group_concat(name), '') FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'`))
	if loose != "" {
		t.Errorf("tables that are not STRICT: %s", loose)
	}
}

// Every fixed field is a column of v_trial with the value of core.Trial.Value.
func TestViews(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	for _, trial := range varied() {
		ok(t, db.SaveTrial(ctx, trial))
	}
	var names string
	ok(t, db.Query(ctx, &names, "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('v_trial') ORDER BY name)"))
	want := append(core.FieldNames(), "started_at_utc")
	slices.Sort(want)
	if d := diff(want, strings.Split(names, ",")); d != "" {
		t.Errorf("columns of v_trial (-fields +view):\n%s", d)
	}
	for _, trial := range all(t, db) {
		for _, name := range core.FieldNames() {
			var got any
			ok(t, db.Query(ctx, &got, "SELECT "+name+" FROM v_trial WHERE number = ?", trial.Number))
			v := trial.Value(name)
			same := false
			switch x := got.(type) {
			case nil:
				same = v.IsMissing()
			case string:
				same = v == core.String(x)
			case float64:
				same = v == core.Number(x)
			case int64:
				same = v == core.Number(float64(x)) || v == core.Bool(x != 0)
			}
			if !same {
				t.Errorf("trial %d: v_trial.%s is %v, want %#v", trial.Number, name, got, v)
			}
		}
	}
	for query, want := range map[string]any{
		"SELECT own FROM v_knob WHERE number = 4 AND name = 'max_num_seqs'":               "max_running_requests",
		"SELECT num FROM v_knob WHERE number = 1 AND name = 'tp' AND origin = 'passed'":   2.0,
		"SELECT num FROM v_knob WHERE number = 2 AND own = 'max_num_batched_tokens'":      8192.0,
		"SELECT count(*) FROM v_knob WHERE number = 2 AND name = 'max_num_seqs'":          int64(1),
		"SELECT kind FROM v_value WHERE number = 2 AND space = 'extra' AND name = 'none'": "unset",
		"SELECT formula FROM v_derived WHERE number = 1 AND figure = 'success_rate'":      "completed / (requested - incomplete)",
		"SELECT severity FROM v_finding WHERE number = 2 AND rule = 'A3x'":                "void",
		"SELECT file FROM v_source WHERE number = 2 AND seq = 1":                          "b.log",
		"SELECT started_at_utc FROM v_trial WHERE number = 1":                             "2026-11-30T12:00:00.123Z",
		"SELECT request_rate FROM v_trial WHERE number = 1 AND request_rate > 1e308":      varied()[0].Load.RequestRate.Num,
	} {
		var got any
		if err := db.Query(ctx, &got, query); err != nil || got != want {
			t.Errorf("%s\n gives %v (%v), want %v", query, got, err, want)
		}
	}
}
