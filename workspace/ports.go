package workspace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hocket-dev/hocket/internal/filelock"
)

// PortVariable is the environment variable with the first of the ports of a workspace.
const PortVariable = "HOCKET_PORT"

// PortCount is how many ports a workspace has, from [Ports.First] on.
const PortCount = 10

// The ports are below those that systems choose for connections.
const (
	firstPort  = 20000
	portBlocks = 1000
)

// Ports are ten ports that no other workspace uses until Release.
type Ports struct {
	First int
	lock  *filelock.Lock
}

// ReservePorts reserves ports that are free now. All workspaces of a machine that should not collide use the same
// directory for the reservations, which end with the process at the latest. The same instance
// gets the same ports again if they are free.
func ReservePorts(dir string, a Attempt) (*Ports, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.Run + "\x00" + a.Address))
	start := int(h.Sum32() % portBlocks)
	for i := range portBlocks {
		first := firstPort + (start+i)%portBlocks*PortCount
		lock, err := filelock.Take(filepath.Join(dir, strconv.Itoa(first)+".lock"))
		if errors.Is(err, filelock.ErrLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if portsFree(first) {
			return &Ports{first, lock}, nil
		}
		if err := lock.Release(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no %d free ports in a row from %d to %d", PortCount, firstPort, firstPort+portBlocks*PortCount-1)
}

// portsFree reports whether a server could use each of the ports, on all addresses of the machine.
func portsFree(first int) bool {
	for port := first; port < first+PortCount; port++ {
		for _, host := range []string{"", "127.0.0.1"} {
			l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if err != nil {
				return false
			}
			_ = l.Close()
		}
	}
	return true
}

// Release lets others use the ports.
func (p *Ports) Release() error { return p.lock.Release() }
