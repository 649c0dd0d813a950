package chart

import (
	"cmp"
	"math"
	"slices"
)

// byName makes a cloud of each label where few labels name many dots, so that the
// legend says it once.
func byName(all []Cloud) []Cloud {
	var out []Cloud
	at := map[string]int{}
	for _, dot := range all[0].Dots {
		k, seen := at[dot.Label]
		if !seen {
			k = len(out)
			at[dot.Label] = k
			out = append(out, Cloud{Name: dot.Label})
		}
		dot.Label = ""
		out[k].Dots = append(out[k].Dots, dot)
	}
	if n := len(out); n < 2 || n > mostSeries || 2*len(all[0].Dots) < 3*n {
		return all
	}
	return out
}

// front marks the dots that no other beats, and the clouds that have none. Equal dots
// are all on the front. A void figure decides nothing: it neither is on the front nor
// beats anything.
func front(f *Figure) {
	var dots []*Dot
	for i := range f.Clouds {
		for j := range f.Clouds[i].Dots {
			if dot := &f.Clouds[i].Dots[j]; !dot.Void {
				dots = append(dots, dot)
			}
		}
	}
	x := func(d *Dot) float64 { return d.X.Num * float64(f.Cloud.XBetter) }
	y := func(d *Dot) float64 { return d.Y.Num * float64(f.Better) }
	slices.SortStableFunc(dots, func(a, b *Dot) int { return cmp.Or(compareFloat(x(b), x(a)), compareFloat(y(b), y(a))) })
	best := math.Inf(-1) // y of the dots that are better in x
	for i := 0; i < len(dots); {
		first := i
		for ; i < len(dots) && x(dots[i]) == x(dots[first]); i++ {
			dots[i].Front = y(dots[i]) == y(dots[first]) && y(dots[i]) > best
		}
		best = math.Max(best, y(dots[first]))
	}
	for i, c := range f.Clouds {
		f.Clouds[i].Dominated = slices.ContainsFunc(c.Dots, func(d Dot) bool { return !d.Void }) && !slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Front })
	}
}

// bestWithin marks the dots that keep the limit and are the best of these in the value
// that it does not limit.
func bestWithin(f *Figure) {
	if f.Limit == nil {
		return
	}
	value, direction := func(d *Dot) (limited, other float64) { return d.X.Num, d.Y.Num }, float64(f.Better)
	if f.Limit.Column != f.Cloud.X {
		value, direction = func(d *Dot) (limited, other float64) { return d.Y.Num, d.X.Num }, float64(f.Cloud.XBetter)
	}
	best := math.Inf(-1)
	for _, mark := range []bool{false, true} {
		for i := range f.Clouds {
			for j := range f.Clouds[i].Dots {
				d := &f.Clouds[i].Dots[j]
				limited, other := value(d)
				switch {
				case d.Void || !f.Limit.Keeps(limited):
				case mark:
					d.Best = other*direction == best
				default:
					best = math.Max(best, other*direction)
				}
			}
		}
	}
}
