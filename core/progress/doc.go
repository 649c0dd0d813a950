// Package progress is how a run tells of itself while it goes on: to a person at a
// terminal, to a program that reads its lines, and to other processes on the same
// machine.
//
// An [Event] is one step of a run, and one line of `run --progress ndjson`. A [State]
// is what all events so far come to: where the run is, what it found, what is left.
// [Journal] keeps both in files beside the history, with a heartbeat, and [Follow]
// reads them from another process. [Line] says an event in a line, [Frame] draws a
// state for a terminal.
//
// Nothing depends on these files: a history holds what was measured, and a study is
// resumed from it alone. Losing them loses sight of a run, not the run.
package progress
