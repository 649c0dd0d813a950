package progress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrGone says that a run ended without a word: it was killed.
var ErrGone = errors.New("the run ended without a word")

// lookEvery is how often the files of a run are looked at.
const lookEvery = 200 * time.Millisecond

// Follow hands over every event of a run, the past ones first, and what is going on
// as progress events, until the run ends: then it returns nil after the end event.
// alive tells whether the run's process may still be there; where it is not, and no
// end was written, the error is ErrGone. Nothing that it does reaches the run.
func Follow(ctx context.Context, files Files, alive func() bool, take func(Event)) error {
	f, err := os.Open(files.Events)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var rest []byte
	shown := map[int]Doing{}
	for {
		living := alive() // before the look: what was written before the end is seen
		more, err := io.ReadAll(f)
		if err != nil {
			return fmt.Errorf("%s: %w", files.Events, err)
		}
		rest = append(rest, more...)
		for {
			line, after, whole := bytes.Cut(rest, []byte("\n"))
			if !whole {
				break
			}
			rest = after
			var e Event
			if json.Unmarshal(line, &e) != nil {
				continue // cut off where the disk was full
			}
			take(e)
			if e.Event == KindEnd {
				return nil
			}
		}
		if !living {
			return ErrGone
		}
		now, err := ReadState(files)
		switch {
		case err == nil:
			for _, d := range append([]Doing{now.Doing}, now.Lanes...) {
				if !same(d, shown[d.Lane]) {
					shown[d.Lane] = d
					take(Event{Event: KindProgress, Lane: d.Lane, At: now.Heartbeat, Phase: d.Phase, Text: d.Message, Done: d.Done, Total: d.Total, Rate: d.Rate})
				}
			}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func same(a, b Doing) bool {
	return a.Phase == b.Phase && a.Message == b.Message && a.Done == b.Done && a.Total == b.Total && a.Since.Equal(b.Since)
}
