package core

// Select is what a query asks of a history: a small closed tree that only the
// store compiles, since only the store knows the schema.
type Select struct {
	// Columns are field names as LookupField knows them; a row has one Value each.
	Columns []string
	// Looks are sets of fields of which trials share the values, as a source cuts them.
	// Behind its Columns a row has one number for each, by which the source knows the
	// values: to see what differs among many trials takes no more.
	Looks [][]string
	// Where is a conjunction. A row for which a condition is false or undecided
	// is not returned, so push only what may be dropped without being counted.
	Where []Cond
}

// Cond is one comparison of a field with literals.
type Cond struct {
	Field  string
	Op     Op
	Values []Value // one, or several for OpIn
}

// Op is a comparison of a Cond.
type Op string

// The comparisons that a store can carry.
const (
	OpEq Op = "=="
	OpNe Op = "!="
	OpLt Op = "<"
	OpLe Op = "<="
	OpGt Op = ">"
	OpGe Op = ">="
	OpIn Op = "in"
)
