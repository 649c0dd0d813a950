package core

// History names the database that answers and how many trials it holds.
type History struct {
	ID     string `json:"id"`
	Trials int    `json:"trials"`
}

// Names are the dynamic names that a history records: what a query may ask for
// beyond the fixed fields.
type Names struct {
	Knobs   []string // canonical names and engines' own flags
	Extra   []string
	Quality []string
	Figures []string // further percentiles and the like
}

// ImportOutcome says what became of one imported trial.
type ImportOutcome uint8

const (
	// ImportNew: the trial was not in the history.
	ImportNew ImportOutcome = iota + 1
	// ImportDuplicate: it was, from this very record or another; a new source may
	// have been added.
	ImportDuplicate
	// ImportUpdated: it was, and gained figures or fields that it lacked.
	ImportUpdated
	// ImportDeleted: a tombstone keeps it out.
	ImportDeleted
)
