package core

import "time"

// Source is where an imported trial comes from. A trial that several files print
// has several sources.
type Source struct {
	File     string    `json:"file"`   // base name as given
	SHA256   string    `json:"sha256"` // of the whole file, hex
	Position string    `json:"position"`
	Format   string    `json:"format"` // the reader, "serving-block"
	Tool     string    `json:"tool,omitempty"`
	Version  string    `json:"version,omitempty"`
	Decimals int       `json:"decimals"`      // decimals the figures were printed with; -1 for full floats
	Raw      string    `json:"raw,omitempty"` // the source text of this record
	Imported time.Time `json:"imported"`
}

// Key identifies the record in its file: the same key is the same record.
func (s Source) Key() string { return s.SHA256 + "@" + s.Position }
