// Command hocket runs agent workflows, durably. `hocket help` says how.
package main

import (
	"os"
	"runtime/debug"

	"github.com/hocket-dev/hocket/cli"
)

func main() {
	// Most commands live for milliseconds, and a heap of a few megabytes is not
	// worth collecting. GOGC overrides it.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
