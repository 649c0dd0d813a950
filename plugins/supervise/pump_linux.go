package supervise

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxPending bounds what waits in memory for the disk.
const maxPending = 4 << 20

// logPump empties the server's output pipe into a file. The pipe is always read,
// whatever the disk does, so that a server never blocks on its own output: what
// waits is bounded, the rest is dropped, counted and stated in the file.
type logPump struct {
	pipe  *os.File
	inode uint64
	file  *boundedFile // nil discards
	clean Filter       // nil lets all through
	wake  chan struct{}
	ended chan struct{} // the writer is through

	mu       sync.Mutex
	pending  []byte
	eof      bool
	overflow int64 // bytes dropped behind pending
	received int64
	recorded int64
	leftOut  int64
}

// startPump opens the log and returns the descriptor of the pipe's write end,
// which is for the server alone: the caller closes it once the server has it.
func startPump(path string, limits LogLimits, clean Filter) (*logPump, int, error) {
	l := &logPump{clean: clean, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if path != "" {
		file, err := newBoundedFile(path, limits)
		if err != nil {
			return nil, -1, err
		}
		l.file = file
	}
	// Note: os.Pipe would put both ends into non-blocking mode, and a server whose
	// stdout does not block loses output. Here only the reading end is set so.
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, -1, fmt.Errorf("make output pipe: %w", err)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fds[0], &st); err != nil {
		return nil, -1, fmt.Errorf("make output pipe: %w", err)
	}
	l.inode = st.Ino
	growPipe(fds[0])
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, -1, fmt.Errorf("make output pipe: %w", err)
	}
	l.pipe = os.NewFile(uintptr(fds[0]), "server output")
	go l.read()
	go l.write()
	return l, fds[1], nil
}

func (l *logPump) read() {
	buf := make([]byte, 256<<10)
	for {
		n, err := l.pipe.Read(buf)
		l.mu.Lock()
		l.received += int64(n)
		room := min(n, maxPending-len(l.pending))
		l.pending = append(l.pending, buf[:room]...)
		l.overflow += int64(n - room)
		l.eof = l.eof || err != nil
		l.mu.Unlock()
		select {
		case l.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (l *logPump) write() {
	defer close(l.ended)
	var raw []byte
	var owed int64 // bytes that a failed write dropped, to be stated before anything else
	held := false  // something came since the last pause
	for {
		pause := l.wait(held)
		held = false
		for {
			l.mu.Lock()
			raw, l.pending = l.pending, raw[:0]
			overflow, eof := l.overflow, l.eof
			l.overflow = 0
			l.mu.Unlock()
			idle := len(raw) == 0
			held = held || !idle
			if !idle {
				pause = NoPause
			}
			if eof {
				pause = Ended
			}
			batch := l.cleaned(raw, pause)
			pause = NoPause
			if len(batch) == 0 && overflow == 0 && owed == 0 {
				if eof {
					return
				}
				if idle {
					break
				}
				continue // an unended line is kept back
			}
			n := 0
			err := l.state(owed)
			if err == nil {
				owed = 0
				n, err = l.record(batch)
			}
			// What did not fit into memory came after the batch that had filled it.
			owed += int64(len(batch)-n) + overflow
			if err == nil {
				if err = l.state(owed); err == nil {
					owed = 0
				}
			}
			l.mu.Lock()
			l.recorded += int64(n)
			if l.file != nil {
				l.leftOut = l.file.leftOut
			}
			l.mu.Unlock()
			if err != nil {
				if eof {
					return // that was the last attempt; the run is told the figure too
				}
				time.Sleep(100 * time.Millisecond) // a full disk is asked again, not hammered
			}
		}
	}
}

// quietTime is after how long a server counts as quiet.
const quietTime = 200 * time.Millisecond

// wait returns when there is something to do: more came, or nothing did for a
// moment and a filter may hold something back.
func (l *logPump) wait(held bool) Pause {
	if l.clean == nil || !held {
		<-l.wake
		return NoPause
	}
	timer := time.NewTimer(quietTime)
	defer timer.Stop()
	select {
	case <-l.wake:
		return NoPause
	case <-timer.C:
		return Quiet
	}
}

// cleaned passes output through the filter. What comes out counts as what was
// received, so that only what was lost differs from what is on file.
func (l *logPump) cleaned(raw []byte, pause Pause) []byte {
	if l.clean == nil {
		return raw
	}
	batch := l.clean(raw, pause)
	l.mu.Lock()
	l.received += int64(len(batch) - len(raw))
	l.mu.Unlock()
	return batch
}

// state writes into the file how many bytes are missing at this place.
func (l *logPump) state(lost int64) error {
	if lost == 0 {
		return nil
	}
	_, err := l.record(fmt.Appendf(nil, "\n[sweepbook: %d bytes not recorded here: the disk was slow or full]\n", lost))
	return err
}

func (l *logPump) record(data []byte) (int, error) {
	if l.file == nil {
		return len(data), nil
	}
	return l.file.Write(data)
}

// finish waits until everything is on file, or for the given time at most: a
// hung disk must not keep the shim from saying that the tree is gone. It returns
// the bytes left out by the limits and those that never reached the file.
func (l *logPump) finish(limit time.Duration) (leftOut, lost int64) {
	select {
	case <-l.ended:
	case <-time.After(limit):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leftOut, l.received - l.recorded
}
