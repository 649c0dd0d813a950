package enginetest_test

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

func TestFakeConforms(t *testing.T) {
	enginetest.Conformance(t, &enginetest.Fake{}, enginetest.Options{Unknown: "colour", MustBenchmark: true})
}

func TestFakeNames(t *testing.T) {
	info, err := enginetest.New(t, &enginetest.Fake{Name: "other"}).Info(t.Context())
	if err != nil || info.Name != "other" || len(info.Knobs) == 0 || info.Knobs[0].Default != core.Number(256) {
		t.Errorf("got %+v, %v", info, err)
	}
}
