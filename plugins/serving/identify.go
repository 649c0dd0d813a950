package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// Identity is what a server that runs already says of itself.
type Identity struct {
	Models []Model // of /v1/models, in its order
	// Engine is what all signs agree on; "" where there is none, or where they
	// contradict each other: a proxy may stand before several.
	Engine  string
	Signs   []string // what was seen, "models owned by vllm", "metrics of vllm"
	Version string   // as /version or the server's own settings say; "" unknown
}

// Model is one model that a server offers.
type Model struct {
	ID   string
	Root string // what was loaded, where the id is another name for it
}

// Base is a server's address without a trailing slash or /v1.
func Base(url string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(url, "/"), "/v1"), "/")
}

// Identify asks a server who it is. Nothing is asked that costs it work. The error
// says why /v1/models gave no answer; what else was seen stands in the identity.
func Identify(ctx context.Context, url string) (Identity, error) {
	client := ProbeClient()
	defer client.CloseIdleConnections()
	base := Base(url)
	q := Question{ctx: ctx, client: client, base: base}
	var id Identity
	var models struct {
		Data []struct {
			ID      string
			Root    string
			OwnedBy string `json:"owned_by"`
		}
	}
	signs := map[string]string{} // sign -> engine
	server, err := look(ctx, client, base+"/v1/models", &models)
	if strings.HasPrefix(strings.ToLower(server), "llama.cpp") {
		signs["server header "+server] = "llamacpp"
	}
	for _, m := range models.Data {
		id.Models = append(id.Models, Model{ID: m.ID, Root: m.Root})
		if engine, ok := owners[strings.ToLower(m.OwnedBy)]; ok {
			signs["models owned by "+m.OwnedBy] = engine
		}
	}
	// The other questions do not wait for each other: a server that is busy, or
	// none at all, answers each late.
	var version struct{ Version string }
	var info map[string]any
	var metrics [2]string
	var asked sync.WaitGroup
	asked.Go(func() { q.JSON("/version", &version) })
	asked.Go(func() {
		if !q.JSON("/get_server_info", &info) && !q.JSON("/server_info", &info) {
			info = nil
		}
	})
	asked.Go(func() { metrics[0] = q.Text("/metrics") })
	asked.Go(func() { metrics[1] = q.Text("/prometheus/metrics") })
	asked.Wait()
	for prefix, engine := range metricPrefixes {
		for _, text := range metrics {
			if strings.HasPrefix(text, prefix) || strings.Contains(text, "\n"+prefix) {
				signs["metrics of "+engine] = engine
			}
		}
	}
	_, modelPath := info["model_path"]
	_, fraction := info["mem_fraction_static"]
	if modelPath && fraction {
		signs["settings of sglang"] = "sglang"
		version.Version, _ = info["version"].(string)
	}
	if _, ok := info["vllm_config"]; ok {
		signs["settings of vllm"] = "vllm"
	}
	id.Signs = slices.Sorted(maps.Keys(signs))
	engines := slices.Compact(slices.Sorted(maps.Values(signs)))
	if len(engines) == 1 {
		id.Engine = engines[0]
	}
	id.Version = strings.TrimSpace(version.Version)
	return id, err
}

// owners are the names under which engines list their models.
var owners = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "trtllm", "llamacpp": "llamacpp", "lmdeploy": "lmdeploy", "sweepbook-sim": "sim",
}

// metricPrefixes begin the Prometheus names of each engine.
var metricPrefixes = map[string]string{
	"vllm:": "vllm", "sglang:": "sglang", "trtllm_": "trtllm", "llamacpp:": "llamacpp", "lmdeploy:": "lmdeploy", "sim:": "sim",
}

// ErrWantsKey says that a server answers only those who have its API key.
var ErrWantsKey = errors.New("it wants an API key")

// look reads one answer and tells the server's header beside it.
func look(ctx context.Context, client *http.Client, address string, into any) (server string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	load.Authorize(r)
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	server = resp.Header.Get("Server")
	if resp.StatusCode == http.StatusUnauthorized {
		return server, fmt.Errorf("%s answers %s: %w", address, resp.Status, ErrWantsKey)
	}
	if resp.StatusCode != http.StatusOK {
		return server, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into); err != nil {
		return server, fmt.Errorf("%s: no list of models: %w", address, err)
	}
	return server, nil
}

// Ask reads what a server of this engine that runs already has in force: its
// version, settings by canonical name, and fields of the setup. What it does not
// tell is absent.
func (a *Adapter) Ask(ctx context.Context, url string) (version string, resolved core.Knobs, facts map[string]core.Value) {
	report := newReport(a.d, nil)
	q := Question{ctx: ctx, client: ProbeClient(), base: Base(url)}
	defer q.client.CloseIdleConnections()
	if a.d.Ask != nil {
		a.d.Ask(q, report)
	}
	if report.Version == "" {
		report.Version = ServerVersion(ctx, q.base)
	}
	return report.Version, report.Resolved, report.facts()
}

// HostGPUs lists the GPUs of this machine, at most for ten seconds.
func HostGPUs(ctx context.Context) ([]GPU, error) {
	return (&Adapter{tool: runTool}).GPUs(ctx)
}

// PackageVersion is the version of a Python distribution as the interpreter of a
// program sees it: of the program itself where it is an interpreter, else of the
// first line of a script. Nothing of the package is imported. "" where that
// cannot be told.
func PackageVersion(ctx context.Context, program, distribution string) string {
	python, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	if !strings.HasPrefix(filepath.Base(program), "python") {
		if python = shebang(python); python == "" {
			return ""
		}
	}
	a := &Adapter{d: &Dialect{Package: distribution}, tool: runTool}
	version, err := a.versionBy(ctx, python)
	if err != nil {
		return ""
	}
	return version
}
