package plugins

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// Beside host_test.go (a bad start), client_test.go (bad answers) and
// host_output_test.go (bad logs): what a plugin may throw at the host's memory, and
// at a trial that is not its own.

// allocated is what the heap was asked for in all.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestGigabyteMessage: a message is refused by its announced length, before a byte
// of it is kept.
func TestGigabyteMessage(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		frame := binary.BigEndian.AppendUint32([]byte{0}, 1<<30)
		part := make([]byte, 64<<10)
		for sent := 0; sent < 1<<30; sent += len(part) {
			if _, err := w.Write(append(frame, part...)); err != nil {
				return // the host has hung up
			}
			frame = nil
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	before := allocated()
	_, err = Connect(conn).Info(t.Context())
	bad(t, err, "Info", "message")
	if took := allocated() - before; took > 64<<20 {
		t.Errorf("%d MiB were taken for a message that is refused", took>>20)
	}
}

// TestTenMillionSamples: a trial takes that many and not one more, and what is kept
// to tell a request that comes twice is a bit for each.
func TestTenMillionSamples(t *testing.T) {
	var seen tally
	batch := &pb.SampleBatch{Samples: make([]*pb.Sample, maxBatch)}
	for i := range batch.Samples {
		batch.Samples[i] = &pb.Sample{Outcome: pb.Outcome_OUTCOME_FAILED}
	}
	next := int64(0)
	for next < maxTrialSamples {
		for _, s := range batch.Samples {
			s.Index = min(next, maxTrialSamples)
			next++
		}
		var c check
		got := seen.batch(&c, batch)
		switch {
		case next <= maxTrialSamples && (c.err != nil || len(got) != maxBatch):
			t.Fatalf("%d samples in: %v", next, c.err)
		case next > maxTrialSamples && (c.err == nil || !strings.Contains(c.err.Field, "index") || got != nil):
			t.Errorf("more than %d samples are taken: %v", maxTrialSamples, c.err)
		}
	}
	if size := len(seen.seen) * 8; size > 2<<20 {
		t.Errorf("%d bytes are kept to tell requests apart", size)
	}
}

// meddler sends the samples of its second trial to the sink of its first.
type meddler struct {
	failing
	first core.Sink
}

func (m *meddler) Benchmark(_ context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	lost := []core.Sample{{Index: 7, First: core.NoTime, Last: core.NoTime, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeFailed}}
	if m.first == nil {
		m.first = sink
		return sink.Samples(lost)
	}
	return m.first.Samples(lost)
}

// TestAnotherTrial: an answer names no trial; the call that it answers says whose it
// is, and a call that has ended takes nothing more.
func TestAnotherTrial(t *testing.T) {
	m := &meddler{}
	client := dial(t, func(s *grpc.Server) { Register(s, m) })
	var first, second sinkLog
	if err := client.Benchmark(t.Context(), core.BenchmarkRequest{}, &first); err != nil || len(first.samples) != 1 {
		t.Fatalf("first trial: %v, %d samples", err, len(first.samples))
	}
	err := client.Benchmark(t.Context(), core.BenchmarkRequest{}, &second)
	if err == nil || !strings.Contains(err.Error(), "the call has ended") {
		t.Errorf("second trial: %v", err)
	}
	if len(first.samples) != 1 || len(second.samples) != 0 {
		t.Errorf("the trials have %d and %d samples, want 1 and 0", len(first.samples), len(second.samples))
	}
	fields := pb.File_engine_proto.Messages()
	for _, name := range []string{"BenchmarkResponse", "SampleBatch", "Sample", "Summary", "LaunchResponse"} {
		if message := fields.ByName(protoreflect.Name(name)); message.Fields().ByName("trial") != nil {
			t.Errorf("%s names a trial, which the host would have to believe", name)
		}
	}
}

func TestWrongArchitecture(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file is an ELF executable")
	}
	// A header of an ELF executable for a machine that nobody has.
	elf := make([]byte, 4096)
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[16], elf[18], elf[19], elf[20] = 2, 0xfe, 0xca, 1
	path := filepath.Join(t.TempDir(), "sweepbook-engine-fake")
	if err := os.WriteFile(path, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"another machine": elf, "no executable at all": []byte("hello\n")} {
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := (&Host{}).Start(t.Context(), Spec{Name: "fake", Path: path})
		if !errors.Is(err, ErrNotExecutable) || !strings.Contains(err.Error(), "built for another system or processor") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
