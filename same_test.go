package hocket_test

import (
	"flag"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/sametest"
)

var update = flag.Bool("update", false, "write what the tasks of scenarios receive into their files")

// The scenarios of the conformance suite have the same steps and results through the Go
// API as through the command line.
func TestScenariosThroughTheAPI(t *testing.T) {
	sametest.Play(t, ".", hocket.Options{}, "", *update)
}
