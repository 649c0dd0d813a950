//go:build race

package load_test

// raceDetector says that the test binary needs several times its memory and time.
const raceDetector = true
