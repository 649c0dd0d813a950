package store

import (
	"encoding/json"
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// saveCourse replaces the course of a trial; none leaves what is there.
func (w *writeTx) saveCourse(number int64, c *core.Course) error {
	if c == nil || len(c.AtMS) == 0 {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("course: %w", err)
	}
	data, err := w.state.pack.data(text)
	if err != nil {
		return fmt.Errorf("course: %w", err)
	}
	_, err = w.exec("INSERT OR REPLACE INTO course (trial, n, data) VALUES (?, ?, ?)", number, len(c.AtMS), data)
	return err
}

// courses reads those of a batch of trials.
func (l *loader) courses(of, list string, at func(int64) *core.Trial) error {
	rows, err := l.q.QueryContext(l.ctx, "SELECT trial, data FROM course WHERE trial"+of, list)
	if err != nil {
		return err
	}
	var number int64
	var data []byte
	return eachRow(rows, []any{&number, &data}, func() error {
		text, err := unpack(data)
		if err != nil {
			return fmt.Errorf("course of trial %d: %w", number, err)
		}
		c := &core.Course{}
		if err := json.Unmarshal(text, c); err != nil {
			return fmt.Errorf("course of trial %d: %w", number, err)
		}
		at(number).Course = c
		return nil
	})
}
