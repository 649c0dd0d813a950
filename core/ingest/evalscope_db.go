package ingest

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// benchmark_data.db of evalscope perf holds a row a request. Its columns with
// prompts (request) and answers (response_messages: pickled Python objects, which
// run code when they are opened) are never selected.

const evalscopeDB = "benchmark_data.db"

func holdsEvalscope(db *database) bool {
	return db.has("result", "start_time", "success", "latency", "completion_tokens") && !db.has("result", "study_id")
}

// readEvalscopeRequests makes a trial of a database that stands alone. Beside the
// summary of its run it gives none: the summary is the record.
func readEvalscopeRequests(db *database, in *input, out *collector) error {
	if in.name == evalscopeDB && in.hasSibling("benchmark_summary.json") {
		out.skip(0, "read with benchmark_summary.json beside it: import that, or the folder")
		return nil
	}
	out.begin()
	d := newDraft("evalscope-sqlite", "evalscope", 1)
	d.position = "table result"
	run, err := evalscopeRequests(db)
	if err != nil {
		return err
	}
	if len(run.samples) == 0 {
		out.leave(0, "table result: no request in it")
		return nil
	}
	in.siblingObjects("benchmark_args.json", d.evalscopeArgs)
	run.give(d, true)
	d.add(out, "")
	return nil
}

// evalscopeRequests reads the rows in the order in which they were sent. Moments
// are in seconds of a clock of their own.
func evalscopeRequests(db *database) (requests, error) {
	var run requests
	const t = "result"
	query := fmt.Sprintf("SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s FROM result ORDER BY start_time LIMIT %d",
		db.orNull(t, "start_time"), db.orNull(t, "completed_time"), db.orNull(t, "success"), db.orNull(t, "latency"), db.orNull(t, "first_chunk_latency"),
		db.orNull(t, "prompt_tokens"), db.orNull(t, "completion_tokens"), db.orNull(t, "inter_token_latencies"), db.orNull(t, "is_stream"), maxRequests+1)
	err := db.each(query, nil, func(row []any) { run.add(evalscopeRequest(row)) })
	return run, err
}

func evalscopeRequest(row []any) core.Sample {
	s := newRequest()
	s.Sent, s.End = unixSeconds(cellNumber(row[0])), unixSeconds(cellNumber(row[1]))
	s.InputTokens, s.OutputTokens = tokensOf(cellNumber(row[5])), tokensOf(cellNumber(row[6]))
	if ok, _ := number(cellNumber(row[2])); ok != 1 {
		return failed(s, "request failed")
	}
	latency, known := number(cellNumber(row[3]))
	if known && latency >= 0 {
		s.Last = offset(s.Sent, latency)
	}
	first, okFirst := number(cellNumber(row[4]))
	streamed, _ := number(cellNumber(row[8]))
	if okFirst && first > 0 && (row[8] == nil || streamed == 1) {
		s.First = offset(s.Sent, first)
	}
	if s.OutputTokens == 0 {
		return failed(s, "")
	}
	gaps := floats(jsonValue(cellText(row[7])))
	if s.First == core.NoTime || len(gaps) == 0 {
		return s
	}
	at := s.First
	s.Chunks = append(s.Chunks, at)
	for _, gap := range gaps {
		if at = offset(at, gap); at == core.NoTime {
			s.Chunks = nil
			break
		}
		s.Chunks = append(s.Chunks, at)
	}
	return s
}

// evalscopeSamples takes the requests out of the database beside a summary.
func (d *draft) evalscopeSamples(in *input) {
	f := in.sibling(evalscopeDB)
	if f == nil {
		return
	}
	path := f.Name()
	_ = f.Close() // only looked for
	if in.opt.SQLite == nil {
		d.warn("single requests left out: %s is not read here", evalscopeDB)
		return
	}
	db, err := in.openDatabase(in.ctx, path)
	if err != nil {
		d.warn("single requests left out: %v", err)
		return
	}
	defer db.close()
	if !holdsEvalscope(db) {
		d.warn("single requests left out: %s has other tables than evalscope 1.x writes", evalscopeDB)
		return
	}
	run, err := evalscopeRequests(db)
	if err != nil {
		d.warn("single requests left out: %s: %v", evalscopeDB, err)
		return
	}
	if n := d.t.Figures["completed"] + d.t.Figures["failed"]; float64(len(run.samples)) != n && n > 0 {
		d.warn("single requests left out: %s has %d where the summary counts %v", evalscopeDB, len(run.samples), n)
		return
	}
	run.give(d, false)
}
