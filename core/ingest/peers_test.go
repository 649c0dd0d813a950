package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// TestPeers reads self-made files of the shapes that other load generators write,
// a folder a tool: one trial a run, however many files a run has.
func TestPeers(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "peers"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			root := filepath.Join("testdata", "peers", folder.Name())
			var got strings.Builder
			err := ingest.Walk(t.Context(), []string{root}, able(), func(path string, res ingest.Result) error {
				checkAccount(t, path, res)
				rel, _ := filepath.Rel(root, path)
				fmt.Fprintf(&got, "# %s\n%s", filepath.ToSlash(rel), describeAll(res, true))
				for _, tr := range res.Trials {
					for _, s := range res.Samples[tr.ID] {
						fmt.Fprintf(&got, "  request %d: due %s sent %s first %s last %s end %s, %d chunks, %d/%d/%d tokens, %s %q\n", s.Index, moment(s.Due), moment(s.Sent),
							moment(s.First), moment(s.Last), moment(s.End), len(s.Chunks), s.InputTokens, s.OutputTokens, s.RequestedOutput, s.Outcome, s.Error)
					}
				}
				for _, w := range res.Warnings {
					fmt.Fprintf(&got, "warning %s\n", w)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "peers-"+folder.Name()+".txt", got.String())
		})
	}
}

// moment gives an offset in milliseconds, "-" for one that never came.
func moment(at time.Duration) string {
	if at == core.NoTime {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(at)/1e6)
}
