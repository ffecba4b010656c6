package temporal_test

import (
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/internal/sametest"
	"go.temporal.io/sdk/client"
)

// The scenarios of the conformance suite have the same steps and results in all notations as with the local driver.
func TestScenarios(t *testing.T) {
	needsServer(t)
	open := func(s hocket.DriverSetup) (driver.Driver, error) {
		return temporal.Open(temporal.Options{
			Client: client.Options{HostPort: address, Logger: quiet}, Queue: fmt.Sprintf("same%d", worlds.Add(1)), Store: temporal.Folder(s.State), Create: true,
		})
	}
	sametest.Play(t, "../..", hocket.Options{Drivers: map[string]hocket.OpenDriver{"tested": open}}, "tested", false)
}
