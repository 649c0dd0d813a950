package ingest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// collector gathers what a format reads. Identity waits for the end, because a
// source is named by the digest of the whole file.
type collector struct {
	file     string
	around   *surroundings
	records  []record
	kept     []core.Record // that bring their own identity
	quality  []Quality     // of evaluations, no records
	studies  []core.StudyVersion
	skipped  []Note
	errors   []Note
	warnings []Note
	// Of the records that were met, those that are no trial.
	met, left, rejected int
	size                int // of what the records hold, about, in bytes
}

type record struct {
	trial   *core.Trial
	src     core.Source
	samples []core.Sample
	study   string // where neither the source nor a person names one
	copyKey string // equal for copies of one record in the files of a sweep
	summary bool   // it stands in a sweep's summary
	// identity names a trial of another history for all time; "" where the figures do.
	identity string
}

// maxNotes keeps a file of a million broken records from filling memory.
const maxNotes = 1000

// begin counts a record that was met. Each then ends in add, keep, leave or fail.
func (c *collector) begin() { c.met++ }

func (c *collector) add(t *core.Trial, src core.Source) { c.addRecord(record{trial: t, src: src}) }

// The memory that the records of one file may take, about, in bytes: a hundred
// thousand trials with their texts, or sixty million moments of requests.
const (
	maxHeld   = 512 << 20
	trialSize = 4 << 10
)

// addRecord takes a record while there is room. Requests are left out before
// trials are.
func (c *collector) addRecord(r record) {
	size := trialSize + len(r.src.Raw)
	requests := 0
	for _, s := range r.samples {
		requests += 160 + 8*len(s.Chunks)
	}
	switch {
	case c.size+size > maxHeld:
		if c.size <= maxHeld {
			c.note(&c.errors, 0, fmt.Sprintf("more than %d MiB of records in one file: split it and import the parts; %d are kept", maxHeld>>20, len(c.records)))
			c.size = maxHeld + 1
		}
		c.rejected++
		return
	case c.size+size+requests > maxHeld:
		c.warn(0, "record at "+r.src.Position+": its requests are left out, the file holds too many")
		r.samples = nil
	default:
		size += requests
	}
	c.size += size
	c.records = append(c.records, r)
}

// keep takes a trial over as it is, with its id and sources.
func (c *collector) keep(rec core.Record) { c.kept = append(c.kept, rec) }

// keepStudy takes the definition of a study over. It is no record: nothing was
// measured.
func (c *collector) keepStudy(s core.StudyVersion, line int) {
	var study core.Study
	if err := json.Unmarshal(s.Resolved, &study); err != nil || s.Name == "" || study.Name != s.Name {
		c.note(&c.errors, line, fmt.Sprintf("definition of study %q: not readable", s.Name))
		return
	}
	c.studies = append(c.studies, s)
}

// skip tells of something that is no record: a file without one, a row.
func (c *collector) skip(line int, message string) { c.note(&c.skipped, line, message) }

// leave tells of a record that was understood and is no result.
func (c *collector) leave(line int, message string) {
	c.left++
	c.skip(line, message)
}

// fail tells of a record that should have been read and could not be.
func (c *collector) fail(line int, message string) {
	c.rejected++
	c.note(&c.errors, line, message)
}

// warn tells of something odd in a record that was read.
func (c *collector) warn(line int, message string) { c.note(&c.warnings, line, message) }

func (c *collector) note(to *[]Note, line int, message string) {
	if len(*to) < maxNotes {
		*to = append(*to, Note{c.file, line, message})
	}
}

// finish completes every trial: surroundings, source, derived figures, status and id.
func (c *collector) finish(sha256 string, opt Options) Result {
	res := Result{}
	if opt.Study == "" { // under another name it is another study
		res.Studies = c.studies
	}
	for _, rec := range c.kept {
		if opt.Study != "" {
			rec.Trial.Study = opt.Study
		}
		res.add(rec.Trial, rec.Samples)
	}
	positions := map[string]int{}
	copies := 0
	for _, r := range c.records {
		t, src := r.trial, r.src
		src.File, src.SHA256, src.Imported = c.file, sha256, opt.Now
		// Pieces of one physical line (a file with carriage returns only) share a
		// line number; a position names one record.
		positions[src.Position]++
		if n := positions[src.Position]; n > 1 {
			src.Position = fmt.Sprintf("%s, record %d", src.Position, n)
		}
		if t.Study == "" {
			t.Study = c.studyName(r)
		}
		for _, w := range c.around.complete(t) {
			c.warn(0, "record at "+src.Position+": "+w)
		}
		if opt.Study != "" {
			t.Study = opt.Study
		}
		if t.Status == "" {
			t.Status = core.StatusOK
		}
		dropUndefined(t)
		t.Derive()
		if t.ID = importID(t, src); r.identity != "" {
			t.ID = core.HashID(r.identity)
		}
		t.Sources = []core.Source{src}
		if err := t.Validate(); err != nil {
			c.fail(0, fmt.Sprintf("record at %s: %v", src.Position, err))
			continue
		}
		if c.around.isCopy(r) {
			copies++
			continue
		}
		res.add(t, r.samples)
	}
	if copies > 0 {
		c.left += copies
		what := "%d records are copies of what the run files of the sweep gave"
		if copies == 1 {
			what = "%d record is a copy of what a run file of the sweep gave"
		}
		c.skip(0, fmt.Sprintf(what, copies))
	}
	res.Skipped, res.Errors, res.Warnings, res.Quality = c.skipped, c.errors, c.warnings, c.quality
	res.Records, res.Left, res.Rejected = c.met, c.left, c.rejected
	return res
}

// importID is the trial's identity by its figures. A tool that says when it wrote
// its result tells two runs apart whose figures happen to agree.
func importID(t *core.Trial, src core.Source) core.ID {
	id := t.ImportID(src)
	if !t.EndedAt.IsZero() {
		return core.HashID(id.String() + " ended " + t.EndedAt.UTC().Format(time.RFC3339))
	}
	return id
}

// studyName names a study after what holds the record: the sweep, the folder that
// was named where its files hold one record each, else the file.
func (c *collector) studyName(r record) string {
	if r.study != "" {
		return r.study
	}
	if folder := c.around.folder(); folder != "" && len(c.records) == 1 && r.src.Format != servingBlock {
		return folder
	}
	return stem(c.file)
}

func (r *Result) add(t *core.Trial, samples []core.Sample) {
	r.Trials = append(r.Trials, t)
	if len(samples) > 0 {
		if r.Samples == nil {
			r.Samples = map[core.ID][]core.Sample{}
		}
		r.Samples[t.ID] = samples
	}
}
