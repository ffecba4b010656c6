// Command hocket runs durable workflows of AI agents. See `hocket help`.
package main

import (
	"os"
	"runtime/debug"

	"github.com/hocket-dev/hocket/cli"
)

func main() {
	// Most commands run for milliseconds, and a heap of a few megabytes is not worth
	// collecting. GOGC overrides this.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
