// Package report writes what a study found as Markdown with pictures, or as one
// HTML file that holds everything. It asks query for every figure and chart for
// every picture, so that a report, a table and a chart of one question cannot
// disagree; it computes nothing but gains between two figures of those answers.
//
//	Build -> Report (a list of blocks) -> Markdown | HTML
//
// Both outputs are made from the same blocks. A report of an imported study, of
// which no definition exists, says what the history holds and leaves out what
// nobody recorded.
package report
