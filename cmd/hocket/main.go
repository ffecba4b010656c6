// Command hocket runs durable workflows of AI agents. See `hocket help`.
package main

import (
	"os"

	"github.com/hocket-dev/hocket/cli"
	_ "github.com/hocket-dev/hocket/cmd/hocket/internal/startup"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
