package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MLflow's older store is a folder a run, with a file a parameter, metric and tag:
//
//	mlruns/<experiment>/meta.yaml
//	mlruns/<experiment>/<run>/meta.yaml  params/…  metrics/…  tags/…  artifacts/…
//
// The run's meta.yaml is the record. What was logged as an artifact is read like
// any other file.

// mlflowMeta is the file that stands for a run or an experiment.
const mlflowMeta = "meta.yaml"

func isMLflowMeta(head []byte, in *input) bool {
	return in.name == mlflowMeta && bytes.Contains(head, []byte("experiment_id:")) && bytes.Contains(head, []byte("lifecycle_stage:"))
}

// ofMLflowRun reports whether a folder inside a walk holds the values of a run,
// which are no files of their own.
func ofMLflowRun(dir string) bool {
	if !slices.Contains([]string{"params", "metrics", "tags", "inputs", "outputs"}, filepath.Base(dir)) {
		return false
	}
	head, err := readAtMost(filepath.Join(filepath.Dir(dir), mlflowMeta), maxSidecar)
	return err == nil && bytes.Contains(head, []byte("run_id:")) && bytes.Contains(head, []byte("lifecycle_stage:"))
}

func readMLflowRun(in *input, out *collector) error {
	if !in.onDisk {
		out.skip(0, "run of MLflow: its values stand in the folder beside it; import that")
		return nil
	}
	meta, err := in.metaOf(in.path)
	if err != nil {
		return err
	}
	if meta.text("run_id") == "" && meta.text("run_uuid") == "" {
		out.skip(0, "experiment of MLflow: read with its runs")
		return nil
	}
	h := newHistory(in, out, "mlflow-run", "mlflow")
	defer h.end()
	dir := filepath.Dir(in.path)
	r := mlflowRun{
		id: firstOf(meta.text("run_id"), meta.text("run_uuid")), name: firstOf(meta.text("run_name"), meta.text("name")), experiment: "mlruns",
		status: text(meta.vals["status"]), deleted: meta.text("lifecycle_stage") == "deleted", started: meta.vals["start_time"], ended: meta.vals["end_time"],
	}
	if experiment, err := in.metaOf(filepath.Join(filepath.Dir(dir), mlflowMeta)); err == nil && experiment.text("name") != "" {
		r.experiment = experiment.text("name")
	}
	for _, part := range []struct {
		folder string
		to     *[]pair
		value  func(text string) any
	}{{"params", &r.params, wholeText}, {"tags", &r.tags, wholeText}, {"metrics", &r.metrics, lastLogged}} {
		if *part.to, err = valueFiles(filepath.Join(dir, part.folder), part.value); err != nil {
			return err
		}
	}
	if parent := r.takeTags(); parent != "" && filepath.Base(parent) == parent {
		if of, err := in.metaOf(filepath.Join(filepath.Dir(dir), parent, mlflowMeta)); err == nil {
			r.parent = firstOf(of.text("run_name"), of.text("name"))
		}
	}
	r.record(h)
	return nil
}

// metaOf reads a meta.yaml.
func (in *input) metaOf(path string) (*object, error) {
	data, err := readAtMost(path, maxSidecar)
	if err != nil {
		return nil, err
	}
	docs, err := in.yaml(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mlflowMeta, err)
	}
	for _, doc := range docs {
		if o, ok := doc.(*object); ok {
			return o, nil
		}
	}
	return &object{}, nil
}

func wholeText(s string) any { return clip(strings.TrimRight(s, "\n"), 8000) }

// lastLogged gives the value of the last line, "milliseconds value [step]".
func lastLogged(s string) any {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if words := strings.Fields(lines[len(lines)-1]); len(words) >= 2 {
		return words[1]
	}
	return nil
}

// valueFiles reads the files below a folder, a pair a file: names with a slash are
// folders. A missing folder holds none; links are not followed.
func valueFiles(root string, value func(text string) any) (list []pair, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == root:
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular() || len(list) >= maxPairs:
			return nil
		}
		data, err := tailOf(path, 1<<20)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		list = append(list, pair{clip(filepath.ToSlash(name), 300), value(string(data))})
		return err
	})
	return list, err
}

// tailOf reads the last bytes of a file.
func tailOf(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-limit)
	data := make([]byte, min(info.Size(), limit))
	n, err := f.ReadAt(data, from)
	if errors.Is(err, io.EOF) {
		err = nil // it was cut meanwhile
	}
	return bytes.ToValidUTF8(data[:n], []byte("�")), err
}
