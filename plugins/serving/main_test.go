package serving_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// The test binary stands for a process whose command line is another program's.
func TestMain(m *testing.M) {
	if os.Getenv("SERVING_TEST_SLEEP") != "" {
		time.Sleep(20 * time.Second)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startDetached starts a process with this command line and gives its id.
func startDetached(t *testing.T, argv ...string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Args = argv
	cmd.Env = append(os.Environ(), "SERVING_TEST_SLEEP=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		// That it was killed is what was wanted.
		_ = cmd.Wait()
	})
	// For an instant after its start a process has no command line yet.
	cmdline := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cmdline"
	for text, err := os.ReadFile(cmdline); err == nil && len(text) == 0; text, err = os.ReadFile(cmdline) {
		time.Sleep(time.Millisecond)
	}
	return cmd.Process.Pid
}
