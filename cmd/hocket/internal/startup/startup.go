// Package startup tunes the garbage collector before most other packages are initialized.
//
// Most commands run for milliseconds, and a heap of a few megabytes is not worth collecting.
// Go initializes packages in the order of their paths, as far as imports allow, so this one comes
// before the libraries that allocate most. GOGC overrides what it sets.
package startup

import (
	"os"
	"runtime/debug"
)

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
