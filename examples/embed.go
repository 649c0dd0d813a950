// Package examples holds studies, imported histories and plugins that show what
// Sweepbook does. Every one of them is run by a test. What the program itself
// needs at run time, the demo, is embedded here.
package examples

import "embed"

// Demo holds the demo study: demo/study.yaml.
//
//go:embed demo/study.yaml
var Demo embed.FS
