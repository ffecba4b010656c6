// Command hocket runs agent workflows, durably. `hocket help` says how.
package main

import (
	"os"

	"github.com/hocket-dev/hocket/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
