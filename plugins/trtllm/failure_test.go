package trtllm_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/trtllm"
)

func TestFailures(t *testing.T) {
	servingtest.Failures(t, trtllm.New(), "testdata/failures", "../serving/testdata/failures")
}
