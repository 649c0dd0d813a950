package ingest

import (
	"path/filepath"
	"slices"
	"strings"
)

// isOfficeName: documents that are zip archives inside. Tools write them beside
// their results, where they hold the same figures.
func isOfficeName(name string) bool {
	return slices.Contains([]string{".xlsx", ".xlsm", ".ods", ".docx", ".odt", ".pptx"}, strings.ToLower(filepath.Ext(name)))
}

func isOffice(head []byte, in *input) bool {
	return isOfficeName(in.name) && strings.HasPrefix(string(head), "PK")
}

func skipOffice(_ *input, out *collector) error {
	out.skip(0, "office document: not read; save a sheet that holds results as CSV")
	return nil
}
