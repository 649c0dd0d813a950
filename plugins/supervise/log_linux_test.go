package supervise_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

var notice = regexp.MustCompile(`\n\[sweepbook: +(\d+) bytes of this log left out here\]\n`)

// checkBounded checks that a file is what is left of data by the limits: its
// head, one count of what was left out, its end.
func checkBounded(t *testing.T, file, data []byte, limits supervise.LogLimits) {
	t.Helper()
	if int64(len(data)) <= limits.Head+limits.Tail {
		if !bytes.Equal(file, data) {
			t.Fatalf("a log of %d bytes within limits %+v was changed", len(data), limits)
		}
		return
	}
	if int64(len(file)) > limits.Head+limits.Tail+supervise.NoticeLen {
		t.Fatalf("file has %d bytes, limits %+v", len(file), limits)
	}
	at := notice.FindSubmatchIndex(file)
	if at == nil {
		t.Fatalf("no notice in a file of %d bytes for a log of %d", len(file), len(data))
	}
	head, tail := file[:at[0]], file[at[1]:]
	leftOut, _ := strconv.Atoi(string(file[at[2]:at[3]]))
	if !bytes.HasPrefix(data, head) || !bytes.HasSuffix(data, tail) || len(head)+leftOut+len(tail) != len(data) {
		t.Fatalf("head %d, left out %d, tail %d of a log of %d bytes do not fit it", len(head), leftOut, len(tail), len(data))
	}
	if int64(len(tail)) < limits.Tail*3/8 {
		t.Fatalf("tail has %d bytes, limits %+v", len(tail), limits)
	}
}

func TestBoundedFile(t *testing.T) {
	for _, limits := range []supervise.LogLimits{{Head: 0, Tail: 4096}, {Head: 1000, Tail: 4096}, {Head: 10000, Tail: 8192}, {Head: 50, Tail: 300000}} {
		for _, size := range []int{0, 10, 4096, 5096, 5097, 20000, 700000} {
			for _, lineLength := range []int{1, 80, 1 << 30} {
				t.Run(fmt.Sprintf("%d+%d/%d/%d", limits.Head, limits.Tail, size, lineLength), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(size), uint64(lineLength)))
					data := make([]byte, size)
					for i := range data {
						data[i] = byte('a' + rng.IntN(26))
						if i%lineLength == lineLength-1 {
							data[i] = '\n'
						}
					}
					path := filepath.Join(t.TempDir(), "log")
					f, err := supervise.NewBoundedFile(path, limits)
					if err != nil {
						t.Fatal(err)
					}
					for rest := data; len(rest) > 0; {
						n := min(1+rng.IntN(5000), len(rest))
						if m, err := f.Write(rest[:n]); m != n || err != nil {
							t.Fatal(m, err)
						}
						rest = rest[n:]
					}
					file, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					checkBounded(t, file, data, limits)
				})
			}
		}
	}
}

// What a server of 100 MB of output costs: a bounded file and no waiting.
func TestLogOf100MB(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "spam", "100000000")
	spec.Log = supervise.LogLimits{Head: 1 << 20, Tail: 2 << 20}
	took := filepath.Join(spec.Dir, "took")
	spec.Env = append(spec.Env, "SPAM_TOOK="+took)
	p := start(t, spec)
	wait(t, p)
	out := p.Outcome()
	info, err := os.Stat(spec.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(took)
	t.Logf("100 MB written in %s, file %d bytes, left out %d, lost %d", text, info.Size(), out.LogLeftOut, out.LogLost)
	// What the disk was too slow for is stated in lines of their own.
	if limit := int64(3<<20) + supervise.NoticeLen; p.ExitCode() != 0 || info.Size() > limit || info.Size() < 1<<20 {
		t.Errorf("exit code %d, file of %d bytes, want at most %d", p.ExitCode(), info.Size(), limit)
	}
	if out.LogLeftOut+out.LogLost+info.Size() < 100000000 {
		t.Errorf("%d left out + %d lost + %d kept do not make the 100 MB", out.LogLeftOut, out.LogLost, info.Size())
	}
	if out.LogLost == 0 && !strings.HasSuffix(p.LogTail(4000), "last line\n") {
		t.Errorf("log ends with %q", p.LogTail(100))
	}
	if tail := p.LogTail(1000); len(tail) > 1000 || len(tail) < 800 {
		t.Errorf("tail of %d bytes, want almost 1000", len(tail))
	}
}

// A disk that takes nothing must not hold a server up.
func TestServerNeverBlocksOnItsLog(t *testing.T) {
	t.Parallel() // the shim waits its whole limit for the hung disk
	for _, tc := range []struct {
		name string
		make func(path string) (string, error)
		took time.Duration // at least, by which a hung disk shows to be one
	}{
		{"full disk", func(string) (string, error) { return "/dev/full", nil }, 0},
		{"hung disk", func(path string) (string, error) { return path, syscall.Mkfifo(path, 0o600) }, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := newSpec(t, supervise.CgroupOff, "spam", "20000000")
			var err error
			if spec.LogPath, err = tc.make(spec.LogPath); err != nil {
				t.Fatal(err)
			}
			took := filepath.Join(spec.Dir, "took")
			spec.Env = append(spec.Env, "SPAM_TOOK="+took)
			began := time.Now()
			p := start(t, spec)
			wait(t, p)
			if whole := time.Since(began); whole < tc.took {
				t.Errorf("over after %v: the disk did not hang", whole)
			}
			text, err := os.ReadFile(took)
			if err != nil || p.ExitCode() != 0 {
				t.Fatalf("the server did not come to its end: code %d, %v", p.ExitCode(), err)
			}
			if d, err := time.ParseDuration(string(text)); err != nil || d > patience/2 {
				t.Errorf("the server took %v for 20 MB", d)
			}
			if out := p.Outcome(); out.LogLost < 19e6 || out.ShimLost {
				t.Errorf("outcome %+v, want nearly 20 MB lost and counted", out)
			}
			if tail := p.LogTail(100); tail != "" {
				t.Errorf("tail %q of what is no file", tail)
			}
		})
	}
}

// When a full disk has room again, the file says what it lacks.
func TestLogStatesWhatItLacks(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1000<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := newSpec(t, supervise.CgroupOff, "spam", "300000")
	spec.LogPath = filepath.Join(dir, "log")
	spec.Argv = []string{"/bin/sh", "-c", `"$0" server spam 300000; until test -e go; do sleep 0.02; done; echo after; sleep 0.5`, spec.Exe}
	p := start(t, spec)
	full := func() bool { info, err := os.Stat(spec.LogPath); return err == nil && info.Size() >= 16<<10 }
	eventually(t, patience, "disk full", full)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spec.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	data, err := os.ReadFile(spec.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	lacks := regexp.MustCompile(`\[sweepbook: (\d+) bytes not recorded here: the disk was slow or full\]`).FindAllSubmatch(data, -1)
	var sum int64
	for _, m := range lacks {
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		sum += n
	}
	if out := p.Outcome(); len(lacks) == 0 || sum != out.LogLost || sum == 0 || !bytes.Contains(data, []byte("\nafter\n")) {
		t.Errorf("file states %d bytes lost in %d lines, outcome %d; it ends %q", sum, len(lacks), out.LogLost, data[max(0, len(data)-200):])
	}
}
