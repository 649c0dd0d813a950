package core

// CurveKey is equal for trials of one curve: one setup and workload over loads.
func (t *Trial) CurveKey() string { return t.Setup.Hash() + "/" + t.Workload.Hash() }
