package serving

import (
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Dialect is what one engine does in its own way. All of it is data or a pure
// function; the [Adapter] does the work.
type Dialect struct {
	Name    string // of the engine and of its knob table, "vllm"
	Version string // of the adapter
	Package string // Python distribution whose version is the engine's
	Install string // how to get it, for people

	// Command starts the server where the engine is found on the path; the model
	// follows. Module is what a Python interpreter runs instead ("-m" and a module),
	// where the engine is started that way.
	Command []string
	Module  []string
	// Entrypoint and ImageCommand start the server in a container, whatever the
	// image itself would start.
	Entrypoint   string
	ImageCommand []string
	// Images is where official images come from, for people.
	Images string

	ModelFlag string // before the model; "" gives it bare
	NameFlag  string // names the model that a folder is served as; "" where there is none
	Join      bool   // --flag=value, else --flag value
	Underline bool   // raw flags are written with underscores
	NoForm    bool   // a raw switch that is false is written --no-x

	// Reserved are knobs that are not the configuration's to choose, beside those
	// of every engine, with the reason.
	Reserved map[string]string
	// OptionsFlag passes the file of further options, where the engine has one.
	OptionsFlag string

	Env     map[string]string // of the server
	Help    [][]string        // arguments that print every flag, the best first
	Always  []string          // flags of every version: a help without them is only a page of it
	Health  string            // path that must answer 200 before models are asked for; "" is none
	Timeout time.Duration     // cap of a start
	Idle    time.Duration     // of a start without any progress

	// ServedModel is the model id that the server gives a checkpoint; nil is the
	// checkpoint itself.
	ServedModel func(checkpoint string) string
	// Read takes what one log line says of the start, without time and colours.
	Read func(line string, r *Report)
	// Ask takes what the server says of itself once it is ready. It fails softly.
	Ask func(q Question, r *Report)
	// Signatures are the engine's own failures, beside [SharedSignatures].
	Signatures []Signature
}

// reserved are knobs that no configuration may hold: what is bound to one launch
// or is secret. An equal choice must stay equal on another port and machine.
var reserved = map[string]string{
	"host": "the host allots the address", "port": "the host allots the port",
	"model": "give checkpoint", "model_path": "give checkpoint", "model_tag": "give checkpoint",
	"revision":          "give revision beside checkpoint",
	"api_key":           "a server on the loopback address needs none; secrets are never knobs",
	"admin_api_key":     "secrets are never knobs",
	"api_keys":          "secrets are never knobs",
	"hf_token":          "secrets are never knobs: list HF_TOKEN under run.secrets",
	"ssl_keyfile":       "the server is asked over plain HTTP",
	"ssl_certfile":      "the server is asked over plain HTTP",
	"served_model_name": "the checkpoint names the model",
	"config":            "settings of a file would not be recorded: give them as knobs",
	"log_level":         "the log is read by sweepbook",
}

func (d *Dialect) whyReserved(name string) string {
	snake := core.SnakeKnob(name)
	if why, ok := d.Reserved[snake]; ok {
		return why
	}
	return reserved[snake]
}

func (d *Dialect) servedModel(checkpoint string) string {
	if d.ServedModel == nil {
		return checkpoint
	}
	return d.ServedModel(checkpoint)
}
