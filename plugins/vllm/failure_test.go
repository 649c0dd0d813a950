package vllm_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/vllm"
)

func TestFailures(t *testing.T) {
	servingtest.Failures(t, vllm.New(), "testdata/failures", "../serving/testdata/failures")
}
