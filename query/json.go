package query

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// MarshalJSON writes the object of "query --output json": rows as objects in
// column order, missing and unset as null, times as RFC 3339, numbers in base units
// and unrounded, no list as null.
func (a *Answer) MarshalJSON() ([]byte, error) {
	type column struct {
		Name string `json:"name"`
		Unit string `json:"unit"`
	}
	type excluded struct {
		Where     int `json:"where"`
		Undecided int `json:"undecided"`
		Status    int `json:"status"`
		Simulated int `json:"simulated"`
	}
	type residue struct {
		Field  string       `json:"field"`
		Values []core.Value `json:"values"`
	}
	type warning struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	out := struct {
		Query       string            `json:"query"`
		History     core.History      `json:"history"`
		Columns     []column          `json:"columns"`
		Rows        []json.RawMessage `json:"rows"`
		Considered  int               `json:"considered"`
		Excluded    excluded          `json:"excluded"`
		Ties        int               `json:"ties"`
		EmptyGroups int               `json:"empty_groups"`
		SoundWinner json.RawMessage   `json:"sound_winner"`
		Residue     []residue         `json:"residue"`
		Warnings    []warning         `json:"warnings"`
	}{
		Query: a.Query, History: a.History,
		Columns: []column{}, Rows: []json.RawMessage{},
		Considered: a.Considered, Excluded: excluded(a.Excluded),
		Ties: a.Ties, EmptyGroups: a.EmptyGroups,
		SoundWinner: json.RawMessage("null"),
		Residue:     []residue{}, Warnings: []warning{},
	}
	for _, c := range a.Columns {
		out.Columns = append(out.Columns, column{c.Name, c.Unit})
	}
	for _, row := range a.Rows {
		object, err := a.rowObject(row)
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, object)
	}
	if a.SoundWinner != nil {
		object, err := a.rowObject(a.SoundWinner)
		if err != nil {
			return nil, err
		}
		out.SoundWinner = object
	}
	for _, r := range a.Residue {
		out.Residue = append(out.Residue, residue{r.Field, append([]core.Value{}, r.Values...)})
	}
	for _, w := range a.Warnings {
		out.Warnings = append(out.Warnings, warning{w.Code, w.Message})
	}
	return marshal(out)
}

// rowObject writes one row as an object whose names stand in column order, which a
// map would lose.
func (a *Answer) rowObject(row []core.Value) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, c := range a.Columns {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(c.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		value, err := marshal(printed(row[i], c.Type))
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// printed gives a moment its text; other values stay as they are.
func printed(v core.Value, t core.Type) core.Value {
	if t != core.TimeType || v.Kind != core.KindNumber || math.Abs(v.Num) > 2e11 {
		return v
	}
	at := time.UnixMicro(int64(math.Round(v.Num * 1e6))).UTC()
	return core.String(at.Format(time.RFC3339Nano))
}

// marshal leaves <, > and & readable: column names are expressions.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
