package store

import "golang.org/x/sys/unix"

// remoteFS reports whether a folder lies on a file system on which SQLite's WAL
// is not safe, and its name. A file system that cannot be asked counts as local.
func remoteFS(dir string) (kind string, remote bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false
	}
	// The field's width differs between architectures.
	name, ok := remoteKinds[uint32(st.Type)]
	return name, ok
}

// remoteKinds are the magic numbers of statfs(2). FUSE is among them: it is how
// sshfs and the folders of virtual machines appear. It is never changed.
var remoteKinds = map[uint32]string{
	0x6969:     "NFS",
	0x0BD00BD0: "Lustre",
	0x517B:     "SMB",
	0xFF534D42: "CIFS",
	0xFE534D42: "SMB2",
	0x65735546: "FUSE",
	0x01021997: "9p",
	0x5346414F: "AFS",
	0x6B414653: "kAFS",
	0x00C36400: "Ceph",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x7461636F: "OCFS2",
	0x01161970: "GFS2",
	0xAAD7AAEA: "PanFS",
}
