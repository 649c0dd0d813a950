package query

// The statistics are tested by themselves.
var (
	StudentTails    = studentTails
	Holm            = holm
	PooledDeviation = pooledDeviation
)
