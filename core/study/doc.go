// Package study reads study files and carries them out: it proposes
// configurations, launches them, measures them and records every trial.
//
// A study file becomes a [core.Study]; [Outline] prints what would run; a
// [Runner] runs it. The runner knows no database, no plugin and no query: it
// declares the small Store, Judge and Process interfaces that it needs, and the
// command line wires them. What the file says is frozen before the first launch,
// so that what is printed is what runs and what is stored.
//
// What is tried next is a strategy's business: stages, a grid, a draw, a list, a model. It
// asks a lab to try configurations and to compare them, and is a pure function of
// the study and of what was measured; the Runner is one lab, and a landscape in the
// tests another. Among configurations the one that was there stays, unless another
// is better beyond the noise of repeats (see choose).
//
// Running a study again is how it is resumed: a trial that ended is never run
// twice, one that was lost or aborted is run again as its next attempt.
package study
