package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Standing is what can be known of the holder of a study.
type Standing uint8

const (
	// HolderNone: nobody holds it.
	HolderNone Standing = iota
	// HolderAlive: the very process that took hold of it runs on this machine: host,
	// boot, process id and its time of start are those that it wrote.
	HolderAlive
	// HolderGone: it was on this machine and is no more; the study is free.
	HolderGone
	// HolderElsewhere: it is on another machine, or this one cannot tell.
	HolderElsewhere
)

// Holder is who holds a study, or held it last without letting go.
type Holder struct {
	Study string
	Host  string
	PID   int
	Since time.Time

	owner owner
}

// StudyHolder reads who holds a study of the history in a file, which is not opened;
// the standing is HolderNone where nobody does.
func StudyHolder(history, study string) (Holder, Standing, error) {
	text, err := os.ReadFile(lockPath(history, study))
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, HolderNone, nil
	}
	if err != nil {
		return Holder{}, HolderNone, fmt.Errorf("study %s: %w", study, err)
	}
	var by owner
	if err := json.Unmarshal(text, &by); err != nil {
		// It is locked first and written then.
		return Holder{Study: study}, HolderElsewhere, nil
	}
	h := Holder{Study: by.Study, Host: by.Host, PID: by.PID, Since: by.Since, owner: by}
	return h, h.Standing(), nil
}

// Standing looks again.
func (h Holder) Standing() Standing {
	host, err := os.Hostname()
	switch {
	case err != nil || h.owner.Host != host:
		return HolderElsewhere
	case h.owner.BootID == "" || h.owner.Started == "" || bootID() == "":
		return HolderElsewhere // no proof either way
	case h.owner.BootID != bootID():
		return HolderGone
	}
	if startOf(h.owner.PID) == h.owner.Started {
		return HolderAlive
	}
	return HolderGone
}
