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
	// Samples is how many of the matrix random tries, and model at most beside the
	// baseline; 0 is no limit of model.
	Samples int `json:"samples,omitempty"`
	Seed    int `json:"seed,omitempty"` // of random, and of model among equal guesses
	// MinGain is the gain, as a share, that model must still expect of a configuration to
	// try it; 0 is its default.
	MinGain float64 `json:"min_gain,omitempty"`
	// Screen judges the search on a shorter workload; nil is none.
	Screen  *Screen  `json:"screen,omitempty"`
	Configs []Option `json:"configs,omitempty"` // of a list, each laid over the baseline
}

// Screen is a workload that takes less time than the deciding one, on which a search is
// judged: each candidate is measured there until it is known which side of the best so
// far it is on. What the search ends with is measured in full.
type Screen struct {
	Workload string `json:"workload"`
	Repeats  int    `json:"repeats"` // at most, of each candidate
}

// The strategies of a search.
const (
	StrategyStaged = "staged"
	StrategyGrid   = "grid"
	StrategyRandom = "random"
	StrategyList   = "list"
	StrategyModel  = "model"
)

// Strategies lists every strategy.
func Strategies() []string {
	return []string{StrategyStaged, StrategyGrid, StrategyRandom, StrategyList, StrategyModel}
}

// Axis is one setting of a matrix with the values that it takes.
type Axis struct {
	Name   string   `json:"name"` // of a knob, or engine, checkpoint, revision
	Values []Option `json:"values"`
}
