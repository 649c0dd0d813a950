// Package manifest makes engines without code: a YAML file says how an engine's
// command is written, which environment it gets, how its knobs are spelled, when it
// is ready and what its failures look like. [Read] turns the file into an [Engine],
// which is a core.Engine like any adapter; what a file cannot say (reading settings
// back from a log, asking a server for its own view) needs an adapter in code.
//
//	NAME.engine.yaml --file.go--> Manifest --plan.go--> core.Plan
//
// Watching the start, naming a failure and measuring are those of plugins/serving.
// Every fault of a file is a [FileError] at a line and column, and unknown keys are
// faults: a misspelled flag must not become a measurement of something else.
package manifest
