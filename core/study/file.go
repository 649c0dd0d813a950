package study

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sweepbook/sweepbook/core"
)

// File is a study file as read: the study, and what belongs to this machine
// alone.
type File struct {
	Path  string
	Study core.Study
	Local Local
	// places remembers where a value stands, for faults that show later.
	places map[string]ast.Node
	// dataPaths are the data files as typed, by workload; a workload itself knows
	// the base name only, so that machines agree on its identity.
	dataPaths map[string]string
}

// Local is what a local.yaml beside the study says of this machine. It is kept
// out of version control, so that the study runs elsewhere unchanged.
type Local struct {
	DataDir  string   // where data set files lie; default: beside the study
	ModelDir string   // where models lie as ORG/NAME; those found there are loaded from it
	GPUs     []string // UUIDs or indexes to use
	PortBase int      // first port for servers
}

// Read reads a study file and the local.yaml beside it. Every fault is a
// *FileError with a line.
func Read(path string) (*File, error) {
	f := &File{Path: path, places: map[string]ast.Node{}, dataPaths: map[string]string{}}
	root, in, err := parse(path)
	if err != nil {
		return nil, err
	}
	f.study(node{in, root, ""})
	if in.err != nil {
		return nil, in.err
	}
	local := filepath.Join(filepath.Dir(path), "local.yaml")
	if _, err := os.Stat(local); err == nil {
		root, in, err := parse(local)
		if err != nil {
			return nil, err
		}
		f.local(node{in, root, ""})
		if in.err != nil {
			return nil, in.err
		}
	}
	return f, nil
}

func parse(path string) (ast.Node, *reader, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("study file: %w", err)
	}
	if err := modest(data); err != nil {
		return nil, nil, &FileError{File: path, Msg: err.Error()}
	}
	tree, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0)
	if err != nil {
		fault := &FileError{File: path, Msg: err.Error()}
		var ye yaml.Error
		if errors.As(err, &ye) {
			fault.Msg = ye.GetMessage()
			if tok := ye.GetToken(); tok != nil && tok.Position != nil {
				fault.Line, fault.Col = tok.Position.Line, tok.Position.Column
			}
		}
		return nil, nil, fault
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, nil, &FileError{File: path, Msg: "the file is empty"}
	}
	if len(tree.Docs) > 1 {
		return nil, nil, &FileError{File: path, Msg: "one study a file: a second document (---) stands here"}
	}
	return tree.Docs[0].Body, &reader{file: path}, nil
}

// modest refuses what no person writes and what would cost the parser gigabytes.
func modest(data []byte) error {
	const maxSize, maxDepth = 1 << 20, 64
	if len(data) > maxSize {
		return fmt.Errorf("larger than %d KiB: no study file", maxSize>>10)
	}
	if !utf8.Valid(data) {
		return errors.New("not UTF-8 text: save the file as UTF-8")
	}
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("brackets nested deeper than %d", maxDepth)
		}
	}
	return nil
}

// Fault makes an error of the study file at the place of a key that Read has
// seen ("objective", "stages[1].when"); other keys give an error without a line.
func (f *File) Fault(key string, err error) error {
	r := &reader{file: f.Path}
	r.fail(f.places[key], "%s: %v", key, err)
	var fault *FileError
	if errors.As(r.err, &fault) {
		fault.Cause = err
	}
	return r.err
}

func (f *File) remember(n node) { f.places[n.key] = n.ast }

func (f *File) study(root node) {
	s := &f.Study
	s.Run = core.RunRules{WarmupRequests: "0", ReadyTimeout: defaultReady, TrialTimeout: defaultTrial, Repeats: 1, Retries: 1}
	var defaults loadSpec
	var workloads node
	var haveWorkloads bool
	root.mapping(map[string]func(node){
		"study": func(n node) { s.Name = n.text() },
		"model": func(n node) {
			n.mapping(map[string]func(node){"name": func(n node) { s.Model = n.text() }})
		},
		"hardware":  func(n node) { f.hardware(n) },
		"engines":   func(n node) { f.engines(n) },
		"tools":     func(n node) { f.tools(n) },
		"run":       func(n node) { f.run(n) },
		"load":      func(n node) { defaults = readLoad(n) },
		"workloads": func(n node) { workloads, haveWorkloads = n, true },
		"objective": func(n node) { s.Objective = n.text(); f.remember(n) },
		"decide_on": func(n node) { s.DecideOn = n.text(); f.remember(n) },
		"baseline":  func(n node) { s.Baseline = f.config(n); f.remember(n) },
		"stages":    func(n node) { f.stages(n) },
		"search":    func(n node) { f.search(n) },
		"verify":    func(n node) { f.verify(n) },
		"accept":    func(n node) { s.Accept = n.texts(); f.remember(n) },
	})
	if haveWorkloads {
		f.workloads(workloads, defaults)
	}
	f.complete(root)
}

// complete checks what must be there and what must fit together.
func (f *File) complete(root node) {
	s := &f.Study
	need := func(ok bool, key, what string) {
		if !ok {
			root.fail("%s is missing: %s", key, what)
		}
	}
	need(s.Name != "", "study", "the name under which the trials are kept")
	need(s.Model != "", "model.name", "what is served")
	need(len(s.Workloads) > 0, "workloads", "at least one")
	need(s.Objective != "", "objective", `a query such as: max total_tps where success_rate == 1`)
	need(s.Baseline.Engine != "", "baseline.engine", "the engine that everything is compared with")
	if root.in.err != nil {
		return
	}
	if s.DecideOn == "" {
		s.DecideOn = s.Workloads[0].Workload.Name
	}
	if workload(s, s.DecideOn) == nil {
		root.in.fail(f.places["decide_on"], "decide_on: no workload is named %q%s", s.DecideOn, didYouMean(s.DecideOn, workloadNames(s)))
	}
	f.checkEngine("baseline", s.Baseline.Engine, root)
	for i, stage := range s.Stages {
		for j, option := range stage.Try {
			f.checkEngine(fmt.Sprintf("stages[%d].try[%d]", i, j), option.Change.Engine, root)
		}
	}
	f.completeSearch(root)
	f.checkParallel(root)
	for _, name := range s.Verify.Workloads {
		if name != "all" && workload(s, name) == nil {
			root.in.fail(f.places["verify.workloads"], "verify.workloads: no workload is named %q%s", name, didYouMean(name, workloadNames(s)))
		}
	}
}

func (f *File) checkEngine(key, engine string, root node) {
	if engine == "" {
		return
	}
	if _, ok := f.Study.Engines[engine]; ok {
		return
	}
	names := make([]string, 0, len(f.Study.Engines))
	for name := range f.Study.Engines {
		names = append(names, name)
	}
	root.in.fail(f.places[key], "%s: engine %q is not listed under engines%s", key, engine, didYouMean(engine, names))
}

func (f *File) local(root node) {
	dir := filepath.Dir(f.Path)
	root.mapping(map[string]func(node){
		"model_dir": func(n node) { f.modelDir(n) },

		"data_dir": func(n node) { f.Local.DataDir = beside(dir, n.text()) },
		"gpus":     func(n node) { f.Local.GPUs = n.texts() },
		"ports":    func(n node) { f.Local.PortBase = n.count(1024) },
		"engines":  func(n node) { f.engines(n) },
		"tools":    func(n node) { f.tools(n) },
	})
}

// beside makes a path relative to the study's folder one from here, and ~ the
// user's home.
func beside(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// DataPath is where the data file of one of the file's workloads lies on this
// machine; "" where the workload has none.
func (f *File) DataPath(w core.Workload) string {
	if w.Path == "" {
		return ""
	}
	dir := f.Local.DataDir
	if dir == "" {
		dir = filepath.Dir(f.Path)
	}
	return beside(dir, f.dataPaths[w.Name])
}
