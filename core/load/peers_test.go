//go:build linux

package load_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sweepbook/sweepbook/core/stats"
)

// The bounds that TestPeers holds the ruler to.
const (
	peerShare   = 5.0 // the ruler's p99 error is at most this part of the better peer's …
	leastError  = 0.3 // … or so many ms, whichever is larger
	peerCost    = 10  // the ruler reads at least so many times the chunks of a peer in a CPU second …
	bareShare   = 0.5 // … and at least this part of those of a reader of sockets that looks at nothing
	mostPeakMiB = 64
)

// TestPeers measures one mock server, that logs its own writes, by the ruler, by
// vllm bench serve and by guidellm, in turns, and writes the table of
// docs/ruler.md. SWEEPBOOK_PEERS names the folder into which
// scripts/peers/install.sh put them; `make peers` does both.
func TestPeers(t *testing.T) {
	folder := os.Getenv("SWEEPBOOK_PEERS")
	if folder == "" {
		t.Skip("SWEEPBOOK_PEERS is not set: make peers")
	}
	rounds := 3
	if text := os.Getenv("SWEEPBOOK_PEERS_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	streams := []int{16, 256, 1024}
	var table peerTable
	for _, n := range streams {
		task := clientTask{Streams: n, Requests: n, Tokens: 200}
		for round := range rounds {
			for _, tool := range peerTools {
				t.Run(fmt.Sprintf("%d streams by %s round %d of %d", n, tool, round+1, rounds), func(t *testing.T) {
					task.Address = startMock(t, mockPace{First: 100 * time.Millisecond, Gap: 20 * time.Millisecond})
					r := runTool(t, folder, tool, task)
					t.Log(describe(r))
					table.add(n, tool, r)
				})
			}
		}
	}
	for round := range rounds {
		for _, tool := range peerTools {
			t.Run(fmt.Sprintf("as fast as the server writes by %s round %d of %d", tool, round+1, rounds), func(t *testing.T) {
				r := runTool(t, folder, tool, clientTask{Streams: 16, Requests: 64, Tokens: 2000, Address: startMock(t, mockPace{})})
				t.Logf("%.0f chunks per CPU second", float64(r.Chunks)/r.CPU)
				table.put(flood, tool, "cost", float64(r.Chunks)/r.CPU)
			})
		}
	}
	if t.Failed() {
		return
	}
	peak := runClient(t, "ruler", clientTask{Address: startMock(t, mockPace{}), Streams: 64, Requests: 10_000, Tokens: 200}).PeakKiB
	text, missed, beyond := table.text(streams, rounds, float64(peak)/1024)
	fmt.Println(text)
	if err := os.WriteFile(filepath.Join(folder, "table.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range beyond {
		t.Log("out of reach: " + m)
	}
	for _, m := range missed {
		t.Error("missed: " + m)
	}
}

// flood stands for the number of streams where the server writes as fast as it can.
const flood = 0

func runTool(t *testing.T, folder, tool string, task clientTask) clientResult {
	t.Helper()
	if tool == "ruler" || tool == "bare" {
		return runClient(t, tool, task)
	}
	return runPeer(t, folder, tool, task)
}

var peerTools = []string{"ruler", "vllm bench serve", "guidellm", "bare"}

func describe(r clientResult) string {
	if len(r.Late) == 0 {
		return fmt.Sprintf("%.0f chunks per CPU second", float64(r.Chunks)/r.CPU)
	}
	s := fmt.Sprintf("first chunk %.3f / %.3f ms", quantileOf(r.Late, 0.5), quantileOf(r.Late, 0.99))
	if len(r.Gaps) > 0 {
		s += fmt.Sprintf(", gaps %.3f / %.3f ms", quantileOf(r.Gaps, 0.5), quantileOf(r.Gaps, 0.99))
	}
	s += fmt.Sprintf(", mean gaps %.3f / %.3f ms, %.0f chunks per CPU second, peak %d MiB",
		quantileOf(r.Means, 0.5), quantileOf(r.Means, 0.99), float64(r.Chunks)/r.CPU, r.PeakKiB>>10)
	if lag, ok := r.Extra["client_read_lag_p99_ms"]; ok {
		s += fmt.Sprintf(", lag %.3v ms, read lag %.3v ms", r.Extra["client_lag_p99_ms"].Num, lag.Num)
	}
	return s
}

// runPeer runs another tool on the same requests.
func runPeer(t *testing.T, folder, tool string, task clientTask) clientResult {
	t.Helper()
	dir := t.TempDir()
	prompts, out := filepath.Join(dir, "prompts.jsonl"), filepath.Join(dir, "result.json")
	var lines strings.Builder
	for i := range task.Requests {
		fmt.Fprintf(&lines, "{\"prompt\":\"request %d of many\",\"output_tokens\":%d,\"output_tokens_count\":%d}\n", i, task.Tokens, task.Tokens)
	}
	if err := os.WriteFile(prompts, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	url, tokenizer := "http://"+task.Address, filepath.Join(folder, "tokenizer")
	n := strconv.Itoa(task.Streams)
	var cmd *exec.Cmd
	read := readVLLMBench
	if tool == "guidellm" {
		read = readGuidellm
		cmd = exec.Command(filepath.Join(folder, "guidellm/bin/guidellm"), "run", "--backend", "kind=openai_http,target="+url+",model=org/model-8b",
			"--profile", "kind=concurrent,streams="+n, "--constraint", "kind=max_requests,count="+strconv.Itoa(task.Requests),
			"--tokenizer", "kind=huggingface_auto,model="+tokenizer, "--data", "kind=json_file,path="+prompts,
			"--output", "kind=json,path="+out, "--disable-console")
	} else {
		cmd = exec.Command(filepath.Join(folder, "vllm/bin/vllm"), "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
			"--base-url", url, "--model", "org/model-8b", "--tokenizer", tokenizer, "--dataset-name", "custom", "--dataset-path", prompts,
			"--custom-output-len", "-1", "--skip-chat-template", "--disable-shuffle", "--num-prompts", strconv.Itoa(task.Requests), "--max-concurrency", n,
			"--disable-tqdm", "--save-result", "--save-detailed", "--result-dir", dir, "--result-filename", "result.json")
	}
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := watchTree(cmd.Process.Pid)
	err = cmd.Wait()
	used := watch()
	if err != nil {
		text, _ := os.ReadFile(said.Name())
		t.Fatalf("%s: %v\n%s", tool, err, text[max(0, len(text)-4000):])
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := read(data)
	if err != nil {
		t.Fatalf("%s: result: %v", tool, err)
	}
	r := judge(requests, readLog(task.Address))
	// guidellm may end a run before its last request and keep no record of that.
	if lost := task.Requests - len(requests); lost > 0 {
		t.Logf("%s: %d of %d requests are not in its result", tool, lost, task.Requests)
	}
	if r.Failed > 0 || len(requests) < task.Requests*9/10 {
		t.Fatalf("%s: %d of %d requests recorded, %d of them not as the server served them", tool, len(requests), task.Requests, r.Failed)
	}
	r.CPU, r.PeakKiB = used.between(window(requests)), used.peakKiB
	return r
}

// peerRequest is what a tool recorded of a request, in nanoseconds since 1970.
type peerRequest struct {
	number            int
	sent, first, last float64
	gaps              []float64 // between chunks; nil where the tool keeps none
	chunks            int
}

func window(requests []peerRequest) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, r := range requests {
		from, to = min(from, r.sent), max(to, r.last)
	}
	return from, to
}

// readVLLMBench reads a result with --save-detailed. Its moments are of Python's
// perf_counter, which is the monotonic clock of the system.
func readVLLMBench(data []byte) ([]peerRequest, error) {
	var d struct {
		Start     []float64   `json:"start_times"`
		TTFT      []float64   `json:"ttfts"`
		ITL       [][]float64 `json:"itls"`
		Completed int         `json:"completed"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if len(d.Start) != d.Completed || len(d.TTFT) != d.Completed || len(d.ITL) != d.Completed {
		return nil, fmt.Errorf("%d completed, %d start times, %d ttfts, %d itls", d.Completed, len(d.Start), len(d.TTFT), len(d.ITL))
	}
	boot := bootTime()
	var out []peerRequest
	for i := range d.Start {
		r := peerRequest{number: i, sent: boot + d.Start[i]*1e9, chunks: 1 + len(d.ITL[i])}
		r.first = r.sent + d.TTFT[i]*1e9
		r.last = r.first
		for _, g := range d.ITL[i] {
			r.gaps = append(r.gaps, g*1e9)
			r.last += g * 1e9
		}
		out = append(out, r)
	}
	return out, nil
}

// bootTime is where the monotonic clock began, in nanoseconds since 1970.
func bootTime() float64 {
	const monotonic = 1
	var at syscall.Timespec
	before := time.Now()
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0); err != 0 {
		panic(err)
	}
	return float64(before.UnixNano() + int64(time.Since(before)/2) - at.Nano())
}

// readGuidellm reads benchmarks.json, which keeps of each request the first and
// last token and how many there were.
func readGuidellm(data []byte) ([]peerRequest, error) {
	var d struct {
		Benchmarks []struct {
			Requests struct {
				Successful []struct {
					Args string `json:"request_args"`
					Info struct {
						Timings struct {
							Sent   float64 `json:"request_start"`
							First  float64 `json:"first_token_iteration"`
							Last   float64 `json:"last_token_iteration"`
							Tokens int     `json:"token_iterations"`
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if len(d.Benchmarks) != 1 {
		return nil, fmt.Errorf("%d benchmarks", len(d.Benchmarks))
	}
	var out []peerRequest
	for _, s := range d.Benchmarks[0].Requests.Successful {
		m := requestNumber.FindStringSubmatch(s.Args)
		if m == nil {
			return nil, fmt.Errorf("request without its number: %.200s", s.Args)
		}
		number, _ := strconv.Atoi(m[1])
		k := s.Info.Timings
		out = append(out, peerRequest{number: number, sent: k.Sent * 1e9, first: k.First * 1e9, last: k.Last * 1e9, chunks: k.Tokens})
	}
	return out, nil
}

// judge holds what a tool recorded against the server's log.
func judge(requests []peerRequest, log map[int]served) (r clientResult) {
	for _, q := range requests {
		wrote := log[q.number].Wrote
		r.Chunks += q.chunks
		if len(wrote) != q.chunks || len(wrote) < 2 {
			r.Failed++
			continue
		}
		ms := func(ns float64) float64 { return ns / 1e6 }
		n := len(wrote) - 1
		r.Late = append(r.Late, ms(q.first-float64(wrote[0])))
		r.Means = append(r.Means, ms((q.last-q.first)-float64(wrote[n]-wrote[0]))/float64(n))
		for i, g := range q.gaps {
			r.Gaps = append(r.Gaps, ms(g-float64(wrote[i+1]-wrote[i])))
		}
	}
	return r
}

// treeUse is what a process and its descendants used, read every 50 ms.
type treeUse struct {
	at, cpu []float64 // nanoseconds since 1970, seconds
	peakKiB int
}

// between is the CPU time in a part of the time, so that starting Python and
// importing is not held against a tool.
func (u *treeUse) between(from, to float64) float64 {
	at := func(when float64) float64 {
		i, found := slices.BinarySearch(u.at, when)
		if found || i == 0 || i == len(u.at) {
			return u.cpu[min(i, len(u.cpu)-1)]
		}
		part := (when - u.at[i-1]) / (u.at[i] - u.at[i-1])
		return u.cpu[i-1] + part*(u.cpu[i]-u.cpu[i-1])
	}
	return at(to) - at(from)
}

func watchTree(pid int) (stop func() *treeUse) {
	u := &treeUse{}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		spent := map[int]float64{} // of processes that have ended, too
		for {
			rss := 0
			for _, p := range tree(pid) {
				if s, kib, ok := processUse(p); ok {
					spent[p] = s
					rss += kib
				}
			}
			total := 0.0
			for _, s := range spent {
				total += s
			}
			u.at, u.cpu = append(u.at, float64(time.Now().UnixNano())), append(u.cpu, total)
			u.peakKiB = max(u.peakKiB, rss)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() *treeUse {
		close(done)
		watching.Wait()
		return u
	}
}

// tree gives a process and its descendants.
func tree(root int) []int {
	all := []int{root}
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			data, _ := os.ReadFile(list)
			for _, f := range strings.Fields(string(data)) {
				if pid, err := strconv.Atoi(f); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

// processUse reads CPU seconds and resident memory.
func processUse(pid int) (cpu float64, rssKiB int, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 22 {
		return 0, 0, false
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	pages, _ := strconv.Atoi(f[21])
	const ticks = 100 // of USER_HZ, in a second
	return (user + system) / ticks, pages * os.Getpagesize() / 1024, true
}

// peerTable holds the figures of each round.
type peerTable struct{ cells map[string][]float64 }

func (p *peerTable) put(streams int, tool, what string, v float64) {
	if p.cells == nil {
		p.cells = map[string][]float64{}
	}
	key := fmt.Sprint(streams, tool, what)
	p.cells[key] = append(p.cells[key], v)
}

func (p *peerTable) add(streams int, tool string, r clientResult) {
	p.put(streams, tool, "cost", float64(r.Chunks)/r.CPU)
	for what, errors := range map[string][]float64{"first": r.Late, "gap": r.Gaps, "mean": r.Means} {
		if len(errors) > 0 {
			p.put(streams, tool, what+" median", quantileOf(errors, 0.5))
			p.put(streams, tool, what+" p99", quantileOf(errors, 0.99))
		}
	}
	for _, what := range []string{"client_lag_p99_ms", "client_read_lag_p99_ms"} {
		if v, ok := r.Extra[what]; ok {
			p.put(streams, tool, what, v.Num)
		}
	}
}

// median of the rounds.
func (p *peerTable) median(streams int, tool, what string) (float64, bool) {
	return stats.Quantile(p.cells[fmt.Sprint(streams, tool, what)], 0.5)
}

// text is the table in Markdown, which bounds it missed, and which of them a reader
// of sockets that looks at nothing misses, too: what such a read costs is the
// kernel's and the Go scheduler's to say.
func (p *peerTable) text(streams []int, rounds int, peakMiB float64) (text string, missed, beyond []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cores, Go %s, %s; medians of %d rounds\n\n| |", runtime.NumCPU(), strings.TrimPrefix(runtime.Version(), "go"), time.Now().UTC().Format(time.DateOnly), rounds)
	for _, n := range streams {
		fmt.Fprintf(&b, " %d streams |", n)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(streams)+1) + "\n")
	row := func(name string, cell func(n int) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range streams {
			b.WriteString(" " + cell(n) + " |")
		}
		b.WriteString("\n")
	}
	for _, e := range []struct{ what, name string }{
		{"first", "first chunk, off from its write"}, {"gap", "gap, off from the gap of the writes"}, {"mean", "mean gap of a request, off"},
	} {
		for _, tool := range peerTools {
			if _, ok := p.median(streams[0], tool, e.what+" p99"); !ok {
				continue
			}
			row(e.name+": "+tool+", median / p99 ms", func(n int) string {
				m, _ := p.median(n, tool, e.what+" median")
				v, _ := p.median(n, tool, e.what+" p99")
				return fmt.Sprintf("%.3f / %.3f", m, v)
			})
		}
		for _, n := range streams {
			best := math.Inf(1)
			for _, tool := range peerTools[1:] {
				if v, ok := p.median(n, tool, e.what+" p99"); ok {
					best = min(best, v)
				}
			}
			bound := max(leastError, best/peerShare)
			if v, _ := p.median(n, "ruler", e.what+" p99"); v > bound {
				missed = append(missed, fmt.Sprintf("%s at %d streams: p99 %.3f ms, want at most %.3f", e.name, n, v, bound))
			}
		}
	}
	cost := func(tool string, n int) string {
		v, _ := p.median(n, tool, "cost")
		ours, _ := p.median(n, "ruler", "cost")
		if tool == "ruler" {
			return fmt.Sprintf("%.0f", v)
		}
		if tool == "bare" {
			if n != flood && ours < bareShare*v {
				missed = append(missed, fmt.Sprintf("cost at %d streams: %.2f of the chunks of a bare reader per CPU second, want %.2f", n, ours/v, bareShare))
			}
		} else if ours < peerCost*v {
			bare, _ := p.median(n, "bare", "cost")
			text := fmt.Sprintf("cost at %d streams (0: as fast as the server writes): %.1f times the chunks of %s per CPU second, want %d; the bare reader has %.1f times",
				n, ours/v, tool, peerCost, bare/v)
			if bare < peerCost*v {
				beyond = append(beyond, text)
			} else {
				missed = append(missed, text)
			}
		}
		return fmt.Sprintf("%.0f (ruler × %.2f)", v, ours/v)
	}
	for _, tool := range peerTools {
		row("chunks per CPU second: "+tool, func(n int) string { return cost(tool, n) })
	}
	for _, e := range []struct{ what, name string }{{"client_lag_p99_ms", "sent late"}, {"client_read_lag_p99_ms", "read late"}} {
		row("ruler of itself: "+e.name+", p99 ms", func(n int) string {
			v, _ := p.median(n, "ruler", e.what)
			return fmt.Sprintf("%.3f", v)
		})
	}
	b.WriteString("\nChunks per CPU second where 16 streams of 2000 chunks are written as fast as the server can:")
	for i, tool := range peerTools {
		b.WriteString([]string{" ", "; "}[min(i, 1)] + tool + " " + cost(tool, flood))
	}
	b.WriteString(".\n")
	fmt.Fprintf(&b, "\nPeak memory of the ruler, 10,000 requests of 200 chunks: %.0f MiB.\n", peakMiB)
	if peakMiB > mostPeakMiB {
		missed = append(missed, fmt.Sprintf("peak memory %.1f MiB, want at most %d", peakMiB, mostPeakMiB))
	}
	return b.String(), missed, beyond
}
