// Package stats holds the few statistics that Sweepbook computes itself. It
// imports nothing of Sweepbook, so that every layer may use it.
//
// Beside quantiles, moments and intervals it says whether one sample differs from
// another (see [Compare]): by ranks where there are enough values, else by the noise of
// repeats elsewhere, else by an assumed tolerance, and always by which of these. That it
// cannot be told is an answer.
//
// Each function states its definition and where it comes from, because the same
// word means different things in different tools: percentiles here are numpy's
// linear ones, the standard deviation is the population's. Where the data cannot
// answer (no values, a value that is not finite) a function says so with ok ==
// false; it never returns 0 or NaN in place of an answer.
package stats
