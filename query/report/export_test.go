package report

import "github.com/sweepbook/sweepbook/query/chart"

// Figure is what one of the charts shows.
func (r *Report) Figure(file string) chart.Figure { return r.figures[file] }
