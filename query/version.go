package query

import (
	"cmp"
	"strings"
)

// version is a version number as PEP 440 reads it. Numbers stay digit strings
// without leading zeros, since builds put dates and counters there of any length.
type version struct {
	epoch   string
	release []string // without trailing zeros, so that 1.0 equals 1
	phase   int      // see the phases below
	pre     string
	post    string // "" none
	dev     string // "" none
	local   []string
}

// The phases in the order of PEP 440: a development release that is neither
// pre- nor post-release comes before every pre-release of its version.
const (
	phaseDev = iota
	phaseAlpha
	phaseBeta
	phaseCandidate
	phaseFinal
)

// parseVersion reads "1.2", "v0.11.0rc1", "0.5.5.post1", "1!2.0.dev3+cu128". ok is
// false for text that is no such version ("nightly", an image digest).
func parseVersion(text string) (v version, ok bool) {
	s := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "v")
	s, local, hasLocal := strings.Cut(s, "+")
	if hasLocal {
		if v.local, ok = localSegments(local); !ok {
			return version{}, false
		}
	}
	digits, rest := leadingDigits(s)
	if digits == "" {
		return version{}, false
	}
	v.epoch = "0"
	if after, found := strings.CutPrefix(rest, "!"); found {
		v.epoch = digits
		if digits, rest = leadingDigits(after); digits == "" {
			return version{}, false
		}
	}
	v.release = append(v.release, digits)
	for strings.HasPrefix(rest, ".") {
		digits, after := leadingDigits(rest[1:])
		if digits == "" {
			break
		}
		v.release = append(v.release, digits)
		rest = after
	}
	for len(v.release) > 1 && v.release[len(v.release)-1] == "0" {
		v.release = v.release[:len(v.release)-1]
	}
	rest = v.suffixes(rest)
	if rest != "" {
		return version{}, false
	}
	return v, true
}

// suffixes reads pre-, post- and development parts and returns what is left.
func (v *version) suffixes(rest string) string {
	v.phase = phaseFinal
	pre := []struct {
		name  string
		phase int
	}{{"alpha", phaseAlpha}, {"a", phaseAlpha}, {"beta", phaseBeta}, {"b", phaseBeta}, {"preview", phaseCandidate},
		{"pre", phaseCandidate}, {"rc", phaseCandidate}, {"c", phaseCandidate}}
	for _, p := range pre {
		if n, after, ok := named(rest, p.name); ok {
			v.phase, v.pre, rest = p.phase, n, after
			break
		}
	}
	if after, ok := strings.CutPrefix(rest, "-"); ok {
		if n, after := leadingDigits(after); n != "" {
			v.post, rest = n, after // "1.0-1" is a post-release
		}
	}
	if v.post == "" {
		for _, name := range []string{"post", "rev", "r"} {
			if n, after, ok := named(rest, name); ok {
				v.post, rest = n, after
				break
			}
		}
	}
	if n, after, ok := named(rest, "dev"); ok {
		v.dev, rest = n, after
	}
	if v.dev != "" && v.phase == phaseFinal && v.post == "" {
		v.phase = phaseDev
	}
	return rest
}

// named reads [sep] name [sep] [digits]; a missing number is 0.
func named(s, name string) (n, rest string, ok bool) {
	after, ok := strings.CutPrefix(trimSeparator(s), name)
	if !ok {
		return "", s, false
	}
	if n, rest = leadingDigits(trimSeparator(after)); n != "" {
		return n, rest, true
	}
	if after != "" && after[0] >= 'a' && after[0] <= 'z' && !strings.HasPrefix(after, "dev") && !strings.HasPrefix(after, "post") {
		return "", s, false // another, longer word
	}
	return "0", after, true
}

func trimSeparator(s string) string {
	if s != "" && strings.IndexByte(".-_", s[0]) >= 0 {
		return s[1:]
	}
	return s
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && isDigit(rune(s[i])) {
		i++
	}
	if i == 0 {
		return "", s
	}
	digits = strings.TrimLeft(s[:i], "0")
	if digits == "" {
		digits = "0"
	}
	return digits, s[i:]
}

func localSegments(s string) ([]string, bool) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	for i, part := range parts {
		for _, r := range part {
			if !isDigit(r) && (r < 'a' || r > 'z') {
				return nil, false
			}
		}
		if digits, rest := leadingDigits(part); rest == "" {
			parts[i] = digits
		}
	}
	return parts, len(parts) > 0
}

// compareVersions orders two versions by PEP 440: -1, 0 or 1.
func compareVersions(a, b version) int {
	if c := compareDigits(a.epoch, b.epoch); c != 0 {
		return c
	}
	for i := range max(len(a.release), len(b.release)) {
		if c := compareDigits(at(a.release, i), at(b.release, i)); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(a.phase, b.phase); c != 0 {
		return c
	}
	if c := compareDigits(a.pre, b.pre); c != 0 {
		return c
	}
	// No post-release comes before any, no development part after all.
	if c := comparePresence(a.post, b.post, -1); c != 0 {
		return c
	}
	if c := comparePresence(a.dev, b.dev, 1); c != 0 {
		return c
	}
	return compareLocal(a.local, b.local)
}

func at(release []string, i int) string {
	if i < len(release) {
		return release[i]
	}
	return "0"
}

func compareDigits(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// comparePresence compares numbers of which "" is none; absent says how none
// compares with any.
func comparePresence(a, b string, absent int) int {
	switch {
	case a == "" && b == "":
		return 0
	case a == "":
		return absent
	case b == "":
		return -absent
	}
	return compareDigits(a, b)
}

func compareLocal(a, b []string) int {
	for i := range min(len(a), len(b)) {
		x, y := isDigit(rune(a[i][0])) && allDigits(a[i]), isDigit(rune(b[i][0])) && allDigits(b[i])
		switch {
		case x && y:
			if c := compareDigits(a[i], b[i]); c != 0 {
				return c
			}
		case x != y: // a number is newer than a word
			if x {
				return 1
			}
			return -1
		default:
			if c := strings.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(len(a), len(b))
}

func allDigits(s string) bool {
	_, rest := leadingDigits(s)
	return rest == ""
}
