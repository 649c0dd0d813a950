package core

import "math"

// The tables list what people tune and what the documents about tuning name. The
// order is the order of a command. Sources are the engines' own argument lists;
// ranges are only what the meaning of a flag implies. A flag whose removal is
// known says in which version.

// flagMaker writes the rows of one engine's table in its spelling.
type flagMaker struct {
	engine string
	dash   string // between the words of a flag
	no     bool   // switches have a --no- form
}

func (m flagMaker) row(own string, kind FlagKind, low, high float64, def Value, doc string) EngineFlag {
	flag := "--" + own
	if m.dash != "_" {
		flag = "--" + dashed(own)
	}
	f := EngineFlag{Name: ideaName(m.engine, own), Flag: flag, Kind: kind, Min: low, Max: high, Default: def, Doc: doc}
	if kind == SwitchFlag && m.no {
		f.Off = "--no-" + dashed(own)
	}
	return f
}

// ideaName is the canonical name without the aliases, which the tables feed.
func ideaName(engine, own string) string {
	for _, idea := range ideas {
		if idea.Own[engine] == own {
			return idea.Name
		}
	}
	return own
}

func (m flagMaker) text(own, def, doc string, choices ...string) EngineFlag {
	f := m.row(own, TextFlag, 0, 0, OptionalText(def), doc)
	f.Choices = choices
	return f
}

func (m flagMaker) whole(own string, low float64, def Value, doc string) EngineFlag {
	return m.row(own, WholeFlag, low, math.Inf(1), def, doc)
}

func (m flagMaker) size(own string, low float64, def Value, doc string) EngineFlag {
	return m.row(own, SizeFlag, low, math.Inf(1), def, doc)
}

// number is a fraction or factor from 0 up.
func (m flagMaker) number(own string, high float64, def Value, doc string) EngineFlag {
	return m.row(own, NumberFlag, 0, high, def, doc)
}

// on is a switch; def says what holds without it, Missing where that depends.
func (m flagMaker) on(own string, def Value, doc string) EngineFlag {
	return m.row(own, SwitchFlag, 0, 0, def, doc)
}

func (m flagMaker) list(own, doc string) EngineFlag {
	return m.row(own, ListFlag, 0, 0, Missing(), doc)
}

func (m flagMaker) object(own, doc string) EngineFlag {
	return m.row(own, JSONFlag, 0, 0, Missing(), doc)
}

// also adds spellings.
func (f EngineFlag) also(aliases ...string) EngineFlag {
	f.Aliases = append(f.Aliases, aliases...)
	return f
}

// until says in which version the flag is gone.
func (f EngineFlag) until(version string) EngineFlag {
	f.Until = version
	return f
}

// at moves a row of TensorRT-LLM from the command line to its options file.
func (f EngineFlag) at(path string) EngineFlag {
	f.Flag, f.Path = "", path
	f.Name = ideaName("trtllm", path)
	return f
}

func dashed(own string) string {
	b := []byte(own)
	for i, c := range b {
		if c == '_' {
			b[i] = '-'
		}
	}
	return string(b)
}
