package ingest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// format is one kind of content. A new kind is one more entry in formats.
type format struct {
	name     string
	looksFor string // completes "looked for …"; "" where another entry says it
	// match reports whether the content is of this kind, from its first bytes
	// (UTF-8) and the source's name and options.
	match func(head []byte, in *input) bool
	read  func(in *input, out *collector) error

	// A kind of JSON object has these two instead: is tells the kind by the keys of
	// an object, object makes a record of one. Objects of several kinds may stand
	// in one file.
	is     func(o *object) bool
	object func(r *objectReader, o *object)

	// A kind of SQLite file has these two: holds tells it by its tables.
	holds    func(db *database) bool
	database func(db *database, in *input, out *collector) error
}

// servingBlock is the format of printed text.
const servingBlock = "serving-block"

// formats lists the kinds in the order in which they are tried: the special ones
// first, text that is nothing more special last.
func formats() []format {
	return []format{
		{
			name:     "records",
			looksFor: `exports of sweepbook ("sweepbook":1 in each line)`,
			match: func(head []byte, _ *input) bool {
				return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(`{"sweepbook":`))
			},
			read: readRecords,
		},
		{name: "sqlite", looksFor: "SQLite files of evalscope perf, MLflow and Optuna", match: isSQLite, read: readSQLite},
		{name: "evalscope-sqlite", holds: holdsEvalscope, database: readEvalscopeRequests},
		{name: "optuna-sqlite", holds: holdsOptuna, database: readOptuna},
		{name: "mlflow-sqlite", holds: holdsMLflow, database: readMLflow},
		{name: "mlflow-run", looksFor: "runs of MLflow in folders", match: isMLflowMeta, read: readMLflowRun},
		{name: "office", match: isOffice, read: skipOffice},
		{name: "vllm-pytorch-twin", match: isTwin, read: skipTwin},
		{name: "vllm-sweep-failure", is: isSweepFailure, object: readSweepFailure},
		{name: "lm-eval", is: isLMEval, object: readLMEval},
		{name: "llm-optimizer-jsonl", is: isLLMOptimizer, object: readLLMOptimizer},
		{name: "guidellm-json", is: isGuidellmReport, object: readGuidellmReport},
		{name: "aiperf-requests", is: isAIPerfRequest, object: readAIPerfRequest},
		{name: "aiperf-json", is: isAIPerfSummary, object: readAIPerfSummary},
		{name: "genai-bench-json", is: isGenAIBench, object: readGenAIBench},
		{name: "genai-bench-experiment", is: isGenAIBenchExperiment, object: skipGenAIBenchExperiment},
		{name: "trtllm-bench-json", is: isTRTLLMBench, object: readTRTLLMBench},
		{name: "inference-perf-json", is: isInferencePerf, object: readInferencePerf},
		{name: "inference-perf-requests", is: isInferencePerfRequest, object: readInferencePerfRequest},
		{name: "inferencex-json", is: isInferenceX, object: readInferenceX},
		{name: "llm-d-report", is: isLLMDReport, object: readLLMDReport},
		{name: "evalscope-json", is: isEvalscope, object: readEvalscope},
		{name: "evalscope-beside", is: isEvalscopeBeside, object: skipEvalscopeBeside},
		{name: "trtllm-json", is: isTRTLLMResult, object: readTRTLLMResult},
		{name: "sglang-jsonl", is: isSGLangResult, object: readSGLangResult},
		{name: "vllm-json", is: isVLLMResult, object: readVLLMResult},
		{name: "json", looksFor: "result JSON of vllm bench serve and sweep, sglang.bench_serving, TensorRT-LLM benchmark_serving, guidellm, AIPerf, GenAI-Perf, genai-bench, trtllm-bench, inference-perf, evalscope perf, InferenceX, llm-d-benchmark, llm-optimizer and lm-eval", match: looksLikeJSON, read: readObjects},
		{name: "yaml", looksFor: "benchmark reports of llm-d as YAML", match: looksLikeReportYAML, read: readYAML},
		{name: "trtllm-bench-text", looksFor: "printed reports of trtllm-bench", match: isTRTLLMBenchText, read: readTRTLLMBenchText},
		{name: "aiperf-csv", match: isAIPerfCSV, read: readAIPerfCSV},
		{name: "table", looksFor: "CSV and Markdown tables with a known column", match: looksLikeTable, read: readTable},
		{
			name:     servingBlock,
			looksFor: `printed "Serving Benchmark Result" blocks (vllm bench serve, sglang.bench_serving, TensorRT-LLM benchmark_serving, guidellm reprints)`,
			match:    func(head []byte, _ *input) bool { return looksLikeText(head) },
			read:     readServingBlocks,
		},
	}
}

// Formats lists the names that Options.Format takes.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

func unknownFormat(name string) error {
	return fmt.Errorf("format %q: %w: known are %s", name, core.ErrInvalid, strings.Join(Formats(), ", "))
}

// chooseFormat gives the forced format, the one that matches, or nil.
func chooseFormat(in *input) (*format, error) {
	all := formats()
	if forced := in.forced(); forced != "" {
		for i := range all {
			if all[i].name == forced {
				return all[i].whole(), nil
			}
		}
		return nil, unknownFormat(forced)
	}
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].match != nil && all[i].match(head, in) {
			return &all[i], nil
		}
	}
	return nil, nil
}

// whole is a format that reads a file of nothing but this kind.
func (f format) whole() *format {
	if f.object != nil {
		kind := f
		f.read = func(in *input, out *collector) error { return readObjectsAs(&kind, in, out) }
	}
	if f.database != nil {
		kind := f
		f.read = func(in *input, out *collector) error { return readSQLiteAs(&kind, in, out) }
	}
	return &f
}

func lookedFor() string {
	var what []string
	for _, f := range formats() {
		if f.looksFor != "" {
			what = append(what, f.looksFor)
		}
	}
	return strings.Join(what, "; ")
}
