package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// upper is a filter that lets whole lines through, in capitals and with a mark; of
// an unended one after a pause all but the last letter.
func upper() Filter {
	var kept []byte
	return func(data []byte, pause Pause) []byte {
		kept = append(kept, data...)
		end := bytes.LastIndexByte(kept, '\n') + 1
		switch {
		case pause == Quiet && len(kept) > 0:
			end = len(kept) - 1
		case pause == Ended:
			end = len(kept)
		}
		out := bytes.ReplaceAll(bytes.ToUpper(kept[:end]), []byte("\n"), []byte("!\n"))
		kept = append([]byte{}, kept[end:]...)
		return out
	}
}

// Nothing is on file before it went through the filter, an unended line is there in
// the end, and a filter that changes lengths counts as no loss.
func TestLogIsFiltered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	pump, output, err := startPump(path, LogLimits{}.withDefaults(), upper())
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if _, err := syscall.Write(output, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("one\ntw")
	// The end of the line waits for the pause, its last letter for what follows.
	for deadline := time.Now().Add(10 * time.Second); read() != "ONE!\nT"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is on file", read())
		}
	}
	write("o\nend")
	if err := syscall.Close(output); err != nil {
		t.Fatal(err)
	}
	leftOut, lost := pump.finish(10 * time.Second)
	if got := read(); got != "ONE!\nTWO!\nEND" || leftOut != 0 || lost != 0 {
		t.Errorf("%q, %d left out, %d lost", got, leftOut, lost)
	}
}

func TestSecretsOfASpec(t *testing.T) {
	s := Spec{Env: []string{"A=1", "TOKEN=x=y", "AB=2"}, Secrets: []string{"TOKEN", "A", "NONE"}}
	got := s.secrets()
	if len(got) != 2 || got["TOKEN"] != "x=y" || got["A"] != "1" {
		t.Errorf("%v", got)
	}
}
