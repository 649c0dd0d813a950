package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// HTML writes the report as one file: pictures are inlined, nothing is fetched,
// and a content security policy says so. It follows the reader's light or dark
// theme and prints without breaking rows. The output is well-formed XML too.
func (r *Report) HTML() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"/>
<title>%s</title>
<style>%s</style></head>
<body><main>
`, html.EscapeString(oneLine(r.Title)), style)
	for _, bl := range r.blocks {
		switch {
		case bl.heading != "":
			fmt.Fprintf(&b, "<h%d>%s</h%d>\n", bl.level, html.EscapeString(oneLine(bl.heading)), bl.level)
		case bl.paragraph != nil:
			fmt.Fprintf(&b, "<p>%s</p>\n", bl.paragraph.html())
		case bl.notice != nil:
			fmt.Fprintf(&b, "<p class=\"notice\">%s</p>\n", bl.notice.html())
		case bl.list != nil:
			b.WriteString("<ul>\n")
			for _, item := range bl.list {
				fmt.Fprintf(&b, "<li>%s</li>\n", item.html())
			}
			b.WriteString("</ul>\n")
		case bl.table != nil:
			bl.table.html(&b)
		case bl.command != "":
			fmt.Fprintf(&b, "<pre><code>%s</code></pre>\n", html.EscapeString(xmlClean(bl.command)))
		case bl.image != nil:
			fmt.Fprintf(&b, "<figure><img alt=\"%s\" src=\"data:image/png;base64,%s\"/></figure>\n",
				html.EscapeString(oneLine(bl.image.alt)), base64.StdEncoding.EncodeToString(r.Charts[bl.image.file]))
		}
	}
	b.WriteString("</main></body></html>\n")
	return b.Bytes()
}

func (t *table) html(b *bytes.Buffer) {
	b.WriteString("<div class=\"wide\"><table>")
	classes := t.classes()
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name != "" }) {
		b.WriteString("<thead><tr>")
		for i, c := range t.columns {
			// Long names of fields may break behind an underscore.
			name := strings.ReplaceAll(html.EscapeString(oneLine(c.name)), "_", "_<wbr/>")
			fmt.Fprintf(b, "<th%s>%s</th>", classes[i], name)
		}
		b.WriteString("</tr></thead>")
	}
	b.WriteString("<tbody>\n")
	for _, r := range t.rows {
		if r.best {
			b.WriteString(`<tr class="best">`)
		} else {
			b.WriteString("<tr>")
		}
		for i, c := range r.cells {
			fmt.Fprintf(b, "<td%s>%s</td>", classes[i], c.html())
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
}

// classes are those of the columns: numbers to the right, short texts never broken, long
// ones with room enough that only what has no spaces is broken within a word.
func (t *table) classes() []string {
	const long = 24
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		longest := 0
		for _, r := range t.rows {
			n := 0
			for _, s := range r.cells[i] {
				n += utf8.RuneCountInString(s.text)
			}
			longest = max(longest, n)
		}
		switch {
		case c.numeric:
			out[i] = ` class="n"`
		case c.short || longest <= long:
			out[i] = ` class="s"`
		default:
			out[i] = ` class="l"`
		}
	}
	return out
}

func (t text) html() string {
	var b bytes.Buffer
	for _, s := range t {
		clean := html.EscapeString(xmlClean(s.text))
		switch {
		case clean == "":
		case s.kind == code:
			b.WriteString("<code>" + clean + "</code>")
		case s.kind == strong:
			b.WriteString("<strong>" + clean + "</strong>")
		default:
			b.WriteString(clean)
		}
	}
	return b.String()
}

// xmlClean drops what neither HTML nor XML can hold; lines stay.
func xmlClean(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
}

const style = `
:root{color-scheme:light dark;--ink:#22262b;--soft:#5a626b;--rule:#dfe3e8;--ground:#fff;--tint:#f4f6f8;--best:#fff4dc;--notice:#b45309}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a3abb5;--rule:#3a4048;--ground:#16181b;--tint:#212429;--best:#3a2f14;--notice:#f0b352}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1240px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.8em;line-height:1.2;margin:.4em 0}
h2{font-size:1.3em;margin:2em 0 .5em;padding-bottom:.2em;border-bottom:1px solid var(--rule)}
h3{font-size:1.05em;margin:1.5em 0 .4em}
p,li{max-width:80ch}
code{font:.88em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--tint);padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}
pre{background:var(--tint);padding:12px 14px;border-radius:6px;overflow-x:auto}
pre code{background:none;padding:0;white-space:pre-wrap}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.87em;font-variant-numeric:tabular-nums}
th,td{padding:5px 8px;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
th{color:var(--soft);font-weight:600;vertical-align:bottom}
.n{text-align:right}
td.n,td.s{white-space:nowrap}
td.l{min-width:16em}
.best td{background:var(--best);font-weight:600}
.notice{border-left:4px solid var(--notice);padding:.4em .9em;background:var(--tint)}
figure{margin:1.2em 0}
img{display:block;max-width:100%;height:auto;border:1px solid var(--rule);border-radius:6px}
@media print{:root{--ink:#000;--soft:#444;--rule:#bbb;--ground:#fff;--tint:#f4f4f4;--best:#f1f1f1;--notice:#000}
body{font-size:10.5pt}main{max-width:none;padding:0}h2,h3{break-after:avoid}tr,figure,pre{break-inside:avoid}.wide{overflow:visible}table{font-size:8.5pt}}
`
