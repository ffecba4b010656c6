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
	"github.com/hocket-dev/hocket/internal/wholefile"
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
	for i := range portBlocks {
		first := firstPort + (blockOf(a)+i)%portBlocks*PortCount
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

// blockOf returns which ports an instance gets if they are free.
func blockOf(a Attempt) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.Run + "\x00" + a.Address))
	return int(h.Sum32() % portBlocks)
}

func usualPort(a Attempt) int { return firstPort + blockOf(a)*PortCount }

// NotePorts notes which ports an attempt has, until its run is released. Most have those that follow from their names, so nothing is written.
func (s *Store) NotePorts(a Attempt, first int) error {
	file := s.portsNote(a)
	if first == usualPort(a) {
		return ignoreMissing(os.Remove(file))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return wholefile.Write(file, []byte(strconv.Itoa(first)), 0o600)
}

// FirstPort returns the first of the ports that an attempt has had.
func (s *Store) FirstPort(a Attempt) (int, error) {
	text, err := readSmall(s.portsNote(a))
	if errors.Is(err, os.ErrNotExist) {
		return usualPort(a), nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (s *Store) portsNote(a Attempt) string {
	return filepath.Join(s.dir, portNotes, nameOf(a.Run), nameOf(a.Address)+"."+strconv.Itoa(a.Number))
}

// portNotes is the directory of a store with the ports of attempts that had not the usual ones.
const portNotes = "other-ports"

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
