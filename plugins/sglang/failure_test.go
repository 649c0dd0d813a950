package sglang_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
	"github.com/sweepbook/sweepbook/plugins/sglang"
)

func TestFailures(t *testing.T) {
	servingtest.Failures(t, sglang.New(), "testdata/failures", "../serving/testdata/failures")
}
