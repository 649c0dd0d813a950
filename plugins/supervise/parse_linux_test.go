package supervise_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sweepbook/sweepbook/plugins/supervise"
)

const statTail = " 77 4711 4710 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 987654 1 2 3"

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		want       supervise.Stat
		bad        bool
	}{
		{"plain", "4711 (vllm) S" + statTail, supervise.Stat{ProcInfo: supervise.ProcInfo{PID: 4711, PPID: 77, Start: 987654, State: "S", Command: "[vllm]"}, Group: 4711, Session: 4710, Threads: 3}, false},
		{"brackets, blanks and a line end in the name", "5 (a) R 1 (\nb) Z" + statTail, supervise.Stat{ProcInfo: supervise.ProcInfo{PID: 5, PPID: 77, Start: 987654, State: "Z", Command: "[a) R 1 (\nb]"}, Group: 4711, Session: 4710, Threads: 3}, false},
		{"zombie", "6 (x) Z" + strings.Replace(statTail, " 3 0 987654", " 1 0 987654", 1), supervise.Stat{ProcInfo: supervise.ProcInfo{PID: 6, PPID: 77, Start: 987654, State: "Z", Command: "[x]"}, Group: 4711, Session: 4710, Threads: 1, Gone: true}, false},
		{"empty", "", supervise.Stat{}, true},
		{"no brackets", "1 x S 1", supervise.Stat{}, true},
		{"short", "1 (x) S 1 2 3", supervise.Stat{}, true},
		{"no number", "1 (x) S" + strings.Replace(statTail, "77", "seven", 1), supervise.Stat{}, true},
		{"negative start", "1 (x) S" + strings.Replace(statTail, "987654", "-1", 1), supervise.Stat{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := supervise.ParseStat(tc.data)
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(supervise.ProcInfo{})); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

const hybridMounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 31 0:31 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 master:2 - cgroup2 cgroup2 rw
42 31 0:38 /docker/ab\040c /mnt/c\040g rw - cgroup2 cgroup rw
broken
`

func TestParseMounts(t *testing.T) {
	got, err := supervise.ParseMounts(strings.NewReader(hybridMounts))
	if err != nil {
		t.Fatal(err)
	}
	want := []supervise.MountPair{{"/", "/sys/fs/cgroup/unified"}, {"/docker/ab c", "/mnt/c g"}}
	if diff := cmp.Diff(want, supervise.Mounts(got)); diff != "" {
		t.Error(diff)
	}
}

func TestCgroupFolder(t *testing.T) {
	for _, tc := range []struct{ root, point, path, want string }{
		{"/", "/sys/fs/cgroup", "/", "/sys/fs/cgroup"},
		{"/", "/sys/fs/cgroup", "/user.slice/a", "/sys/fs/cgroup/user.slice/a"},
		{"/docker/x", "/cg", "/docker/x/y", "/cg/y"},
		{"/docker/x", "/cg", "/docker/x", "/cg"},
		{"/docker/x", "/cg", "/docker/xy", ""},
		{"/docker/x", "/cg", "/other", ""},
		{"/", "/cg", "/../outside", ""},
		{"/", "/cg", "/..", ""},
	} {
		if got := supervise.Folder(tc.root, tc.point, tc.path); got != tc.want {
			t.Errorf("%s of %s at %s: %q, want %q", tc.path, tc.root, tc.point, got, tc.want)
		}
	}
}

func TestCgroupName(t *testing.T) {
	if got, want := supervise.CgroupName("A=01890a5d-ac96-774b-bcce-b302099a8057"), "sweepbook-01890a5d-ac96-774b-bcce-b302099a8057"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, id := range []string{"../..", "a/b", "a b", strings.Repeat("x", 300)} {
		name := supervise.CgroupName("A=" + id)
		if strings.ContainsAny(name, "/. ") || len(name) > 120 || name == supervise.CgroupName("A=other/") {
			t.Errorf("%q gives %q", id, name)
		}
	}
}

func TestParseOwnCgroup(t *testing.T) {
	for data, want := range map[string]string{
		"9:name=systemd:/\n4:memory:/x\n0::/user.slice\n": "/user.slice",
		"0::/\n":            "/",
		"0::/a":             "/a",
		"4:memory:/x\n":     "",
		"":                  "",
		"0::relative\n":     "",
		"10::/not-ours\n":   "",
		"0:name=x:/other\n": "",
	} {
		if got, ok := supervise.ParseOwnCgroup([]byte(data)); got != want || ok != (want != "") {
			t.Errorf("%q gives %q, %t, want %q", data, got, ok, want)
		}
	}
}

const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1001 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 1002 1 0 100 0 0 10 0
   2: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1003 1 0 100 0 0 10 0
   3: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1004 1 0
`

func TestParseListeners(t *testing.T) {
	got, err := supervise.ParseListeners(strings.NewReader(tcpTable), 8080)
	if diff := cmp.Diff([]uint64{1001, 1004}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []string{strings.Replace(tcpTable, "0100007F:1F90 00000000", "0100007F-1F90 00000000", 1), strings.Replace(tcpTable, "1001", "many", 1)} {
		if _, err := supervise.ParseListeners(strings.NewReader(bad), 8080); err == nil {
			t.Error("a broken table is read")
		}
	}
}

func TestFindMarker(t *testing.T) {
	for _, tc := range []struct{ environ, prefix, want string }{
		{"A=1\x00M=x\x00B=2\x00", "M=", "M=x"},
		{"M=x", "M=x", "M=x"},
		{"AM=x\x00", "M=", ""},
		{"A=M=x\x00", "M=", ""},
		{"", "M=", ""},
	} {
		if got := supervise.FindMarker([]byte(tc.environ), tc.prefix); got != tc.want {
			t.Errorf("%q in %q: %q, want %q", tc.prefix, tc.environ, got, tc.want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("4711 (vllm) S" + statTail)
	f.Add("5 (a) R 1 (\nb) Z" + statTail)
	f.Fuzz(func(t *testing.T, data string) {
		p, err := supervise.ParseStat(data)
		if err == nil && (p.State == "" || !strings.HasPrefix(p.Command, "[") || !strings.Contains(data, strings.Trim(p.Command, "[]"))) {
			t.Errorf("%q gives %+v", data, p)
		}
	})
}

func FuzzParseMounts(f *testing.F) {
	f.Add(hybridMounts, "/docker/ab c/d")
	f.Fuzz(func(t *testing.T, data, path string) {
		mounts, err := supervise.ParseMounts(strings.NewReader(data))
		if err != nil {
			return
		}
		for _, m := range supervise.Mounts(mounts) {
			folder := supervise.Folder(m.Root, m.Point, path)
			if folder != "" && strings.HasPrefix(m.Point, "/") && !strings.Contains(m.Point, "..") && !strings.HasPrefix(folder, strings.TrimRight(filepath.Clean(m.Point), "/")) {
				t.Errorf("path %q of mount %+v leaves it: %q", path, m, folder)
			}
		}
	})
}

func FuzzParseListeners(f *testing.F) {
	f.Add(tcpTable, 8080)
	f.Fuzz(func(t *testing.T, data string, port int) {
		inodes, err := supervise.ParseListeners(strings.NewReader(data), port)
		if err == nil && len(inodes) > strings.Count(data, "0A") {
			t.Errorf("%d sockets in %q", len(inodes), data)
		}
	})
}

func FuzzParseOwnCgroup(f *testing.F) {
	f.Add([]byte("9:name=systemd:/\n0::/user.slice\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if path, ok := supervise.ParseOwnCgroup(data); ok != strings.HasPrefix(path, "/") || strings.Contains(path, "\n") {
			t.Errorf("%q gives %q, %t", data, path, ok)
		}
	})
}
