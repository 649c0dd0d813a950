// Package chart draws pictures of query answers, as PNG or SVG: bars, before and after,
// the waterfall of a search, curves over a load or knob, frontiers, scatters, histories
// over versions, and of single requests how a latency spreads and what happened when. It
// is the only importer of go-chart, and uses that library for its renderers and its
// built-in font alone: the layout is ours, since go-chart's own bar chart starts its bars
// at the smallest value, hangs on a missing one and refuses a single one.
//
//	query.Answer -> FromAnswer -> Figure -> Render -> bytes
//	query.Answer, Requests -> FromRequests -> Figure -> Render -> bytes
//
// A Figure holds everything that is drawn as plain values: medians and the ends of
// whiskers, the front, the place at which a limit breaks, the changes that are no noise.
// Render only lays it out, so that the marks of a picture can be held against a text.
//
// A picture shows nothing that the answer does not hold. What cannot be drawn (a
// missing value, a row beyond the space, a label without room) is named in the footer,
// together with the query, the history and the number of trials it was asked of. The
// file says the same in its metadata, with the numbers of the trials. Equal figures give
// equal bytes. An SVG carries the letters of the font that it uses, so that it looks as
// the PNG does.
package chart
