package bundle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/bundle"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

func measured() bundle.Bundle {
	t := &core.Trial{
		ID: core.NewID(at), Number: 17, Study: "s", Stage: "first", Option: "one", Role: core.RoleCandidate, Status: core.StatusOK, Attempt: 1, Repeat: 2,
		Setup:    core.Setup{Config: core.Config{Engine: "vllm", Model: "m", Knobs: core.Knobs{"max_num_seqs": core.Number(8)}, CommandKnown: true}, GPU: "NVIDIA H100", GPUs: 1},
		Workload: core.Workload{Name: "chat", Dataset: "random", InputLen: core.Number(16)}, Load: core.Load{Concurrency: core.Number(4), RequestRate: core.Unlimited()},
		Launch:    &core.Launch{ID: core.NewID(at), StartedAt: at, Argv: []string{"vllm", "<serve>"}, ReadyS: core.Number(1.25)},
		StartedAt: at, EndedAt: at.Add(time.Second), Figures: core.Figures{"completed": 2, "output_tps": 123.456789012345},
		Extra: map[string]core.Value{"note": core.String("<a&b>")},
	}
	return bundle.Bundle{Trial: t, Study: &core.StudyVersion{Name: "s", At: at, Resolved: json.RawMessage(`{"name":"s"}`)}, Log: []byte("last words\n"),
		Samples: []core.Sample{
			{Index: 0, Due: 0, Sent: 5 * time.Microsecond, First: 7 * time.Millisecond, Last: 9 * time.Millisecond, End: 9 * time.Millisecond, Chunks: []time.Duration{7 * time.Millisecond, 9 * time.Millisecond},
				InputTokens: 16, CachedTokens: -1, OutputTokens: 2, RequestedOutput: 2},
			{Index: 1, Due: 0, Sent: 6 * time.Microsecond, First: core.NoTime, Last: core.NoTime, End: time.Second, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: 2,
				Outcome: core.OutcomeFailed, Error: "connection refused"},
		}}
}

func write(t *testing.T, dir string, b bundle.Bundle) string {
	t.Helper()
	path, err := bundle.Write(dir, b, bundle.Manifest{Written: at, Host: "h", Sweepbook: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inbox")
	want := measured()
	path := write(t, dir, want)
	if path != filepath.Join(dir, want.Trial.ID.String()+".bundle") || !bundle.Is(path) || bundle.Is(dir) {
		t.Errorf("path %s, a bundle: %v; its folder: %v", path, bundle.Is(path), bundle.Is(dir))
	}
	got, err := bundle.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Log, want.Trial.Number = nil, 0
	want.Study.Resolved, got.Study.Resolved = compact(t, want.Study.Resolved), compact(t, got.Study.Resolved)
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if _, err := bundle.Write(dir, measured2(want.Trial.ID), bundle.Manifest{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second bundle of the trial: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d entries are left in the folder, want the bundle alone", len(left))
	}
}

func compact(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func measured2(id core.ID) bundle.Bundle {
	b := measured()
	b.Trial.ID = id
	return b
}

// The names of the members are the schema: changing one changes bundles that lie about.
func TestManifest(t *testing.T) {
	path := write(t, t.TempDir(), measured())
	data, err := os.ReadFile(filepath.Join(path, bundle.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	files := m["files"].([]any)
	var names []string
	for _, f := range files {
		names = append(names, f.(map[string]any)["name"].(string))
	}
	if diff := cmp.Diff([]string{"trial.json", "study.json", "requests.ndjson", "server.log"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for key, want := range map[string]any{"sweepbook_bundle": 1.0, "study": "s", "status": "ok", "requests": 2.0, "written": "2026-01-02T03:04:05.000000678Z", "host": "h", "sweepbook_version": "1.2"} {
		if m[key] != want {
			t.Errorf("%s is %v, want %v", key, m[key], want)
		}
	}
}

// What is not as it was written is refused, with the file and what to do.
func TestDamage(t *testing.T) {
	edit := func(name string, change func([]byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, text string) func([]byte) []byte {
		return func(data []byte) []byte {
			if !bytes.Contains(data, []byte(old)) {
				panic(old)
			}
			return bytes.ReplaceAll(data, []byte(old), []byte(text))
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"cut off":            {remove("MANIFEST.json"), "cut off while it was written or copied; copy it again"},
		"a file is missing":  {remove("requests.ndjson"), "requests.ndjson is missing; copy"},
		"a figure changed":   {edit("trial.json", replace("123.456789", "923.456789")), "trial.json is not what was written"},
		"requests cut":       {edit("requests.ndjson", func(d []byte) []byte { return d[:len(d)-3] }), "requests.ndjson is not what was written"},
		"a log cut":          {edit("server.log", func(d []byte) []byte { return nil }), "server.log is not what was written"},
		"a newer format":     {edit("MANIFEST.json", replace(`"sweepbook_bundle": 1`, `"sweepbook_bundle": 2`)), "format 2, and this Sweepbook reads up to 1; use a newer one"},
		"no format":          {edit("MANIFEST.json", replace(`"sweepbook_bundle": 1`, `"sweepbook_bundle": 0`)), "names no format"},
		"manifest cut":       {edit("MANIFEST.json", func(d []byte) []byte { return d[:40] }), "MANIFEST.json: "},
		"a file elsewhere":   {edit("MANIFEST.json", replace(`"server.log"`, `"../../etc/passwd"`)), `"../../etc/passwd", which is none of the folder`},
		"fewer requests":     {edit("MANIFEST.json", replace(`"requests": 2`, `"requests": 3`)), "has 2 requests, MANIFEST.json says 3"},
		"another's manifest": {edit("MANIFEST.json", func(d []byte) []byte { i := bytes.Index(d, []byte(`"trial": "`)); d[i+10] = 'f'; return d }), "of trial"},
		"a link": {func(t *testing.T, dir string) {
			remove("server.log")(t, dir)
			if err := os.Symlink("/dev/zero", filepath.Join(dir, "server.log")); err != nil {
				t.Skip(err)
			}
		}, "server.log is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), measured())
			c.damage(t, path)
			_, err := bundle.Read(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one with %q and the path", err, c.want)
			}
			if name == "cut off" != errors.Is(err, bundle.ErrCut) {
				t.Errorf("ErrCut: %v", errors.Is(err, bundle.ErrCut))
			}
		})
	}
}

func TestTailOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{100: "one\ntwo\nthree\n", 8: "three\n", 7: "three\n", 3: ""} {
		if got := string(bundle.TailOf(path, limit)); got != want {
			t.Errorf("the last %d bytes: %q, want %q", limit, got, want)
		}
	}
	if bundle.TailOf(path+"x", 5) != nil {
		t.Error("a log that is not there has an end")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"sweepbook_bundle":1,"files":[]}`), []byte("{}"))
	f.Add([]byte(`{"sweepbook_bundle":1,"files":[{"name":"trial.json","bytes":2,"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}]}`), []byte("{}"))
	f.Fuzz(func(t *testing.T, manifest, trial []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{bundle.ManifestFile: manifest, bundle.TrialFile: trial} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := bundle.Read(dir)
		if (err == nil) != (b != nil) {
			t.Errorf("%v, %v", b, err)
		}
	})
}
