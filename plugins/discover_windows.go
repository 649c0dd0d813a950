package plugins

// onlyOurs cannot judge access control lists; plugins of this system are those of
// folders that the user named.
func onlyOurs(string) error { return nil }
