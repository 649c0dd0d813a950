package ingest_test

import (
	"bytes"
	"errors"
	"io"

	"github.com/goccy/go-yaml"

	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/store"
)

// able are options with the decoders that the command line gives.
func able() ingest.Options {
	return ingest.Options{YAML: decodeYAML, SQLite: store.OpenForeign}
}

func decodeYAML(data []byte) (docs []any, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc any
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
}
