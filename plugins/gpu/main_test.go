package gpu_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/gpu"
	"github.com/sweepbook/sweepbook/plugins/gpu/gputest"
)

// The test binary is nvidia-smi, too, and another run that holds a GPU.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fake-nvidia-smi" {
		os.Exit(gputest.Main(os.Args[2:]))
	}
	if len(os.Args) > 3 && os.Args[1] == "hold" {
		me := gpu.Owner{PID: os.Getpid(), Study: "the other", Since: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)}
		if _, err := (gpu.Locks{Dir: os.Args[2]}).Hold(os.Args[3], "it", me); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}
