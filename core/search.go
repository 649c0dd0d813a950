package core

// Search says which configurations a study tries, and in which order. The zero
// Search is the staged one.
type Search struct {
	Strategy string `json:"strategy,omitempty"` // one of the strategies below; "" is StrategyStaged
	// Beam is how many configurations a staged search carries on from stage to stage;
	// 0 is 1.
	Beam int `json:"beam,omitempty"`
	// SecondLook goes through the earlier choices of a staged search again once the
	// later ones are made.
	SecondLook bool `json:"second_look,omitempty"`
	// Race gives up the repeats of a candidate that surely loses.
	Race    bool     `json:"race,omitempty"`
	Matrix  []Axis   `json:"matrix,omitempty"`  // of a grid, or of what random draws from
	Exclude []Config `json:"exclude,omitempty"` // partial configurations that the matrix leaves out
	Samples int      `json:"samples,omitempty"` // how many of the matrix random tries
	Seed    int      `json:"seed,omitempty"`    // of random
	Configs []Option `json:"configs,omitempty"` // of a list, each laid over the baseline
}

// The strategies of a search.
const (
	StrategyStaged = "staged"
	StrategyGrid   = "grid"
	StrategyRandom = "random"
	StrategyList   = "list"
)

// Strategies lists every strategy.
func Strategies() []string {
	return []string{StrategyStaged, StrategyGrid, StrategyRandom, StrategyList}
}

// Axis is one setting of a matrix with the values that it takes.
type Axis struct {
	Name   string   `json:"name"` // of a knob, or engine, checkpoint, revision
	Values []Option `json:"values"`
}
