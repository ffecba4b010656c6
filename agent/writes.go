package agent

import "github.com/hocket-dev/hocket/internal/sandbox"

// WriteLimit says where a task may write: its executor, the programs that it starts, and
// everything that these start. Paths are absolute, or relative to the project's root. A
// directory stands for everything in it.
//
// The devices that programs need, a temporary directory of the attempt and, for a CLI
// agent, the directories where it stores its own settings and sessions can always be
// written. Reading is not limited, nor is anything else.
type WriteLimit struct {
	Only   []string // nowhere else; empty: anywhere
	Except []string // never there, even inside Only
	// TellOnly lets the task run on a system that cannot enforce the limit. Otherwise its
	// attempts fail.
	TellOnly bool
}

// WriteLimits says why limits on writing cannot be enforced on this machine; "" if they can.
func WriteLimits() (why string) { return sandbox.Supported().None }
