package cli

import (
	"bytes"
	"os"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// readInputFile reads a YAML or JSON file with one value per input.
func readInputFile(file string) (map[string]any, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--inputs names a YAML or JSON file with one value per input", "%v", err)
	}
	doc := strictyaml.Read(file, data)
	inputs, isMap := doc.Root().Value().(map[string]any)
	if ds := doc.Diagnostics(); ds.Errors() {
		return nil, &diagnosticsError{ds}
	}
	if !isMap && len(bytes.TrimSpace(data)) > 0 {
		return nil, usagef("write one `name: value` per input", "%s does not hold a map of inputs", file)
	}
	return inputs, nil
}
