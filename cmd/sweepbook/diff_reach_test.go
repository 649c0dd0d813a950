package main

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// The questions of the differential test reach the whole language: every verb, clause,
// function and operator stands in some of a few thousand.
func TestQuestionsReachTheLanguage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var texts []string
	for range 20_000 {
		texts = append(texts, question(r))
	}
	for _, part := range []string{
		`^max `, `^min `, `^pareto `, `^show `, `^count`, `^first `, `^last `, `^at `, `^change `,
		` where `, ` by `, ` per setup`, ` per config`, ` vs `, ` on `, ` having `, ` over `, ` weights \{`, ` top \d`, ` prefer `,
		` within \d+%`, ` within noise`, ` order by `, ` desc`, ` limit \d`, ` along `, ` as c\d`,
		`missing\(`, `known\(`, `bin\(`, `now\(\)`, `days\(`, `sound\(`, `base\(`, `gain\(`, `\bgain\b`, `attained\(`, `goodput\(`,
		`mean\(`, `median\(`, `min\(`, `max\(`, `sum\(`, `\bp\(`, `stdev\(`, `count\(`, `all\(`, `any\(`, `\bn\b`, `failed_repeats`,
		` \+ `, ` - `, ` \* `, ` / `, ` % `, ` \*\* `, ` == `, ` != `, ` < `, ` <= `, ` > `, ` >= `, ` in \[`, ` not in \[`, ` and `, ` or `, `not \(`,
		` \? `, ` \?\? `, ` matches `, ` contains `, ` startsWith `, ` endsWith `, `unlimited`, `args\.`, `passed\.`, `extra\.`, `quality\.`,
		`engine_version (<|>=) "`, `started_at < "`, `_per_gpu`, `p75_`,
	} {
		pattern, n := regexp.MustCompile(part), 0
		for _, text := range texts {
			if pattern.MatchString(text) {
				n++
			}
		}
		if n < 20 {
			t.Errorf("%s: in %d of %d questions", part, n, len(texts))
		}
	}
}
