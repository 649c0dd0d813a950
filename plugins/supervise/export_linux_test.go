package supervise

// What the external tests need of the inside: the parsers and the process table.
var (
	ParseMounts    = parseMounts
	ParseOwnCgroup = parseOwnCgroup
	ParseListeners = parseListeners
	FindMarker     = findMarker
	PlannedCgroup  = plannedCgroup
	CgroupName     = cgroupName
	BootID         = bootID
	PIDNamespace   = pidNamespace
	TicksNow       = ticksNow
	ReadProc       = readProc
	NoticeLen      = noticeLen
)

// Stat is what parseStat reads, with its unexported fields.
type Stat struct {
	ProcInfo
	Group, Session, Threads int
	Gone                    bool
}

// ParseStat shows what parseStat reads.
func ParseStat(data string) (Stat, error) {
	p, err := parseStat(data)
	return Stat{p, p.group, p.session, p.threads, p.gone()}, err
}

// Alive reports whether exactly this process lives.
func Alive(pid int, start uint64) bool { return identity{pid, start}.alive() }

// Folder is where a cgroup path lies under a mount.
func Folder(root, point, path string) string { return mount{root, point}.folder(path) }

// MountPair makes a mount comparable from outside.
type MountPair struct{ Root, Point string }

// Mounts converts what ParseMounts returns.
func Mounts(in []mount) []MountPair {
	out := []MountPair{}
	for _, m := range in {
		out = append(out, MountPair{m.root, m.point})
	}
	return out
}

// BoundedFile is the log file without a server before it.
type BoundedFile = boundedFile

// NewBoundedFile opens one.
func NewBoundedFile(path string, limits LogLimits) (*BoundedFile, error) {
	return newBoundedFile(path, limits)
}

// LeftOut is how many bytes were cut out of it.
func (b *boundedFile) LeftOut() int64 { return b.leftOut }
