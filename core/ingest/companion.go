package ingest

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// companion is what the log or script of a server, beside results, says of it:
// commands, versions and settings that the server printed.
type companion struct {
	names    []string // of the files
	above    int      // folders between them and the results
	text     *servingReader
	configs  []string   // distinct server configurations, by hash
	resolved core.Knobs // as the server printed them
	engine   string     // that printed them
	gpu      string
}

// companionNames are the files that are looked for, scripts before logs: what a
// log says of the passed arguments is nearer to what ran.
var companionNames = []string{
	"run.sh", "serve.sh", "server.sh", "launch.sh", "start.sh",
	"server.log", "serve.log", "vllm.log", "sglang.log", "trtllm.log", "server.out",
}

func isCompanion(name string) bool { return slices.Contains(companionNames, name) }

// maxCompanion is how much of a companion is read. A server says what it is when
// it starts.
const maxCompanion = 1 << 20

// readCompanion reads the companions of a folder; nil where there is none. One
// that cannot be read is none: it only completes.
func readCompanion(dir string) *companion {
	c := &companion{text: &servingReader{out: &collector{}, titled: true, terminal: true}, resolved: core.Knobs{}}
	for _, name := range companionNames {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(path); err == nil {
			c.read(name, io.LimitReader(f, maxCompanion))
			_ = f.Close() // only read
		}
	}
	if len(c.names) == 0 {
		return nil
	}
	return c
}

func (c *companion) read(name string, r io.Reader) {
	c.names = append(c.names, name)
	c.text.in = &input{name: name}
	lines := &lineReader{r: bufio.NewReaderSize(decodeText(r), 64<<10)}
	vars := map[string]string{}
	script := strings.HasSuffix(name, ".sh")
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) || err != nil {
			break
		}
		if script {
			l.text = shellVariables(l.text, vars)
		}
		if !c.startLine(l.text) {
			c.text.line(l)
			c.noteServer()
		}
	}
	c.text.end()
	c.noteServer()
}

// noteServer counts the different servers that the text has started.
func (c *companion) noteServer() {
	c.text.readFlags()
	if s := c.text.server; s != nil {
		if hash := s.config.Hash(); !slices.Contains(c.configs, hash) && len(c.configs) < 16 {
			c.configs = append(c.configs, hash)
		}
	}
}

var variable = regexp.MustCompile(`^(?:export\s+|local\s+)?([A-Za-z_]\w*)=("[^"$` + "`" + `]*"|'[^']*'|[^\s$` + "`" + `();"']*)$`)

// shellVariables puts the values of plain variables in their places. One that is
// set twice is not known: a script may be anywhere in a loop.
func shellVariables(text string, vars map[string]string) string {
	if m := variable.FindStringSubmatch(text); m != nil {
		if old, twice := vars[m[1]]; twice && old != m[2] {
			vars[m[1]] = "$" + m[1]
		} else if len(vars) < 1000 {
			vars[m[1]] = strings.Trim(m[2], `"'`)
		}
		return text
	}
	if !strings.Contains(text, "$") || len(vars) == 0 {
		return text
	}
	return os.Expand(text, func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return "${" + name + "}"
	})
}

var (
	passedArgs   = regexp.MustCompile(`non-default args: (\{.*\})`)
	engineConfig = regexp.MustCompile(`Initializing an? (?:V\d )?LLM engine \(v([\w.+-]+)\) with config: (.*)$`)
	serverArgs   = regexp.MustCompile(`\bserver_args=ServerArgs\((.*)\)`)
	trtVersion   = regexp.MustCompile(`TensorRT-LLM version:? v?(\d[\w.+-]*)`)
	chunkedWith  = regexp.MustCompile(`Chunked prefill is enabled with max_num_batched_tokens=(\d+)`)
	listedGPU    = regexp.MustCompile(`^GPU \d+: (NVIDIA [^(]+?) \(UUID`)
	dictPair     = regexp.MustCompile(`'(\w+)': ('[^']*'|"[^"]*"|\{[^{}]*\}|\[[^\[\]]*\]|[^,}\s]+)`)
	callPair     = regexp.MustCompile(`(\w+)=('[^']*'|"[^"]*"|[^,()\s]+)`)
)

// startLine takes what servers print when they start and what no command says.
func (c *companion) startLine(text string) bool {
	switch {
	case strings.Contains(text, "non-default args"):
		if m := passedArgs.FindStringSubmatch(text); m != nil {
			s := server{text: maskSecrets(text), config: serverConfig("vllm", pythonFlags(dictPair, m[1]))}
			c.text.server, c.text.flagsNew = &s, false
			c.noteServer()
			return true
		}
	case strings.Contains(text, "LLM engine (v"):
		if m := engineConfig.FindStringSubmatch(text); m != nil {
			c.version("vllm", m[1])
			c.readBack("vllm", pythonFlags(callPair, m[2]), vllmSettings)
			return true
		}
	case strings.Contains(text, "server_args=ServerArgs("):
		if m := serverArgs.FindStringSubmatch(text); m != nil {
			c.readBack("sglang", pythonFlags(callPair, m[1]), nil)
			return true
		}
	case strings.Contains(text, "TensorRT-LLM version"):
		if m := trtVersion.FindStringSubmatch(text); m != nil {
			c.version("trtllm", m[1])
			return true
		}
	case strings.Contains(text, "Chunked prefill is enabled"):
		if m := chunkedWith.FindStringSubmatch(text); m != nil {
			c.resolved["max_batched_tokens"], c.resolved["chunked_prefill"] = core.ParseValue(m[1]), core.Bool(true)
			return true
		}
	case strings.HasPrefix(text, "GPU "):
		if m := listedGPU.FindStringSubmatch(text); m != nil {
			if c.gpu != "" && c.gpu != m[1] {
				m[1] = "" // a machine with several kinds
			}
			c.gpu = m[1]
			return true
		}
	}
	return false
}

func (c *companion) version(engine, version string) {
	if c.text.facts.versions == nil {
		c.text.facts.versions = map[string]string{}
	}
	c.text.facts.versions[engine] = version
	c.engine = engine
}

// pythonFlags reads the pairs of a printed dict or call.
func pythonFlags(pair *regexp.Regexp, text string) []flag {
	var flags []flag
	for _, m := range pair.FindAllStringSubmatch(text, maxFlags) {
		if value := strings.Trim(m[2], `'"`); value != "None" && value != "" {
			flags = append(flags, flag{name: m[1], value: strings.TrimPrefix(value, "torch.")})
		}
	}
	return flags
}

// vllmSettings are what is taken of the configuration that vLLM prints, whose
// names are partly its own; the rest is nested and has no flag.
var vllmSettings = map[string]string{
	"dtype": "dtype", "max_seq_len": "max_model_len", "tensor_parallel_size": "", "pipeline_parallel_size": "", "data_parallel_size": "",
	"quantization": "", "enforce_eager": "", "kv_cache_dtype": "", "seed": "", "enable_prefix_caching": "", "load_format": "",
	"chunked_prefill_enabled": "enable_chunked_prefill", "enable_chunked_prefill": "",
}

// readBack records settings that a server printed. names renames and filters them.
func (c *companion) readBack(engine string, flags []flag, names map[string]string) {
	c.engine = engine
	for _, f := range flags {
		name := f.name
		if names != nil {
			own, listed := names[name]
			if !listed {
				continue
			}
			name = firstOf(own, name)
		}
		if name == "model_path" {
			if c.text.facts.model == "" {
				c.text.facts.model = f.value
			}
			continue
		}
		if isKnob(name) && len(c.resolved) < maxFlags {
			knob, v := knobValue(engine, name, f)
			c.resolved[knob] = v
		}
	}
}

// complete fills what a trial does not know. Settings that the trial has itself,
// as overrides of a sweep or metadata, stay.
func (c *companion) complete(t *core.Trial) (warnings []string) {
	if c == nil {
		return nil
	}
	names := strings.Repeat("../", c.above) + strings.Join(c.names, ", ")
	own := &t.Setup
	if own.Config.Checkpoint != "" || own.Config.CommandKnown {
		return nil // the source itself shows its server
	}
	if len(c.configs) > 1 {
		return []string{names + ": several servers are started there: none is taken for this result"}
	}
	a := c.ask(t)
	before := own.Config.Knobs
	made := c.text.setup(&block{backend: own.Config.Engine}, a, "", map[string]core.Value{})
	cfg := made.Config
	cfg.Engine = firstOf(own.Config.Engine, cfg.Engine, c.engine)
	if cfg.Checkpoint == "" && strings.Contains(c.text.facts.model, "/") {
		cfg.Checkpoint = c.text.facts.model
	}
	if cfg.Checkpoint != "" {
		cfg.Model = modelOf(cfg.Checkpoint, own.Config.Model, a.model)
	} else {
		cfg.Model = firstOf(own.Config.Model, cfg.Model)
	}
	if len(before) > 0 {
		cfg.Knobs = maps.Clone(cfg.Knobs)
		if cfg.Knobs == nil {
			cfg.Knobs = core.Knobs{}
		}
		maps.Copy(cfg.Knobs, before)
	}
	own.Config = cfg
	own.EngineVersion = firstOf(own.EngineVersion, c.text.facts.versions[cfg.Engine])
	own.Image = firstOf(own.Image, made.Image)
	own.GPU = firstOf(own.GPU, made.GPU, c.gpu)
	own.WeightDtype = firstOf(own.WeightDtype, weightDtype(c.effective(cfg)))
	own.KVDtype = firstOf(own.KVDtype, made.KVDtype)
	own.SpecMethod = firstOf(own.SpecMethod, made.SpecMethod)
	c.launch(t)
	t.Extra = setExtra(t.Extra, "from_beside", core.String(names))
	fillAsked(t, a)
	return nil
}

// effective is a configuration with what the server printed laid under it.
func (c *companion) effective(cfg core.Config) core.Config {
	knobs := maps.Clone(c.resolved)
	maps.Copy(knobs, cfg.Knobs)
	cfg.Knobs = knobs
	return cfg
}

func (c *companion) launch(t *core.Trial) {
	var argv []string
	if s := c.text.server; s != nil && !s.isFlags {
		for _, w := range shellWords(maskSecrets(s.text)) {
			if len(argv) > 0 || !isAssignment(w) {
				argv = append(argv, w)
			}
		}
		if strings.Contains(s.text, "non-default args") {
			argv = nil // what a log prints of the arguments is no command
		}
	}
	if len(argv) == 0 && len(c.resolved) == 0 {
		return
	}
	if t.Launch == nil {
		t.Launch = &core.Launch{}
	}
	t.Launch.Argv = argv
	if t.Launch.Resolved == nil {
		t.Launch.Resolved = maps.Clone(c.resolved)
	}
	// Sizes that decide what a trial is stand in the configuration too.
	for _, name := range []string{"tp", "pp", "dp", "ep"} {
		// Of a known command an absent size is 1.
		_, given := t.Setup.Config.Knobs[name]
		if v, ok := c.resolved[name]; ok && !given && !t.Setup.Config.CommandKnown {
			if t.Setup.Config.Knobs == nil {
				t.Setup.Config.Knobs = core.Knobs{}
			}
			t.Setup.Config.Knobs[name] = v
		}
	}
	t.Launch.Setup = t.Setup
}

// ask gives the benchmark command that a result answers, an empty one where none
// fits: its number of prompts, its limits and its lengths must agree.
func (c *companion) ask(t *core.Trial) *ask {
	m := measured{completed: t.Figures["completed"]}
	if m.completed > 0 {
		m.meanIn, m.meanOut = t.Figures["input_tokens"]/m.completed, t.Figures["output_tokens"]/m.completed
	}
	agrees := func(a, b core.Value) bool { return a.IsMissing() || b.IsMissing() || a == b }
	as := asks{}
	for _, a := range c.text.asks.list {
		if agrees(a.load.NumPrompts, t.Load.NumPrompts) && agrees(a.load.Concurrency, t.Load.Concurrency) && agrees(a.load.RequestRate, t.Load.RequestRate) {
			as.list = append(as.list, a)
		}
	}
	if found := as.choose(m, labelHint{}, ""); found != nil {
		return found
	}
	return &ask{kind: askLabel}
}

// fillAsked completes what was asked by a command.
func fillAsked(t *core.Trial, a *ask) {
	w := &t.Workload
	if w.Dataset == "" && w.InputLen.IsMissing() {
		name := w.Name
		*w = a.workload
		w.Params = maps.Clone(a.workload.Params)
		w.Name = firstOf(name, workloadName(*w))
	}
	fill := func(to *core.Value, v core.Value) {
		if to.IsMissing() {
			*to = v
		}
	}
	fill(&t.Load.Seed, a.load.Seed)
	if a.kind == askCommand {
		fill(&t.Load.Concurrency, a.load.Concurrency)
		fill(&t.Load.RequestRate, a.load.RequestRate)
		fill(&t.Load.NumPrompts, a.load.NumPrompts)
	}
}
