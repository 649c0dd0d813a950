package load

import "github.com/sweepbook/sweepbook/core"

// Preset is a workload and load that published results were measured with.
type Preset struct {
	Name     string
	Doc      string
	Workload core.Workload
	Load     core.Load
}

// Presets lists the workloads of published tuning reports with their exact
// parameters, so that a measurement can stand beside them. Where the tool of the
// report forces the output length (guidellm's synthetic data), ignore_eos is true;
// where it did not (vllm bench serve before November 2025), it is not set. A preset
// of the sharegpt data set needs the path of the file.
func Presets() []Preset {
	n := core.Number
	random := func(name string, in, out float64, ignore core.Value) core.Workload {
		return core.Workload{Name: name, Dataset: randomSet, InputLen: n(in), OutputLen: n(out), IgnoreEOS: ignore, Turns: n(1), Endpoint: "chat"}
	}
	sharegpt := func(name string) core.Workload {
		return core.Workload{Name: name, Dataset: shareGPTSet, Path: "ShareGPT_V3_unfiltered_cleaned_split.json", Turns: n(1), Endpoint: "chat"}
	}
	rate := func(rate, requests, seed float64) core.Load {
		l := core.Load{RequestRate: n(rate), NumPrompts: n(requests), Concurrency: core.Unlimited()}
		if seed >= 0 {
			l.Seed = n(seed)
		}
		return l
	}
	atOnce := func(requests, seed float64) core.Load {
		l := rate(0, requests, seed)
		l.RequestRate = core.Unlimited()
		return l
	}
	limited := func(concurrency, requests float64) core.Load {
		return core.Load{Concurrency: n(concurrency), RequestRate: core.Unlimited(), NumPrompts: n(requests)}
	}
	forced, free := core.Bool(true), core.Missing()
	return []Preset{
		{"sharegpt", "1000 ShareGPT questions at 1000 a second", sharegpt("sharegpt"), rate(1000, 1000, -1)},
		{"throughput", "random 1024/128, 1000 requests at 1000 a second", random("throughput", 1024, 128, forced), rate(1000, 1000, 42)},
		{"long-context", "random 32000/100, 100 requests at 1 a second", random("long-context", 32000, 100, forced), rate(1, 100, 42)},
		{"generation", "random 1000/2000, 200 requests at 1 a second", random("generation", 1000, 2000, forced), rate(1, 200, 42)},
		{"sharegpt-at-once", "1000 ShareGPT questions all at once", sharegpt("sharegpt-at-once"), atOnce(1000, -1)},
		{"short", "random 128/4, 1000 requests all at once", random("short", 128, 4, free), atOnce(1000, 42)},
		{"medium", "random 2000/100, 500 requests all at once", random("medium", 2000, 100, free), atOnce(500, 42)},
		{"long", "random 4000/200, 500 requests all at once", random("long", 4000, 200, free), atOnce(500, 42)},
		{"very-long", "random 32000/100, 100 requests all at once", random("very-long", 32000, 100, free), atOnce(100, 42)},
		{"sharegpt-1", "100 ShareGPT questions, 1 in flight", sharegpt("sharegpt-1"), limited(1, 100)},
		{"sharegpt-2", "100 ShareGPT questions, 2 in flight", sharegpt("sharegpt-2"), limited(2, 100)},
		{"sharegpt-4", "100 ShareGPT questions, 4 in flight", sharegpt("sharegpt-4"), limited(4, 100)},
		{"sharegpt-8", "100 ShareGPT questions, 8 in flight", sharegpt("sharegpt-8"), limited(8, 100)},
	}
}
