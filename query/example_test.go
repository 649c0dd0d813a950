package query_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// measured is a history of four trials for the examples.
func measured() memory {
	one := func(number int64, engine string, concurrency, tps, ttft, completed float64) *core.Trial {
		t := &core.Trial{ID: core.ID{15: byte(number)}, Number: number, Study: "engines", Status: core.StatusOK}
		t.Setup.Config.Engine = engine
		t.Load.Concurrency = core.Number(concurrency)
		t.Figures = core.Figures{"total_tps": tps, "p99_ttft_ms": ttft, "requested": 100, "completed": completed}
		t.Derive()
		return t
	}
	return memory{one(1, "vllm", 8, 2000, 90, 100), one(2, "vllm", 64, 9000, 400, 100), one(3, "sglang", 8, 2100, 80, 100), one(4, "sglang", 64, 9900, 350, 51)}
}

func show(text string, columns ...string) {
	a, err := query.Run(context.Background(), measured(), text, query.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range a.Rows {
		var cells []string
		for i, c := range a.Columns {
			if slices.Contains(columns, c.Name) {
				cells = append(cells, row[i].String())
			}
		}
		fmt.Println(strings.Join(cells, " "))
	}
	fmt.Println(a.Considered, "considered,", a.Excluded.Where, "left out by where")
}

// The winner is the best of the trials that pass the gate; the fastest trial of all
// lost half of its requests.
func ExampleRun() {
	show("max total_tps where success_rate == 1", "engine", "total_tps")
	// Output:
	// 9000 vllm
	// 3 considered, 1 left out by where
}

// A group gets a winner each.
func ExampleRun_by() {
	show("max total_tps where success_rate == 1 by engine", "engine", "total_tps")
	// Output:
	// sglang 2100
	// vllm 9000
	// 3 considered, 1 left out by where
}

// The gain over a baseline compares equal loads.
func ExampleRun_vs() {
	show(`max total_tps where success_rate == 1 and concurrency == 8 vs engine == "vllm" on concurrency`, "total_tps", "gain")
	// Output:
	// 2100 0.05
	// 2 considered, 2 left out by where
}

// Where a limit on latency breaks, along the load.
func ExampleRun_first() {
	show("first p99_ttft_ms > 200 along concurrency by engine", "engine", "concurrency")
	// Output:
	// sglang 64
	// vllm 64
	// 4 considered, 0 left out by where
}

// A mistake is told with its place and the nearest name.
func ExampleRun_mistake() {
	show("max total_tsp")
	// Output:
	// unknown field "total_tsp"; nearest: total_tps
	//   max total_tsp
	//       ^
}
