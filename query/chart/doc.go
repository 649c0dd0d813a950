// Package chart draws pictures of query answers: bars of one value and lines of a
// value over an ordered field, as PNG or SVG. It is the only importer of go-chart,
// and uses that library for its renderers and its built-in font alone: the layout
// is ours, since go-chart's own bar chart starts its bars at the smallest value,
// hangs on a missing one and refuses a single one.
//
//	query.Answer -> FromAnswer -> Figure -> Bar or Lines -> bytes
//
// A picture shows nothing that the answer does not hold. What cannot be drawn (a
// missing value, a row beyond the space) is named in the footer, together with the
// query, the history and the number of trials it was asked of. Equal figures give
// equal bytes.
package chart
