package serving_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/plugins/sglang"
)

// pages serves fixed answers by path.
func pages(t *testing.T, header string, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header != "" {
			w.Header().Set("Server", header)
		}
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestIdentify(t *testing.T) {
	const vllmModels = `{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","root":"org/m"}]}`
	for _, tc := range []struct {
		name, header    string
		answers         map[string]string
		engine, version string
		signs           int
	}{
		{"vllm", "uvicorn", map[string]string{
			"/v1/models": vllmModels, "/version": `{"version":"0.11.0"}`, "/metrics": "# HELP x\nvllm:num_requests_running 0\n",
		}, "vllm", "0.11.0", 2},
		{"sglang by its settings", "", map[string]string{
			"/v1/models":       `{"data":[{"id":"m","owned_by":"sglang"}]}`,
			"/get_server_info": `{"model_path":"org/m","mem_fraction_static":0.8,"version":"0.5.5","api_key":"secret"}`,
		}, "sglang", "0.5.5", 2},
		{"trtllm says its version where vLLM does", "", map[string]string{
			"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, "/version": `{"version":"1.2.0rc1"}`,
			"/prometheus/metrics": "trtllm_num_requests_running 0\n",
		}, "trtllm", "1.2.0rc1", 2},
		{"llama.cpp by its header", "llama.cpp", map[string]string{"/v1/models": `{"data":[{"id":"m.gguf"}]}`}, "llamacpp", "", 1},
		// A version alone is said by several engines, and two signs that disagree tell nothing.
		{"unknown", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"me"}]}`, "/version": `{"version":"1.0"}`}, "", "1.0", 0},
		{"contradiction", "", map[string]string{"/v1/models": vllmModels, "/metrics": "sglang:num_running_reqs 0\n"}, "", "", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, err := serving.Identify(t.Context(), pages(t, tc.header, tc.answers)+"/v1/")
			if err != nil {
				t.Fatal(err)
			}
			if id.Engine != tc.engine || id.Version != tc.version || len(id.Signs) != tc.signs || len(id.Models) != 1 {
				t.Errorf("%+v", id)
			}
		})
	}
	if id, err := serving.Identify(t.Context(), pages(t, "", nil)); err == nil || id.Engine != "" {
		t.Errorf("a server without models: %+v, %v", id, err)
	}
}

func TestAskOfARunningServer(t *testing.T) {
	url := pages(t, "", map[string]string{"/get_server_info": `{"model_path":"org/m","mem_fraction_static":0.83,"version":"0.5.5","api_key":"secret"}`})
	version, resolved, _ := sglang.New().Ask(t.Context(), url)
	if version != "0.5.5" || resolved["mem_fraction_static"].Num != 0.83 {
		t.Errorf("version %q, settings %v", version, resolved)
	}
	for name, v := range resolved {
		if v.Text == "secret" {
			t.Errorf("%s holds the server's key", name)
		}
	}
}

// TestPackageVersion reads the interpreter out of a program's first line.
func TestPackageVersion(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	python := write("python3", "#!/bin/sh\ncase \"$2\" in *guidellm*) echo sweepbook-version:0.6.1;; *) echo PackageNotFoundError >&2; exit 1;; esac\n")
	for _, program := range []string{python, write("guidellm", "#!"+python+"\n")} {
		if v := serving.PackageVersion(t.Context(), program, "guidellm"); v != "0.6.1" {
			t.Errorf("%s: %q", program, v)
		}
	}
	for _, program := range []string{write("other", "#!/bin/sh\n"), filepath.Join(dir, "none")} {
		if v := serving.PackageVersion(t.Context(), program, "guidellm"); v != "" {
			t.Errorf("%s: %q", program, v)
		}
	}
	if v := serving.PackageVersion(t.Context(), python, "vllm"); v != "" {
		t.Errorf("a package that is not there: %q", v)
	}
	if !slices.Equal([]string{serving.Base("http://h:1/v1/"), serving.Base("http://h:1/")}, []string{"http://h:1", "http://h:1"}) {
		t.Error("base of an address")
	}
}
