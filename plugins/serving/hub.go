package serving

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The cache of the Hugging Face hub: models--ORG--NAME/refs/REVISION names a
// commit, snapshots/COMMIT holds its files as links to what was downloaded.

// hubCache is the folder in which a server with some environment finds the cache.
func hubCache(env func(string) string) string {
	home := env("HOME")
	if home == "" {
		home, _ = os.UserHomeDir() // "" gives a folder that is not there
	}
	hf := cmp.Or(env("HF_HOME"), filepath.Join(cmp.Or(env("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "huggingface"))
	return cmp.Or(env("HF_HUB_CACHE"), env("HUGGINGFACE_HUB_CACHE"), filepath.Join(hf, "hub"))
}

// hubOffline reports whether an environment forbids the hub.
func hubOffline(env func(string) string) bool {
	return truthy(env("HF_HUB_OFFLINE")) || truthy(env("TRANSFORMERS_OFFLINE"))
}

// truthy reads a switch as huggingface_hub does.
func truthy(s string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(s))
}

// hubName is a repository of the hub.
var hubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)

// snapshot finds a revision in a cache: its folder and commit, or what is wrong.
func snapshot(cache, name, revision string) (dir, commit string, err error) {
	repo := filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
	if _, err := os.Stat(repo); err != nil {
		return "", "", fmt.Errorf("not in the cache %s", cache)
	}
	revision = cmp.Or(revision, "main")
	commit = revision
	if filepath.IsLocal(filepath.FromSlash(revision)) {
		if ref, err := os.ReadFile(filepath.Join(repo, "refs", filepath.FromSlash(revision))); err == nil {
			commit = strings.TrimSpace(string(ref))
		}
	}
	dir = filepath.Join(repo, "snapshots", filepath.Base(commit))
	if _, err := os.Stat(dir); err != nil {
		return "", "", fmt.Errorf("its revision %s is not in the cache %s", revision, cache)
	}
	return dir, commit, nil
}

// parts say what a checkpoint is needed for.
type parts struct{ config, weights bool }

// complete says what a folder of a model lacks. A download that was cut off leaves
// links to nothing, which count as not there.
func complete(dir string, need parts) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("there is no folder %s", dir)
	}
	var files, indexes []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			files = append(files, e.Name())
		}
		if strings.HasSuffix(e.Name(), ".safetensors.index.json") {
			indexes = append(indexes, e.Name())
		}
	}
	has := func(ends ...string) bool {
		return slices.ContainsFunc(files, func(name string) bool {
			return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
		})
	}
	switch {
	case need.config && !has("config.json", "params.json", ".gguf"):
		return fmt.Errorf("%s has no config.json", dir)
	case need.weights && !has(".safetensors", ".bin", ".pt", ".pth", ".gguf", ".npz"):
		return fmt.Errorf("%s has no weights", dir)
	case !need.weights:
		return nil
	}
	// Some checkpoints hold the weights in two ways; one of them is enough.
	err = nil
	for _, index := range indexes {
		if err = indexed(dir, index, files); err == nil {
			return nil
		}
	}
	return err
}

// indexed says which file of an index of weights is not there.
func indexed(dir, index string, files []string) error {
	data, err := os.ReadFile(filepath.Join(dir, index))
	if err != nil {
		return fmt.Errorf("index of weights: %w", err)
	}
	var list struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, index), err)
	}
	for _, name := range slices.Sorted(maps.Values(list.WeightMap)) {
		if !slices.Contains(files, name) {
			return fmt.Errorf("%s lacks %s", dir, name)
		}
	}
	return nil
}
