package core

import (
	"cmp"
	"time"
)

// Study is a named question: which configuration of which engines serves this
// model on this hardware best. It is made from a study file.
type Study struct {
	Name      string            `json:"name"`
	Model     string            `json:"model"`
	Hardware  Hardware          `json:"hardware"`
	Engines   map[string]Origin `json:"engines"` // by engine name
	Tools     map[string]Origin `json:"tools,omitempty"`
	Workloads []NamedWorkload   `json:"workloads"`
	Objective string            `json:"objective"` // a query
	DecideOn  string            `json:"decide_on"` // the workload that stages are judged on
	Baseline  Config            `json:"baseline"`
	Stages    []Stage           `json:"stages"`
	Search    Search            `json:"search,omitzero"`
	Verify    Verify            `json:"verify"`
	Run       RunRules          `json:"run"`
	// Accept are the audit's rules whose findings bar no figure of the study, "E7".
	Accept []string `json:"accept,omitempty"`
}

// Hardware is what a study is meant for.
type Hardware struct {
	GPU           string  `json:"gpu,omitempty"`
	GPUs          int     `json:"gpus,omitempty"`
	USDPerGPUHour float64 `json:"usd_per_gpu_hour,omitempty"`
}

// Origin says where an engine comes from: exactly one of the forms, or a version
// found on the path.
type Origin struct {
	Version string `json:"version,omitempty"`
	Image   string `json:"image,omitempty"`
	Venv    string `json:"venv,omitempty"`
	Cmd     string `json:"cmd,omitempty"`
	URL     string `json:"url,omitempty"`
}

// NamedWorkload is a workload of a study with the loads that it is asked at. The
// loads run one after the other on one launch: a curve.
type NamedWorkload struct {
	Workload Workload `json:"workload"`
	Loads    []Load   `json:"loads"`
	// Tool measures in place of Sweepbook's own ruler: "vllm-bench", …
	Tool string `json:"tool,omitempty"`
	// Goodput are upper limits of a request's figures by name, in milliseconds.
	Goodput map[string]float64 `json:"goodput,omitempty"`
}

// Verify says which configurations are measured on which workloads at the end.
type Verify struct {
	Configs   []string `json:"configs,omitempty"`   // "baseline", "winner"
	Workloads []string `json:"workloads,omitempty"` // names; nil means none
}

// RunRules are how a study is carried out.
type RunRules struct {
	Secrets        []string      `json:"secrets,omitempty"` // names only
	WarmupRequests string        `json:"warmup_requests,omitempty"`
	ReadyTimeout   time.Duration `json:"ready_timeout"`
	TrialTimeout   time.Duration `json:"trial_timeout"`
	StallTimeout   time.Duration `json:"stall_timeout,omitempty"` // of a stream that brings nothing, see Stall
	Repeats        int           `json:"repeats"`
	GPUHours       float64       `json:"gpu_hours,omitempty"` // budget; 0 is none
	Trials         int           `json:"trials,omitempty"`    // budget of measured trials; 0 is none
	// Parallel is how many launches may be in progress at once, each on GPUs of its own;
	// 0 and 1 are one.
	Parallel    int           `json:"parallel,omitempty"`
	Retries     int           `json:"retries"`                // further attempts after an infrastructure failure
	StopTimeout time.Duration `json:"stop_timeout,omitempty"` // between TERM and KILL of a server; 0 is 30 s
	GPU         GPURules      `json:"gpu,omitzero"`
	// Reuse takes over what other studies measured on an equal setup, no longer ago than
	// MaxAge.
	Reuse  bool          `json:"reuse,omitempty"`
	MaxAge time.Duration `json:"max_age,omitempty"`
}

// StallAfter is how long a stream may bring nothing where nobody says otherwise.
const StallAfter = time.Minute

// Stall is how long a stream may bring nothing.
func (r RunRules) Stall() time.Duration { return cmp.Or(r.StallTimeout, StallAfter) }

// GPURules say what else may be on the GPUs of a launch.
type GPURules struct {
	// MaxUsedMiB is how much memory of a GPU may be in use before a launch; missing is
	// the default of 1024 MiB.
	MaxUsedMiB Value `json:"max_used_mib,omitzero"`
	// Neighbours allows other processes, whatever they hold; the trials are marked.
	Neighbours bool `json:"neighbours,omitempty"`
	// FreeWithin is how long memory may take to come free after a server's end; zero
	// is two minutes.
	FreeWithin time.Duration `json:"free_within,omitempty"`
}
