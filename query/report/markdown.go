package report

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// Markdown writes the report as GitHub-flavoured Markdown. imageDir is the folder
// of the pictures as seen from the file, with forward slashes; "" is the same one.
func (r *Report) Markdown(imageDir string) []byte {
	var b bytes.Buffer
	for i, bl := range r.blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch {
		case bl.heading != "":
			fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", bl.level), escapeMarkdown(bl.heading))
		case bl.paragraph != nil:
			b.WriteString(startOfLine(bl.paragraph.markdown()) + "\n")
		case bl.notice != nil:
			b.WriteString("> " + startOfLine(bl.notice.markdown()) + "\n")
		case bl.list != nil:
			for _, item := range bl.list {
				b.WriteString("- " + startOfLine(item.markdown()) + "\n")
			}
		case bl.table != nil:
			bl.table.markdown(&b)
		case bl.command != "":
			fence := strings.Repeat("`", max(3, longestRun(bl.command, '`')+1))
			fmt.Fprintf(&b, "%sbash\n%s\n%s\n", fence, strings.TrimRight(bl.command, "\n"), fence)
		case bl.image != nil:
			fmt.Fprintf(&b, "![%s](%s)\n", escapeMarkdown(bl.image.alt), escapePath(path.Join(imageDir, bl.image.file)))
		}
	}
	return b.Bytes()
}

func (t *table) markdown(b *bytes.Buffer) {
	for _, c := range t.columns {
		fmt.Fprintf(b, "| %s ", cell(escapeMarkdown(c.name)))
	}
	b.WriteString("|\n")
	for _, c := range t.columns {
		if c.numeric {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for _, r := range t.rows {
		for _, c := range r.cells {
			s := c.markdown()
			if r.best && s != "" {
				s = "**" + strings.Trim(s, "*") + "**"
			}
			fmt.Fprintf(b, "| %s ", cell(s))
		}
		b.WriteString("|\n")
	}
}

// cell keeps a bar from ending its cell; that is needed within code too.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func (t text) markdown() string {
	var b strings.Builder
	for _, s := range t {
		switch s.kind {
		case code:
			b.WriteString(codeSpan(s.text))
		case strong:
			// Stars next to a space would not be read as emphasis.
			if inner := strings.TrimSpace(oneLine(s.text)); inner != "" {
				head, tail, _ := strings.Cut(s.text, strings.TrimSpace(s.text))
				b.WriteString(head + "**" + escapeMarkdown(inner) + "**" + tail)
			}
		default:
			b.WriteString(escapeMarkdown(s.text))
		}
	}
	return b.String()
}

// codeSpan uses more backticks than the text holds in a row.
func codeSpan(s string) string {
	s = oneLine(s)
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

func longestRun(s string, c rune) int {
	longest, n := 0, 0
	for _, r := range s {
		if r == c {
			n++
			longest = max(longest, n)
		} else {
			n = 0
		}
	}
	return longest
}

// escapeMarkdown makes a text mean itself: no name of a model or an option can
// start a tag, a link, an emphasis or an entity. Spaces at the ends stay, since
// the text may be the middle of a sentence.
func escapeMarkdown(s string) string {
	var b strings.Builder
	clean := oneLine(s)
	if strings.HasPrefix(s, " ") && clean != "" {
		b.WriteByte(' ')
	}
	rs := []rune(clean)
	for i, r := range rs {
		switch r {
		case '\\', '`', '*', '[', ']', '<', '>', '~', '&':
			b.WriteByte('\\')
		case '_':
			if i == 0 || i == len(rs)-1 || !wordRune(rs[i-1]) || !wordRune(rs[i+1]) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
	}
	if strings.HasSuffix(s, " ") && clean != "" {
		b.WriteByte(' ')
	}
	return b.String()
}

// startOfLine keeps a text from becoming a heading, a list or a rule.
func startOfLine(s string) string {
	if s != "" && strings.ContainsRune("#+-=", rune(s[0])) {
		return `\` + s
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') {
		return s[:digits] + `\` + s[digits:]
	}
	return s
}

func wordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 0x7f
}

func escapePath(p string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(p)
}
