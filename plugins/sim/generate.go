package sim

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// generate answers a completion of either kind.
func (s *server) generate(w http.ResponseWriter, r *http.Request, chat bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, badRequest("", "request body: %v", err))
		return
	}
	j, bad := newJob(body, chat, s.m, s.served)
	if bad != nil {
		refuse(w, bad)
		return
	}
	if everyShare(s.received.Add(1), s.faults.refuseShare) {
		s.failed.Add(1)
		refuse(w, &apiError{"the server is overloaded (simulated)", "ServiceUnavailableError", "", http.StatusServiceUnavailable})
		return
	}
	id := s.admitted.Add(1)
	breaks := everyShare(id, s.faults.errorIn200)
	j.seq.sink = newStream()
	s.engine.submit(j.seq)
	a := newAnswer(j, strconv.FormatInt(id, 10), s.served, s.start.Unix())
	done := false
	if j.stream {
		done = s.writeStream(w, r, a, breaks)
	} else {
		done = s.writeWhole(w, r, a, breaks)
	}
	if !done {
		s.failed.Add(1)
		s.engine.drop(j.seq)
		return
	}
	s.finished()
}

// finished counts a whole answer, and breaks what the faults say.
func (s *server) finished() {
	n := s.answered.Add(1)
	if n == int64(s.faults.stallAfter) {
		s.log.print("WARN", "fault: the engine core makes no further step after %d answers", n)
		s.engine.freeze()
	}
	if n == int64(s.faults.crashAfter) {
		// No token comes after this answer; the end is a moment later, so that the
		// answer itself goes out whole.
		s.engine.freeze()
		time.AfterFunc(crashDelay, func() { s.stop(errCrash) })
	}
}

// writeStream sends chunks as the engine delivers. It reports whether the answer
// was given whole.
func (s *server) writeStream(w http.ResponseWriter, r *http.Request, a *answer, breaks bool) bool {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	var events []event
	var frames []byte
	first := true
	for {
		select {
		case <-a.job.seq.sink.signal:
		case <-r.Context().Done():
			return false
		case <-s.stopping:
			return false
		}
		events = a.job.seq.sink.take(events)
		frames = frames[:0]
		end := false
		for _, e := range events {
			a.job.cached = e.cached
			if first && a.job.chat {
				frames = a.role(frames)
			}
			first = false
			if e.tokens > 0 {
				frames = a.tokens(frames, e.tokens, e.last && !breaks)
			}
			if breaks && e.tokens > 0 {
				frames = append(frames, `data: {"error":{"message":"the engine gave this request up (simulated)","type":"InternalServerError","code":500}}`+"\n\ndata: [DONE]\n\n"...)
				end = true
				break
			}
			if e.last {
				frames = a.closing(frames)
				end = true
			}
		}
		if _, err := w.Write(frames); err != nil {
			return false
		}
		if err := flush.Flush(); err != nil {
			return false
		}
		if end {
			return !breaks
		}
	}
}

// writeWhole sends one object once the last token is there.
func (s *server) writeWhole(w http.ResponseWriter, r *http.Request, a *answer, breaks bool) bool {
	var events []event
	for {
		select {
		case <-a.job.seq.sink.signal:
		case <-r.Context().Done():
			return false
		case <-s.stopping:
			return false
		}
		events = a.job.seq.sink.take(events)
		for _, e := range events {
			a.job.cached = e.cached
			if breaks && e.tokens > 0 {
				reply(w, map[string]any{"error": &apiError{"the engine gave this request up (simulated)", "InternalServerError", "", 500}})
				return false
			}
			if e.last {
				w.Header().Set("Content-Type", "application/json")
				_, err := w.Write(a.whole())
				return err == nil
			}
		}
	}
}
