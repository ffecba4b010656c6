package local_test

import (
	"testing"

	"github.com/hocket-dev/hocket/driver/drivertest"
	"github.com/hocket-dev/hocket/driver/local"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, func(t testing.TB) drivertest.World { return world{t.TempDir()} })
}

// world keeps its runs in a directory.
type world struct{ dir string }

func (w world) Driver(t testing.TB) drivertest.Process {
	d, err := local.Open(w.dir, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return process{d}
}

// process is a driver with a journal of its own, as a process would have.
type process struct{ *local.Driver }

// Kill closes the journal under the driver: it can record nothing more, which is
// all that others see of a process that is gone.
func (p process) Kill() { p.Close() }
