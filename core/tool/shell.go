package tool

import "strings"

// ShellLine renders arguments so that they can be pasted into a shell.
func ShellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = ShellWord(arg)
	}
	return strings.Join(quoted, " ")
}

// ShellWord quotes one argument where it needs to be.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("-_./:=,@%+", r) || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
