package serving_test

import (
	"os"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// The proof of a cause is the exception, not the code that a traceback quotes.
func TestProofIsNoQuotedCode(t *testing.T) {
	text, err := os.ReadFile("testdata/failures/34-gated-behind-frames.auth.log")
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo().Diagnose(t.Context(), core.DiagnoseRequest{LogTail: string(text), ExitCode: 1, Phase: "load"})
	if err != nil || d.Line != "huggingface_hub.errors.GatedRepoError: 403 Client Error." {
		t.Errorf("%+v, %v", d, err)
	}
}
