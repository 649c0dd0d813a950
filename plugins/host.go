package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/sweepbook/sweepbook/core"
)

// Host starts plugins. The zero Host works.
type Host struct {
	// Logger receives what plugins log and, at debug level, what go-plugin says.
	// Nil drops both.
	Logger *slog.Logger
	// Env names further variables of the host's environment that plugins may see,
	// beside the usual ones for paths, language, CUDA and caches. "PREFIX*" stands
	// for all names that start so, except those that look like secrets.
	Env []string
	// StartTimeout is how long a plugin may take until it answers; zero is 30 s.
	StartTimeout time.Duration
	// KillTimeout is how long a plugin may take to end when it is closed, before it
	// and its process group are killed; zero is 10 s.
	KillTimeout time.Duration
}

// Spec says which program serves an engine.
type Spec struct {
	Name string   // of the engine; Info must say the same
	Path string   // absolute path of the executable
	Args []string // after the program's own name
	// Manifest is the file that describes the engine, where Path is a program that
	// serves manifests: it is given a private copy and the name of the file.
	Manifest string
	// SHA256 pins the executable, or the manifest where there is one, 64 hexadecimal
	// digits; empty only records it. What is pinned runs from a private copy.
	SHA256   string
	ExtraEnv []string // "NAME=value" for this plugin alone, secrets included
}

// File is what makes the engine what it is: its manifest, else its executable.
func (s Spec) File() string {
	if s.Manifest != "" {
		return s.Manifest
	}
	return s.Path
}

// enclose copies what must not change into the plugin's private folder and gives
// the spec that uses the copy.
func (e executable) enclose(spec Spec, dir string) (Spec, error) {
	if spec.Manifest == "" && spec.SHA256 == "" {
		return spec, nil
	}
	mode := os.FileMode(0o500)
	if spec.Manifest != "" {
		mode = 0o400
	}
	private, err := e.copyTo(filepath.Join(dir, filepath.Base(spec.File())), mode)
	if err != nil {
		return spec, err
	}
	if spec.Manifest == "" {
		spec.Path = private
		return spec, nil
	}
	spec.Args = append(append([]string(nil), spec.Args...), private, spec.Manifest)
	return spec, nil
}

// running is what a Client holds of the plugin's process.
type running struct {
	proc        *process
	client      *goplugin.Client
	dir, sha256 string
	killTimeout time.Duration
	once        sync.Once
	closed      error
}

// Start starts a plugin, waits until it answers, and checks that it is the engine
// that spec names. A plugin that fails to start is gone when Start returns; the
// error quotes what it printed. ErrPinned and ErrVersion can be told apart.
func (h *Host) Start(ctx context.Context, spec Spec) (*Client, error) {
	c, err := h.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("engine %s: start plugin %s: %w", spec.Name, spec.File(), err)
	}
	return c, nil
}

func (h *Host) start(ctx context.Context, spec Spec) (*Client, error) {
	if err := checkName(spec.Name); err != nil {
		return nil, err
	}
	exe, err := openExecutable(spec.File())
	if err != nil {
		return nil, err
	}
	defer func() { _ = exe.file.Close() }() // only read
	if spec.SHA256 != "" && !strings.EqualFold(spec.SHA256, exe.sha256) {
		return nil, fmt.Errorf("%w: sha256 is %s, pinned is %s: if the change is meant, add the plugin again", ErrPinned, exe.sha256, spec.SHA256)
	}
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	if spec, err = exe.enclose(spec, dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	exe.private = spec.Manifest != "" || spec.SHA256 != ""
	r := &running{dir: dir, sha256: exe.sha256, killTimeout: orDefault(h.KillTimeout, 10*time.Second)}
	config := h.config(spec, r)
	r.client = goplugin.NewClient(config)

	limit := orDefault(h.StartTimeout, 30*time.Second)
	startCtx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	type result struct {
		c   *Client
		err error
	}
	// go-plugin's calls have no context and hold a lock while they wait, so they
	// run aside; killing the process is what frees them.
	answered := make(chan result, 1)
	go func() {
		c, err := r.connect(startCtx, config, spec, exe)
		answered <- result{c, err}
	}()
	select {
	case res := <-answered:
		if res.err == nil {
			return res.c, nil
		}
		if err = context.Cause(startCtx); err == nil {
			err = r.explain(res.err)
		}
	case <-startCtx.Done():
		err = context.Cause(startCtx)
	}
	r.abandon()
	return nil, err
}

// config prepares go-plugin. The runner is made when go-plugin has chosen the
// folder of the socket and its variables.
func (h *Host) config(spec Spec, r *running) *goplugin.ClientConfig {
	logger := h.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	logger = logger.With("engine", spec.Name)
	log := &pluginLog{out: logger}
	cmd := exec.Command(spec.Path, spec.Args...)
	if spec.Path == selfExe {
		cmd.Args[0] = "sweepbook" // what ps shows
	}
	// Passed on last, the plugin's own variables win over the host's.
	cmd.Env = allowedEnv(os.Environ(), append(append([]string(nil), defaultEnv...), h.Env...))
	cmd.Env = append(cmd.Env, "TMPDIR="+r.dir, "TMP="+r.dir, "TEMP="+r.dir, dirVariable+"="+r.dir)
	cmd.Env = append(cmd.Env, spec.ExtraEnv...)
	r.proc = newProcess(cmd, log)
	return &goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: versions(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     24 * time.Hour, // ours ends the wait, see start
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: r.dir},
		GRPCDialOptions:  DialOptions(),
		Logger:           quietLogger(logger),
		SyncStdout:       &lineWriter{log: log, stream: "stdout"},
		SyncStderr:       &lineWriter{log: log, stream: "stderr"},
		RunnerFunc: func(_ hclog.Logger, theirs *exec.Cmd, socketDir string) (runner.Runner, error) {
			r.proc.cmd.Env = append(r.proc.cmd.Env, theirs.Env...)
			r.proc.socketDir = socketDir
			return r.proc, nil
		},
	}
}

// connect starts the process and returns its engine.
func (r *running) connect(ctx context.Context, config *goplugin.ClientConfig, spec Spec, exe executable) (*Client, error) {
	if _, err := r.client.Start(); err != nil {
		return nil, err
	}
	if err := exe.unchanged(spec.Path); err != nil {
		return nil, err
	}
	if err := r.proc.ownSocket(); err != nil {
		return nil, err
	}
	if !r.proc.secured() {
		// A plugin without certificates, in Python say. Its socket lies in a folder
		// that only this user can enter, so nobody else can answer on it or call it.
		config.TLSConfig = nil
	}
	protocol, err := r.client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(service)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	go func() { <-r.proc.exited; end() }()
	c, ok := raw.(*Client)
	if !ok {
		end()
		return nil, fmt.Errorf("dispensed a %T", raw)
	}
	c.name, c.life, c.plugin = spec.Name, life, r
	info, err := c.Info(ctx)
	if err != nil {
		return nil, err
	}
	if info.Name != spec.Name {
		return nil, fmt.Errorf("%w: the plugin says that it is engine %q", core.ErrConflict, clip(clean(info.Name), 80))
	}
	return c, nil
}

// explain prefers what the process itself shows over what go-plugin says.
func (r *running) explain(err error) error {
	if known := r.proc.refused(); known != nil {
		return known
	}
	if errors.Is(err, core.ErrPluginExited) {
		return err
	}
	if r.proc.greetedYet() {
		select {
		case <-r.proc.exited:
			return fmt.Errorf("%w after the handshake: %s", core.ErrPluginExited, r.proc.epitaph())
		default:
			return err
		}
	}
	select {
	case <-r.proc.exited: // its status is about to be known
	case <-time.After(time.Second):
	}
	if known := r.proc.refused(); known != nil {
		return known
	}
	return err
}

// abandon makes sure that a plugin which did not start leaves nothing behind.
func (r *running) abandon() {
	r.proc.kill()
	freed := make(chan struct{})
	go func() {
		r.client.Kill() // closes what go-plugin opened
		close(freed)
	}()
	select {
	case <-freed:
	case <-time.After(r.killTimeout):
	}
	if r.proc.ID() != "" {
		select {
		case <-r.proc.exited:
		case <-time.After(r.killTimeout):
		}
	}
	_ = os.RemoveAll(r.dir)
}

// Close ends the plugin: it is asked to end, and killed with its process group
// when it has not after Host.KillTimeout or when ctx ends. Calls in flight return
// core.ErrPluginExited. Close returns an error only if the process is still there;
// closing again returns the same.
func (c *Client) Close(ctx context.Context) error {
	if c.plugin == nil {
		return nil
	}
	c.plugin.once.Do(func() { c.plugin.closed = c.plugin.close(ctx) })
	return c.plugin.closed
}

func (r *running) close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		r.client.Kill() // may wait for ever, whatever the plugin does
		close(done)
	}()
	// A plugin without go-plugin's Shutdown is asked by the end of its lifeline.
	hint := time.AfterFunc(500*time.Millisecond, r.proc.hangUp)
	defer hint.Stop()
	timer := time.NewTimer(r.killTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
	}
	r.proc.kill()
	defer func() { _ = os.RemoveAll(r.dir) }() // a private folder without anything to keep
	select {
	case <-r.proc.exited:
		return nil
	case <-time.After(2 * time.Second):
		return fmt.Errorf("plugin process %s does not end and is left behind", r.proc.ID())
	}
}

// Done is closed when the plugin's process has ended, whatever ended it.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

// SHA256 is the sum of the executable that was started, or of its manifest, recorded with each trial;
// empty for a client without a process.
func (c *Client) SHA256() string {
	if c.plugin == nil {
		return ""
	}
	return c.plugin.sha256
}

// PID is the plugin's process id, 0 for a client without a process.
func (c *Client) PID() int {
	if c.plugin == nil {
		return 0
	}
	return c.plugin.proc.processID()
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
