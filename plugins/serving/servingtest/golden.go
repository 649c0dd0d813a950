package servingtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// Case is a configuration and the command that must come out of it, in the words
// of a shell, without the address that the host allots.
type Case struct {
	Name       string
	Checkpoint string
	Revision   string
	Knobs      core.Knobs
	Origin     core.Origin
	Want       string
	// Options is the file of further options, where there is one.
	Options string
}

// PlanRequest is the request of a case on the machine of the goldens.
func (c Case) PlanRequest(engine string) core.PlanRequest {
	return core.PlanRequest{
		Config: core.Config{Engine: engine, Checkpoint: c.Checkpoint, Revision: c.Revision, Knobs: c.Knobs, CommandKnown: true},
		Origin: c.Origin, Host: "127.0.0.1", Port: 21000, WorkDir: "/launches/0199",
	}
}

// Commands checks each case exactly, address and port at the end included.
func Commands(t *testing.T, engine core.Engine, name, address string, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			plan, err := engine.Plan(t.Context(), c.PlanRequest(name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want+" "+address, Shell(plan.Processes[0].Argv)); diff != "" {
				t.Error(diff)
			}
			options := ""
			for _, f := range plan.Processes[0].Files {
				options += string(f.Data)
			}
			if diff := cmp.Diff(c.Options, options); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Refusal is a request that must be refused with these words.
type Refusal struct {
	Name string
	Says []string
	// Change turns a sound request into the refused one.
	Change func(*core.PlanRequest)
}

// Knob is the refusal of one knob's value.
func Knob(name string, v core.Value, says ...string) Refusal {
	return Refusal{Name: name + "=" + v.String(), Says: append([]string{name}, says...), Change: func(r *core.PlanRequest) { r.Config.Knobs = core.Knobs{name: v} }}
}

// Refuses checks that each request is refused as invalid, in words that say what
// is wrong.
func Refuses(t *testing.T, engine core.Engine, name string, refusals []Refusal) {
	for _, r := range refusals {
		t.Run(r.Name, func(t *testing.T) {
			req := Case{Checkpoint: "a/b"}.PlanRequest(name)
			r.Change(&req)
			plan, err := engine.Plan(t.Context(), req)
			if err == nil {
				t.Fatalf("accepted: %q", plan.Processes[0].Argv)
			}
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("not an invalid request: %v", err)
			}
			for _, says := range r.Says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
		})
	}
}

// SeedsComeOut checks that every serve command of the tuning documents is what
// comes out of the configuration that it states.
func SeedsComeOut(t *testing.T, engine core.Engine, name string, atLeast int) {
	commands := SeedCommands(t, name)
	if len(commands) < atLeast {
		t.Errorf("%d commands were found, want at least %d", len(commands), atLeast)
	}
	for _, words := range commands {
		plan, err := engine.Plan(t.Context(), core.PlanRequest{Config: ConfigOf(t, name, words), Host: "127.0.0.1", Port: 21000})
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		if diff := cmp.Diff(Words(words), Words(plan.Processes[0].Argv)); diff != "" {
			t.Errorf("%q came out otherwise:\n%s", words, diff)
		}
	}
}

// Shell writes a command as a shell reads it back.
func Shell(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'{}[]$&|;<>()*?#~`\\") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
