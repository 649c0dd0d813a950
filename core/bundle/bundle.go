package bundle

import (
	"errors"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Format is the version of the schema that this code writes, and the newest that it
// reads. A reader takes members and files that it does not know for additions; what
// changes the meaning of one raises the number.
const Format = 1

// The files of a bundle. Study, requests and log are there where they are known.
const (
	ManifestFile = "MANIFEST.json"
	TrialFile    = "trial.json"      // a core.Trial
	StudyFile    = "study.json"      // a core.StudyVersion
	RequestsFile = "requests.ndjson" // a core.Sample a line
	LogFile      = "server.log"      // the end of it, without secrets
)

// Suffix ends the names of bundles.
const Suffix = ".bundle"

// ErrCut says that a folder is no whole bundle: it was cut off while it was written
// or copied.
var ErrCut = errors.New("no " + ManifestFile + ": it was cut off while it was written or copied")

// Bundle is the content of one.
type Bundle struct {
	Trial   *core.Trial
	Study   *core.StudyVersion // nil where the study was defined nowhere
	Samples []core.Sample
	Log     []byte // only written
}

// Manifest says what a bundle is and what is in it.
type Manifest struct {
	Format    int         `json:"sweepbook_bundle"`
	Trial     core.ID     `json:"trial"`
	Study     string      `json:"study,omitempty"`
	Status    core.Status `json:"status"`
	Requests  int         `json:"requests"` // lines of requests.ndjson
	Written   time.Time   `json:"written"`
	Host      string      `json:"host,omitempty"` // that wrote it; the trial names its own
	Sweepbook string      `json:"sweepbook_version,omitempty"`
	Files     []File      `json:"files"`
}

// File is one file of a bundle.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	What   string `json:"what"` // for people
}
