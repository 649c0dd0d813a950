// Package core holds the nouns of Sweepbook: what a study asks, what is
// launched, what is measured and what is said of the result. It is plain data
// with the standard library only; nothing here opens a file, a socket or a
// database.
//
// One noun lives in one file. The way of a value through the program is
//
//	Study -> Config -> Plan -> Launch -> Sample -> Trial -> Finding -> Answer
//
// and every package that stores, measures, imports or queries speaks in these
// types. Missing is never 0 and never false: a figure that was not measured is
// absent from [Figures], and a [Value] of [KindMissing] answers for it.
package core
