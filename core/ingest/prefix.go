package ingest

import (
	"regexp"
	"strings"
)

// What tools put before a line of output. Each is cut only where something is
// left behind it.
var (
	quoteMark   = regexp.MustCompile(`^(?:>\s?)+`)
	lineNumber  = regexp.MustCompile(`^\d{1,6}(?:\t|:\s?|\s*\|\s?|\s{2,})([^\d\s].*)$`)
	composeName = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*\s*\|\s`)
	timestamp   = regexp.MustCompile(`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?\s*`)
	syslogName  = regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:\S+ )?[\w./-]+(?:\[\d+\])?: `)
	clockTime   = regexp.MustCompile(`^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+`)
	streamName  = regexp.MustCompile(`^(?:std(?:out|err) [FP] |<std(?:out|err)>:\s?)`)
	rankNumber  = regexp.MustCompile(`^\[\d+,\d+\](?:<std(?:out|err)>)?:\s?`)
	processName = regexp.MustCompile(`^\([A-Za-z_][\w-]*(?: [\w-]+=[^\s)]+)+\)\s*`)
	rankName    = regexp.MustCompile(`^\[(?:rank|pod|node|worker|default)[^\]]*\]:?\s*`)
	logLevel    = regexp.MustCompile(`^(?:INFO|WARNING|WARN|ERROR|DEBUG)\b:?\s+(?:\d\d-\d\d \d\d:\d\d:\d\d\s*)?(?:\[[^\]]*\]:?\s*)*`)
)

// cutPrefixes removes quote marks, copied line numbers, container names, time
// stamps, process names and log levels in any sensible nesting. It reports
// whether any of them was one of a log.
func cutPrefixes(raw string) (text string, log bool) {
	text = strings.TrimSpace(raw)
	for range 6 {
		cut, isLog := cutPrefix(text)
		if cut == text {
			break
		}
		text, log = strings.TrimSpace(cut), log || isLog
	}
	return text, log
}

func cutPrefix(text string) (rest string, log bool) {
	if text == "" {
		return text, false
	}
	try := func(re *regexp.Regexp) string { return text[len(re.FindString(text)):] }
	switch c := text[0]; {
	case c == '>':
		return try(quoteMark), false
	case c == '(':
		return try(processName), true
	case c == '[':
		for _, re := range []*regexp.Regexp{timestamp, rankNumber, clockTime} {
			if cut := try(re); cut != text {
				return cut, true
			}
		}
		return try(rankName), true
	case c >= '0' && c <= '9':
		if m := lineNumber.FindStringSubmatch(text); m != nil {
			return m[1], false
		}
		for _, re := range []*regexp.Regexp{timestamp, clockTime} {
			if cut := try(re); cut != text {
				return cut, true
			}
		}
	case c == 's' || c == '<':
		if cut := try(streamName); cut != text {
			return cut, true
		}
	case c == 'I' || c == 'W' || c == 'E' || c == 'D':
		if cut := try(logLevel); cut != text {
			return cut, true
		}
	}
	if c := text[0]; c >= 'A' && c <= 'Z' && len(text) > 15 && text[3] == ' ' && text[9] == ':' {
		if cut := try(syslogName); cut != text {
			return cut, true
		}
	}
	if bar := strings.IndexByte(text, '|'); bar > 0 && bar < 64 {
		return try(composeName), true
	}
	return text, false
}
