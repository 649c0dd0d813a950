package ingest

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// collector gathers what a format reads. Identity waits for the end, because a
// source is named by the digest of the whole file.
type collector struct {
	file    string
	records []record
	kept    []core.Record // that bring their own identity
	skipped []Note
	errors  []Note
}

type record struct {
	trial *core.Trial
	src   core.Source
}

// maxNotes keeps a file of a million broken records from filling memory.
const maxNotes = 1000

func (c *collector) add(t *core.Trial, src core.Source) {
	c.records = append(c.records, record{t, src})
}

// keep takes a trial over as it is, with its id and sources.
func (c *collector) keep(rec core.Record) { c.kept = append(c.kept, rec) }

func (c *collector) skip(line int, message string) {
	if len(c.skipped) < maxNotes {
		c.skipped = append(c.skipped, Note{c.file, line, message})
	}
}

func (c *collector) fail(line int, message string) {
	if len(c.errors) < maxNotes {
		c.errors = append(c.errors, Note{c.file, line, message})
	}
}

// finish completes every trial: source, derived figures, status and id.
func (c *collector) finish(sha256 string, opt Options) Result {
	res := Result{Skipped: c.skipped, Errors: c.errors}
	for _, rec := range c.kept {
		if opt.Study != "" {
			rec.Trial.Study = opt.Study
		}
		res.Trials = append(res.Trials, rec.Trial)
		if len(rec.Samples) > 0 {
			if res.Samples == nil {
				res.Samples = map[core.ID][]core.Sample{}
			}
			res.Samples[rec.Trial.ID] = rec.Samples
		}
	}
	positions := map[string]int{}
	for _, r := range c.records {
		t, src := r.trial, r.src
		src.File, src.SHA256, src.Imported = c.file, sha256, opt.Now
		// Pieces of one physical line (a file with carriage returns only) share a
		// line number; a position names one record.
		positions[src.Position]++
		if n := positions[src.Position]; n > 1 {
			src.Position = fmt.Sprintf("%s, record %d", src.Position, n)
		}
		if opt.Study != "" {
			t.Study = opt.Study
		}
		if t.Status == "" {
			t.Status = core.StatusOK
		}
		t.Derive()
		t.ID = t.ImportID(src)
		t.Sources = []core.Source{src}
		if err := t.Validate(); err != nil {
			res.Errors = append(res.Errors, Note{c.file, 0, fmt.Sprintf("record at %s: %v", src.Position, err)})
			continue
		}
		res.Trials = append(res.Trials, t)
	}
	return res
}
