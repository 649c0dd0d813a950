package study

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// planRequest binds a configuration to this machine.
func (f *File) planRequest(c core.Config, port int, gpus []string, dir string) core.PlanRequest {
	return core.PlanRequest{
		Config: c, Origin: f.Study.Engines[c.Engine], Host: serverHost, Port: port, GPUs: gpus, WorkDir: dir, ModelPath: f.modelPath(c),
	}
}

// modelPath is the folder of a checkpoint below this machine's folder of models; ""
// where there is none.
func (f *File) modelPath(c core.Config) string {
	name := filepath.FromSlash(cmp.Or(c.Checkpoint, c.Model))
	if f.Local.ModelDir == "" || !filepath.IsLocal(name) {
		return ""
	}
	path := filepath.Join(f.Local.ModelDir, name)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return ""
	}
	return path
}

// modelDir reads this machine's folder of models.
func (f *File) modelDir(n node) {
	// A server runs in a folder of its own.
	f.Local.ModelDir = f.absolute(n)
	if info, err := os.Stat(f.Local.ModelDir); err != nil || !info.IsDir() {
		n.fail("%s: there is no folder %s", n.key, f.Local.ModelDir)
	}
}
