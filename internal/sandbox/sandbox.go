// Package sandbox starts a program that can do only what a [Policy] allows, or that can
// write only inside a [Limit], enforced by the operating system. Programs that it starts are
// restricted in the same way.
//
// # What a confined program can do
//
//   - It reads and executes what programs need to run at all: the directories of the
//     system, some devices, the directories on the PATH, and itself.
//   - It reads and writes the places of its policy.
//   - It connects only to the addresses that its policy allows, by TCP: no other kind of
//     network, no socket of another program on this machine. Socket pairs and pipes among
//     its own processes work.
//   - It sees other processes, like any user, but not their memory, environment or files,
//     and cannot trace or kill them.
//   - It has no privileges except those over files, and cannot gain any from setuid
//     programs.
//
// It can find out whether any file exists, its size and its times, and where a link points.
//
// # How it works
//
// Linux has no way to start a program confined; a process can only confine itself. So this
// program is started again (/proc/self/exe), under a name that tells it to confine itself
// (see package inside): it drops its privileges, applies rules for files (Landlock) and a
// filter for system calls (seccomp), and becomes the program. If one of these steps fails,
// it exits, so the program never runs with more rights than it should have. [Box.Failed]
// reports the error.
//
// The rules for files are created in advance, from files that were opened without following
// links, so that nothing can be swapped meanwhile. The environment of the program is passed
// in a file: if our process had these variables itself, a tool's author could use them to
// subvert its dynamic linker before anything is confined.
//
// A filter sees numbers, not addresses or paths, and Landlock has no rules for the
// permission bits, owners and times of files. So these system calls are suspended and
// reported to this process (see clerk), which checks their arguments, makes the system call
// itself, on the same socket or file, and returns the result: what it has checked cannot
// become another address or another file a moment later. If a container forbids access to
// the socket, the program connects itself after the check, which is weaker; [Supported]
// reports this.
package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
)

// Policy is what a program may do in addition to what every program may. The zero value
// allows nothing.
type Policy struct {
	Read  []Place // it may read and execute; missing ones are ignored
	Write []Place // it may change; they must exist, or end in a slash
	// Programs are directories of programs, such as those on the PATH. They, and related
	// directories next to them (lib, libexec, …), may be read.
	Programs []string
	// Home is a directory that is never made readable as a whole because of Programs.
	Home string
	// Connect decides whether an address may be connected to. nil means none, and no
	// sockets at all. It is called from several goroutines, and its context is done when
	// nobody waits for the answer.
	Connect func(ctx context.Context, to netip.AddrPort) bool
	// Ports are those of addresses that it may connect to. If connections cannot be made
	// for a program (see [Support]), it makes them itself, and only to these.
	Ports []uint16
	// Limit also limits where it may write, unless it is nil: a place must be in both.
	Limit *Limit
}

// Limit is where a program may write. Everything else stays as it is: what it may read and
// execute, sockets, signals, terminals. It cannot gain privileges from setuid programs,
// though, or mount anything, and it traces only processes with the same limit.
//
// It limits the creation, removal, renaming, linking, truncation and writing of files of all
// kinds. A program can still change the permission bits, owner, times and extended
// attributes of a file, and write a file through another hard link that is in an area. It
// can ask a program that is not limited to write for it, as through the socket of a
// container engine; and root can change how the system itself works.
//
// Devices that every program needs, shared memory and /proc are always writable, and so is
// a directory for temporary files that exists as long as the program.
type Limit struct{ Areas []Area }

// Area is a place in which a program may write, with exceptions. Rules can only allow, so
// around an exception everything is allowed that exists when the program starts. In a
// directory with an exception below it, nothing can be created, removed or renamed, except
// deeper down.
type Area struct {
	Place
	Optional bool     // ignored if it does not exist
	Except   []string // absolute paths; they may be links, and need not exist
}

// Place is a file, or a directory with everything in it.
type Place struct {
	Base string // a directory, which may be reached through links
	Path string // below it, with slashes, without any link. With a trailing slash it is a directory, created if it does not exist
	Name string // its name for people; "": the path
}

func (p Place) String() string { return cmp.Or(p.Name, p.Path) }

// PlaceError reports why a place cannot be opened for a program. It wraps the error of the
// system, if there is one.
type PlaceError struct {
	Place  Place
	Link   string // the part of its path that is a link; "": none is
	Target string // where it points
	Err    error
}

func (e *PlaceError) Error() string {
	if e.Link != "" {
		return fmt.Sprintf("%s: %s is a link to %s", e.Place, e.Link, e.Target)
	}
	return fmt.Sprintf("%s: %v", e.Place, e.Err)
}

func (e *PlaceError) Unwrap() error { return e.Err }

// StartError reports that a program was not started. Stage is "" if the program itself
// could not be executed; otherwise it could not be confined, and Stage is the step that
// failed.
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
	Gaps []string // what a confined program can still do on this system
}
