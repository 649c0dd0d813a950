package main

import (
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// TestShown: a share that is nearly all or nearly none does not read as one that is.
func TestShown(t *testing.T) {
	for v, want := range map[float64]string{
		1: "1", 0: "0", 0.5: "0.500", 0.9999: "0.9999", 0.99960: "0.9996", 0.99996: "0.99996", -0.9999: "-0.9999",
		3e-7: "0.0000003", 0.03: "0.0300", 12.345: "12.35", 1234.999: "1235.00",
	} {
		if got := shown(query.Column{}, core.Number(v)); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
}
