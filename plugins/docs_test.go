package plugins_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/plugins/proto"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/plugins.md")

const guide = "../docs/plugins.md"

// TestProtocolDocs keeps the guide's tables of the protocol those of engine.proto.
func TestProtocolDocs(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- protocol: made by go test ./plugins -run ProtocolDocs -update -->\n", "<!-- end of protocol -->\n"
	i, j := strings.Index(string(text), begin), strings.Index(string(text), end)
	if i < 0 || j < i {
		t.Fatalf("%s has no place for the protocol", guide)
	}
	want := string(text[:i+len(begin)]) + protocolTables(t, string(proto.Engine)) + string(text[j:])
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is behind; run the test with -update:\n%s", guide, diff)
	}
}

var (
	openLine  = regexp.MustCompile(`^(message|enum|service) (\w+) \{(\})?$`)
	fieldLine = regexp.MustCompile(`^((?:repeated |optional )?[\w.]+(?:<[^>]+>)?) (\w+) = \d+;$`)
	valueLine = regexp.MustCompile(`^(\w+) = (\d+);$`)
	rpcLine   = regexp.MustCompile(`^rpc (\w+)\((\w+)\) returns \(((?:stream )?\w+)\);$`)
)

// protocolTables has a table for each message, enumeration and service. Whatever
// has no comment is a fault.
func protocolTables(t *testing.T, text string) string {
	var b strings.Builder
	var comment []string
	said := func(what string) string {
		if len(comment) == 0 {
			t.Errorf("engine.proto: %s has no comment", what)
		}
		out := strings.ReplaceAll(strings.Join(comment, " "), "|", `\|`)
		comment = nil
		return out
	}
	top := ""
	for line := range strings.Lines(text[strings.Index(text, "option go_package"):]) {
		line = strings.TrimSpace(line)
		if note, ok := strings.CutPrefix(line, "//"); ok {
			comment = append(comment, strings.TrimSpace(note))
			continue
		}
		if m := openLine.FindStringSubmatch(line); m != nil {
			top = m[2]
			fmt.Fprintf(&b, "\n**%s**: %s\n", top, said(top))
			if m[3] == "" {
				head := map[string]string{"message": "| field | type | what |", "enum": "| value | number | what |", "service": "| call | takes and gives | what |"}
				fmt.Fprintf(&b, "\n%s\n| --- | --- | --- |\n", head[m[1]])
			}
			continue
		}
		if m := rpcLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "| `%s` | %s → %s | %s |\n", m[1], m[2], m[3], said(m[1]))
		} else if m := valueLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m[1], m[2], said(m[1]))
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m[2], m[1], said(top+"."+m[2]))
		} else if line != "" && line != "}" && !strings.HasPrefix(line, "option ") && !strings.HasPrefix(line, "oneof ") {
			t.Errorf("engine.proto: a line that the guide cannot show: %s", line)
		}
		if line == "" {
			comment = nil
		}
	}
	return b.String() + "\n"
}
