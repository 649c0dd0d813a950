package core

import "time"

// Launch is one life of a server. What reproduces it is kept exactly: argv,
// environment by allow-list, resolved settings and versions.
type Launch struct {
	ID          ID                `json:"id"`
	Setup       Setup             `json:"setup"`
	Argv        []string          `json:"argv,omitempty"`
	Env         map[string]string `json:"env,omitempty"`      // never a secret's value
	Resolved    Knobs             `json:"resolved,omitempty"` // read back from the server
	StartedAt   time.Time         `json:"started_at"`
	LoadS       Value             `json:"load_s"`  // weights loaded, seconds after start
	ReadyS      Value             `json:"ready_s"` // first streamed completion, seconds after start
	CompileWarm Value             `json:"compile_cache_warm"`
	Host        string            `json:"host,omitempty"`
	PluginSHA   string            `json:"plugin_sha256,omitempty"`
	Failure     FailureClass      `json:"failure,omitempty"`
	FailureText string            `json:"failure_text,omitempty"` // the line that proves the class
	Log         string            `json:"log,omitempty"`          // path of the bounded log
}
