// Package trust decides whether a person has approved what the files of a project can do.
//
// A project can be cloned from anywhere. The steps of a workflow that a user runs by name
// need no trust, as with a Makefile. Everything else that a project's files can do is a
// [Power]: to send a key to a server, to start an MCP server, to replace a CLI. The powers of
// a project have a [Powers.Digest], and a person approves exactly that. Approvals are stored
// in the user's state directory, see [Store], and never in the project: a clone must not
// contain its own approval.
//
// Powers are plain data, which package project collects. The question whether to trust a
// project is like those of runs, but as there is no run yet, an approval answers it instead
// of an event.
package trust

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Kind is the kind of a power.
type Kind string

// The kinds.
const (
	Address  Kind = "address"  // a key or a secret is sent there
	Secret   Kind = "secret"   // a value from outside of the project
	CLI      Kind = "cli"      // a manifest of the project for a CLI agent
	Server   Kind = "server"   // an MCP server
	Autonomy Kind = "autonomy" // an agent that may do anything without asking
	Tool     Kind = "tool"     // a tool that is a program, or may write any file
	Program  Kind = "program"  // a program, an argument or a variable for a CLI agent or a browser
	Settings Kind = "settings" // settings of a CLI agent in the project
	Command  Kind = "command"  // a command that runs in place of an agent that is handed a text
	Trigger  Kind = "trigger"  // a workflow that starts by itself
	Driver   Kind = "driver"   // a server that runs are sent to
	Worker   Kind = "worker"   // a workflow whose steps a worker does, whoever started the run

	Notification Kind = "notification" // a program or an address that is told about runs
	Telemetry    Kind = "telemetry"    // an address to which spans of runs are sent
)

// Power is one thing that the files of a project can do that needs trust.
type Power struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"` // for people, one line
	// Where is its file and line, relative to the project. It is not part of the digest,
	// so that moving a line changes nothing.
	Where string `json:"where,omitempty"`
	// Material is what else the digest covers: the hash of a program in the project, or the
	// complete content of a manifest.
	Material string `json:"material,omitempty"`
}

// same reports whether two powers look the same to the person who approves them.
func (p Power) same(other Power) bool {
	return p.Kind == other.Kind && p.What == other.What && p.Material == other.Material
}

// Powers are the powers of a project.
type Powers []Power

// Union returns the powers of both, without duplicates, in a fixed order.
func (ps Powers) Union(other Powers) Powers {
	all := slices.Concat(ps, other)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), cmp.Compare(a.Material, b.Material)) < 0
	})
	return slices.CompactFunc(all, Power.same)
}

// Minus returns the powers that other does not have.
func (ps Powers) Minus(other Powers) Powers {
	var rest Powers
	for _, p := range ps {
		if !slices.ContainsFunc(other, p.same) {
			rest = append(rest, p)
		}
	}
	return rest
}

// Exceeds reports whether there is a power that other does not have.
func (ps Powers) Exceeds(other Powers) bool { return len(ps.Minus(other)) > 0 }

// Without returns all powers except those of the kinds.
func (ps Powers) Without(kinds ...Kind) Powers {
	return slices.DeleteFunc(slices.Clone(ps), func(p Power) bool { return slices.Contains(kinds, p.Kind) })
}

// Digest returns a digest of exactly these powers, regardless of their positions and order.
func (ps Powers) Digest() string {
	var all []string
	for _, p := range ps.Union(nil) {
		all = append(all, string(p.Kind), p.What, p.Material)
	}
	return digest(all)
}

// String returns a list for people, one per line.
func (ps Powers) String() string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString("  " + p.Line() + "\n")
	}
	return b.String()
}

// Line formats a power in one line, and makes all characters visible: a name could contain
// control characters that hide other powers.
func (p Power) Line() string {
	text := visible(p.What)
	if p.Where != "" {
		text += "  (" + visible(p.Where) + ")"
	}
	return text
}

// longest is how many characters of a power are shown. The text says if there are more.
const longest = 2000

func visible(text string) string {
	var b strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > longest {
			return b.String() + fmt.Sprintf("… and %d more bytes that are not shown", len(text)-b.Len())
		}
		if unicode.IsGraphic(r) && (r == ' ' || !unicode.IsSpace(r)) && !unicode.Is(unicode.Cf, r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// Difference is the difference between two lists of powers. Changed are those whose files
// have changed.
type Difference struct {
	Added   Powers `json:"added"`
	Changed Powers `json:"changed"`
	Removed Powers `json:"removed"`
}

// Diff compares powers with an older list.
func (ps Powers) Diff(old Powers) Difference {
	d := Difference{Added: Powers{}, Changed: Powers{}, Removed: append(Powers{}, old.Minus(ps)...)}
	for _, p := range ps.Minus(old) {
		if i := slices.IndexFunc(d.Removed, func(o Power) bool { return o.Kind == p.Kind && o.What == p.What }); i >= 0 {
			d.Removed = slices.Delete(d.Removed, i, i+1)
			d.Changed = append(d.Changed, p)
		} else {
			d.Added = append(d.Added, p)
		}
	}
	return d
}

// String returns a line for each power, marked with ~, + or -.
func (d Difference) String() string {
	var b strings.Builder
	for _, of := range []struct {
		mark string
		ps   Powers
	}{{"~ ", d.Changed}, {"+ ", d.Added}, {"- ", d.Removed}} {
		for _, p := range of.ps {
			b.WriteString(of.mark + p.Line() + "\n")
		}
	}
	return b.String()
}
