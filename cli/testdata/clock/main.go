package main

import (
	"os"

	"github.com/hocket-dev/hocket/cli"
)

// This file takes the place of cmd/hocket/main.go: an agent that runs the tests may
// answer.

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: os.Getenv("HOCKET_TEST_UNDER_AGENT")}))
}
