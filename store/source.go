package store

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// sourceKey identifies a record among the sources of one trial. One whose file
// was never hashed goes by its names.
func sourceKey(s core.Source) string {
	if s.SHA256 == "" {
		return "file " + s.File + " " + s.Format + "@" + s.Position
	}
	return s.Key()
}

// addSources appends the sources that a trial does not have yet and says how
// many they were.
func (w *writeTx) addSources(number int64, sources []core.Source) (added int, err error) {
	if len(sources) == 0 {
		return 0, nil
	}
	have := map[string]bool{}
	next := 0
	var s core.Source
	err = w.each([]any{&s.File, &s.SHA256, &s.Position, &s.Format}, func() error {
		have[sourceKey(s)] = true
		next++
		return nil
	}, "SELECT f.file, f.sha256, x.position, ifnull(x.format, '') FROM source x JOIN source_file f ON f.id = x.file WHERE x.trial = ?", number)
	if err != nil {
		return 0, err
	}
	for _, s := range sources {
		if have[sourceKey(s)] {
			continue
		}
		have[sourceKey(s)] = true
		file, err := w.sourceFile(s)
		if err != nil {
			return 0, err
		}
		var raw any
		if s.Raw != "" {
			if raw, err = w.state.pack.text(s.Raw); err != nil {
				return 0, fmt.Errorf("source text: %w", err)
			}
		}
		if _, err := w.exec(`INSERT INTO source (trial, seq, file, position, format, tool, version, decimals, imported, raw)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, number, next, file, s.Position, optText(s.Format), optText(s.Tool), optText(s.Version),
			s.Decimals, optTime(s.Imported), raw); err != nil {
			return 0, err
		}
		next++
		added++
	}
	return added, nil
}

func (w *writeTx) sourceFile(s core.Source) (int64, error) {
	key := "source_file " + s.SHA256 + " " + s.File
	if id, ok := w.state.ids[key]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find([]any{&id}, "SELECT id FROM source_file WHERE sha256 = ? AND file = ?", s.SHA256, s.File)
	if err == nil && !found {
		id, err = w.insert("INSERT INTO source_file (sha256, file) VALUES (?, ?)", s.SHA256, s.File)
	}
	if err != nil {
		return 0, err
	}
	w.state.ids[key] = id
	return id, nil
}

// sources reads the sources of a batch of trials.
func (l *loader) sources(of, list string, at func(int64) *core.Trial) error {
	text := "x.raw"
	if l.want == toJudge {
		text = "NULL"
	}
	rows, err := l.q.QueryContext(l.ctx, `SELECT x.trial, f.file, f.sha256, x.position, ifnull(x.format, ''), ifnull(x.tool, ''), ifnull(x.version, ''),
		x.decimals, x.imported, `+text+` FROM source x JOIN source_file f ON f.id = x.file WHERE x.trial`+of+" ORDER BY x.trial, x.seq", list)
	if err != nil {
		return err
	}
	var number int64
	var s core.Source
	var imported any
	var raw []byte
	dest := []any{&number, &s.File, &s.SHA256, &s.Position, &s.Format, &s.Tool, &s.Version, &s.Decimals, &imported, &raw}
	return eachRow(rows, dest, func() error {
		s.Imported, s.Raw = asTime(imported), ""
		if raw != nil {
			text, err := unpack(raw)
			if err != nil {
				return fmt.Errorf("trial %d: source text: %w", number, err)
			}
			s.Raw = string(text)
		}
		t := at(number)
		t.Sources = append(t.Sources, s)
		return nil
	})
}
