// Package sandbox starts a program that can do only what a [Policy] says, and has the
// system see to it. What the program starts can do no more than it can.
//
// # What a confined program can do
//
//   - It reads and executes what programs need to run at all: the directories of the
//     system, some devices, the directories on the PATH, and itself.
//   - It reads and writes the places of its policy.
//   - It connects to the addresses that its policy allows, by TCP, and to nobody else:
//     no other kind of network, no socket of another program on this machine. Pairs of
//     sockets and pipes among its own processes work.
//   - It sees other processes, as everybody does, but not their memory, environment or
//     files, and cannot trace or end them.
//   - It has no privileges besides those over files, and none that a program could give it.
//
// It can find out of every file whether it exists, its size and its times, and where a
// link leads.
//
// # How
//
// Linux has no way to start a program confined, only ways to confine oneself. So what
// is started first is this program once more (/proc/self/exe), which knows by its name
// that it is to confine itself (see package inside): it gives up its privileges, puts itself
// under a set of rules for files (Landlock) and a filter for system calls (seccomp), and
// becomes the program. If one of these steps fails it ends: the program never runs
// with more than it should have. [Box.Failed] says so.
//
// The rules for files are made before, from files that were opened without following
// links, so that nothing can be put in their place meanwhile. The environment of the
// program is handed over in a file: had the process of ours that variables, those of a
// tool's author could lead its dynamic linker astray before anything is confined.
//
// A filter sees numbers, not addresses or paths, and Landlock has no rules for the
// permission bits, owners and times of files. So these system calls are held, and told to this
// process (see clerk), which looks at what is meant, makes the system call itself, on the
// same socket or file, and answers: what it has looked at cannot be another address or
// another file a moment later. Where a container forbids to take the socket, the program
// connects itself after that look, which is not as good; [Supported] says so.
package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
)

// Policy is what a program may do besides what every program may. The zero value is
// nothing.
type Policy struct {
	Read  []Place // it may read and execute; those that are not there are passed over
	Write []Place // it may change; they have to be there, or to end in a slash
	// Programs are directories of programs, such as those on the PATH. They, and what
	// stands beside a directory of that name for the sake of programs (lib, libexec, …), may
	// be read.
	Programs []string
	// Home is a directory that is never opened as a whole for the sake of programs.
	Home string
	// Connect says whether an address may be connected to. nil: none, and there are
	// no sockets at all. It is called from several goroutines, and its context is
	// done when nobody waits for the answer.
	Connect func(ctx context.Context, to netip.AddrPort) bool
	// Ports are those of addresses that it may connect to. Where connections cannot be
	// made for a program (see [Support]) it makes them itself, and only to these.
	Ports []uint16
}

// Place is a file, or a directory with all that is in it.
type Place struct {
	Base string // a directory, which may be found through links
	Path string // below it, with slashes, without any link. One that ends in a slash is a directory, and made if it is not there
	Name string // what people call it; "": the path
}

func (p Place) String() string { return cmp.Or(p.Name, p.Path) }

// PlaceError says why a place cannot be opened for a program. It wraps the error of the
// system, where there is one.
type PlaceError struct {
	Place  Place
	Link   string // the part of its path that is a link; "": none is
	Target string // where that leads
	Err    error
}

func (e *PlaceError) Error() string {
	if e.Link != "" {
		return fmt.Sprintf("%s: %s is a link to %s", e.Place, e.Link, e.Target)
	}
	return fmt.Sprintf("%s: %v", e.Place, e.Err)
}

func (e *PlaceError) Unwrap() error { return e.Err }

// StartError says that a program was not started. Stage is "" if the program itself
// could not be executed, else it could not be confined, and Stage says at which step.
type StartError struct {
	Stage string
	Err   error
}

func (e *StartError) Error() string {
	if e.Stage == "" {
		return e.Err.Error()
	}
	return e.Stage + ": " + e.Err.Error()
}

func (e *StartError) Unwrap() error { return e.Err }

// Support is what a system can enforce.
type Support struct {
	None string   // why it can enforce nothing; "": it can
	Gaps []string // what a confined program can do on this system all the same
}
