//go:build unix

package load_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// Some measurements need server and client in processes of their own: the test
// binary starts itself, and this variable says as what.
const roleVariable = "SWEEPBOOK_LOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "server":
		serveMock()
	case "ruler":
		clientRole(rulerClient)
	case "bare":
		clientRole(bareClient)
	}
}

// mockPace is what a mock server does with a request: how it streams is known
// exactly, and when it wrote each chunk is logged.
type mockPace struct {
	First time.Duration // from the request to the first chunk
	Gap   time.Duration // between chunks; 0 writes as fast as it can
}

// mockLog is what became of each request, by the number that its prompt gives;
// requests without one get -1, -2, … in the order in which they came.
type mockLog struct {
	mu      sync.Mutex
	served  map[int]served
	unnamed int
}

// served is when a request had been read and when its chunks were written, in
// nanoseconds since 1970.
type served struct {
	Read  int64
	Wrote []int64
}

var (
	requestNumber = regexp.MustCompile(`request (\d+) `)
	maxTokens     = regexp.MustCompile(`"max_(?:completion_)?tokens": ?(\d+)`)
)

// serveMock listens on a port of the system's choice, prints it, and serves until
// its standard input ends. It speaks just enough HTTP to cost little.
func serveMock() {
	var pace mockPace
	if err := json.Unmarshal([]byte(os.Getenv("SWEEPBOOK_MOCK_PACE")), &pace); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	log := &mockLog{served: map[int]served{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go log.serve(conn, pace)
		}
	}()
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (l *mockLog) serve(conn net.Conn, pace mockPace) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		length := 0
		line, err := in.ReadString('\n')
		path := line
		for ; err == nil && line != "\r\n"; line, err = in.ReadString('\n') {
			if v, ok := strings.CutPrefix(strings.ToLower(line), "content-length: "); ok {
				length, _ = strconv.Atoi(strings.TrimSpace(v))
			}
		}
		body := make([]byte, length)
		if err == nil {
			_, err = io.ReadFull(in, body)
		}
		if err != nil {
			return
		}
		if strings.HasPrefix(path, "GET /log") {
			l.mu.Lock()
			data, _ := json.Marshal(l.served)
			l.mu.Unlock()
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(data), data)
			continue
		}
		if strings.HasPrefix(path, "GET ") { // other tools ask for the model or the health first
			const models = `{"object":"list","data":[{"id":"org/model-8b","object":"model"}]}`
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(models), models)
			continue
		}
		if !l.answer(conn, body, pace, time.Now()) {
			return
		}
	}
}

const mockHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// mockChunk is a chunk as vLLM writes them.
const mockChunk = "data: " + `{"id":"chatcmpl-7d1f4a2c9b8e4f60a1b2c3d4e5f60718","object":"chat.completion.chunk","created":1764000000,"model":"org/model-8b","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

func (l *mockLog) answer(conn net.Conn, body []byte, pace mockPace, start time.Time) bool {
	number, n := 0, 16
	if m := requestNumber.FindSubmatch(body); m != nil {
		number, _ = strconv.Atoi(string(m[1]))
	} else {
		l.mu.Lock()
		l.unnamed++
		number = -l.unnamed
		l.mu.Unlock()
	}
	if m := maxTokens.FindSubmatch(body); m != nil {
		n, _ = strconv.Atoi(string(m[1]))
	}
	chunk := []byte(fmt.Sprintf("%x\r\n%s\r\n", len(mockChunk), mockChunk))
	wrote := make([]int64, 0, n)
	_, err := io.WriteString(conn, mockHead)
	at := start.Add(pace.First)
	for range n {
		if err != nil {
			return false
		}
		if d := time.Until(at); d > 0 {
			time.Sleep(d)
		}
		wrote = append(wrote, time.Now().UnixNano())
		_, err = conn.Write(chunk)
		at = at.Add(pace.Gap)
	}
	last := fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", n)
	// Logged before the end is written: who has read the end may ask for the log.
	l.mu.Lock()
	l.served[number] = served{start.UnixNano(), wrote}
	l.mu.Unlock()
	_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(last), last)
	return err == nil
}

// startRole starts the test binary in a role and gives its first line of output.
// The server ends with the test.
func startRole(t testing.TB, role string, env ...string) (firstLine string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), append(env, roleVariable+"="+role)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		cancel()
	})
	line, err := bufio.NewReaderSize(out, 1<<20).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	return strings.TrimSpace(line)
}

func startMock(t testing.TB, pace mockPace) (address string) {
	t.Helper()
	data, err := json.Marshal(pace)
	if err != nil {
		t.Fatal(err)
	}
	return startRole(t, "server", "SWEEPBOOK_MOCK_PACE="+string(data))
}

// clientTask is what a client process measures.
type clientTask struct {
	Address  string
	Streams  int
	Requests int
	Tokens   int
}

// clientResult is what it found.
type clientResult struct {
	Chunks   int
	CPU      float64 // seconds of this process, in the measured window
	Wall     float64
	PeakKiB  int // resident memory of the process
	Failed   int
	Late     []float64 // ms: from the server's write to the moment of the first chunk
	TTFT     []float64 // ms: how far the TTFT is from that of the server, read to written
	Means    []float64 // ms: how far the mean gap of a request is from that of the server's writes
	Gaps     []float64 // ms: how far the gaps are from those of the server's writes
	Extra    map[string]core.Value
	CPUShare float64
}

func runClient(t testing.TB, role string, task clientTask) (r clientResult) {
	t.Helper()
	data, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	line := startRole(t, role, "SWEEPBOOK_CLIENT_TASK="+string(data))
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	if r.Failed > 0 || r.Chunks != task.Requests*task.Tokens {
		t.Fatalf("%s: %d failed, %d chunks of %d", role, r.Failed, r.Chunks, task.Requests*task.Tokens)
	}
	return r
}

func clientRole(measure func(clientTask) clientResult) {
	var task clientTask
	if err := json.Unmarshal([]byte(os.Getenv("SWEEPBOOK_CLIENT_TASK")), &task); err != nil {
		panic(err)
	}
	r := measure(task)
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &r.PeakKiB)
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(data))
}

func usedCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// startSink keeps samples, and when the window began.
type startSink struct {
	summed
	start time.Time
	cpu   float64
}

func (s *startSink) Progress(p core.Progress) {
	if p.Phase == "measure" && s.start.IsZero() {
		s.start, s.cpu = time.Now(), usedCPU()
	}
}

// rulerClient measures with the ruler.
func rulerClient(task clientTask) (r clientResult) {
	dir, err := os.MkdirTemp("", "ruler")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := dir + "/prompts.jsonl"
	var lines strings.Builder
	for i := range task.Requests {
		fmt.Fprintf(&lines, "{\"prompt\":\"request %d of many\",\"output_tokens\":%d}\n", i, task.Tokens)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		panic(err)
	}
	req := request("http://"+task.Address, core.Workload{Dataset: "custom"}, closed(float64(task.Streams), float64(task.Requests)))
	req.DataPath, req.IdleTimeout, req.RequestTimeout = path, time.Minute, 10*time.Minute
	var s startSink
	if err := load.Run(context.Background(), req, &s); err != nil {
		panic(err)
	}
	r.CPU, r.Wall = usedCPU()-s.cpu, time.Since(s.start).Seconds()
	r.Extra = s.extra
	for _, a := range s.samples {
		r.Chunks += len(a.Chunks)
		if a.Outcome != core.OutcomeOK {
			r.Failed++
		}
	}
	if task.Requests > 5000 {
		return r
	}
	log := readLog(task.Address)
	for _, a := range s.samples {
		wrote := log[a.Index].Wrote
		if len(wrote) != len(a.Chunks) || len(wrote) == 0 {
			r.Failed++
			continue
		}
		ms := func(ns int64) float64 { return float64(ns) / 1e6 }
		r.Late = append(r.Late, ms(s.start.Add(a.First).UnixNano()-wrote[0]))
		r.TTFT = append(r.TTFT, ms(int64(a.First-a.Sent)-(wrote[0]-log[a.Index].Read)))
		if n := len(wrote) - 1; n > 0 {
			r.Means = append(r.Means, ms(int64(a.Chunks[n]-a.Chunks[0])-(wrote[n]-wrote[0]))/float64(n))
		}
		for i := 1; i < len(wrote); i++ {
			r.Gaps = append(r.Gaps, ms(int64(a.Chunks[i]-a.Chunks[i-1])-(wrote[i]-wrote[i-1])))
		}
	}
	return r
}

func readLog(address string) map[int]served {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /log HTTP/1.1\r\n\r\n")
	in := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			panic(err)
		}
	}
	var log map[int]served
	if err := json.NewDecoder(in).Decode(&log); err != nil {
		panic(err)
	}
	return log
}

// bareClient opens as many sockets, asks the same and reads without looking at
// anything: what any client in Go pays at least.
func bareClient(task clientTask) (r clientResult) {
	body := fmt.Sprintf(`{"max_tokens":%d,"messages":[{"role":"user","content":"request 1 of many"}],"model":"m","stream":true}`, task.Tokens)
	ask := []byte(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	before, start := usedCPU(), time.Now()
	var wg sync.WaitGroup
	for range task.Streams {
		wg.Go(func() {
			conn, err := net.Dial("tcp", task.Address)
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			buffer := make([]byte, 4<<10)
			for range task.Requests / task.Streams {
				if _, err := conn.Write(ask); err != nil {
					panic(err)
				}
				// The end may come in pieces, so that the last bytes of a read stand before the next.
				const last = "0\r\n\r\n"
				for kept := 0; ; {
					n, err := conn.Read(buffer[kept:])
					if err != nil {
						panic(err)
					}
					if n += kept; n >= len(last) && string(buffer[n-len(last):n]) == last {
						break
					}
					kept = copy(buffer, buffer[max(0, n-len(last)+1):n])
				}
			}
		})
	}
	wg.Wait()
	r.Chunks = task.Requests * task.Tokens
	r.CPU, r.Wall = usedCPU()-before, time.Since(start).Seconds()
	return r
}
