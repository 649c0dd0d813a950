package plugins

import (
	"slices"
	"strings"
)

// defaultEnv is what a plugin sees of the host's environment. A name that ends in
// "*" stands for all names that start so. Secrets are left out, whatever their
// name starts with; a plugin that needs one is given it in Spec.ExtraEnv.
var defaultEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"CUDA_*", "NVIDIA_*", "NCCL_*", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HF_HOME", "HF_HUB_*", "HF_DATASETS_*", "HUGGINGFACE_HUB_CACHE",
	"TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE", "VIRTUAL_ENV", "CONDA_PREFIX", "SLURM_*",
	"SystemRoot", "windir", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData", // Windows
}

// allowedEnv filters an environment ("NAME=value") by an allow-list.
func allowedEnv(environ, allow []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		named := slices.Contains(allow, name)
		byPrefix := slices.ContainsFunc(allow, func(a string) bool {
			prefix, wild := strings.CutSuffix(a, "*")
			return wild && strings.HasPrefix(name, prefix)
		})
		if named || byPrefix && !secretName(name) {
			out = append(out, kv)
		}
	}
	return out
}

// secretName reports whether a variable's name looks like that of a secret. Only
// what is allowed by a prefix is judged by it.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL", "AUTH"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}
