// Package trust decides whether a person has seen what the files of a project can do.
//
// A project can be cloned from anywhere. The steps of a workflow that a user runs by
// name need no trust, as with a Makefile. Everything else that a project's files can do
// is a [Power]: to send a key to an address, to start an MCP server, to replace a CLI.
// The powers of a project have a [Powers.Digest], and a person approves exactly that.
// Approvals are kept in the user's state, see [Store], and never in the project: a clone
// must not bring its own.
//
// It knows powers as plain data; whoever reads the files of a project collects them. Its
// question is one like those of runs, but no run exists yet, so it is answered by an
// approval and not by an event.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kind is what a power is about.
type Kind string

// The kinds.
const (
	Address  Kind = "address"  // a key or a secret is sent there
	Secret   Kind = "secret"   // a value from outside of the project
	CLI      Kind = "cli"      // a manifest of the project for a CLI agent
	Server   Kind = "server"   // an MCP server
	Autonomy Kind = "autonomy" // an agent that may do everything without asking
	Tool     Kind = "tool"     // a tool that is a program, or may write everything
	Program  Kind = "program"  // a program, an argument or a variable for a CLI agent or a browser
	Settings Kind = "settings" // settings of a CLI agent that the project brings along
)

// Power is one thing that the files of a project can do and that needs trust.
type Power struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"` // for people, one line
	// Where is the file and line that says so, seen from the project. It is not part of
	// the digest: a line that moves changes nothing.
	Where string `json:"where,omitempty"`
	// Material is what else the digest covers: the hash of a program in the project, the
	// whole meaning of a manifest.
	Material string `json:"material,omitempty"`
}

// same says whether two powers are one to whom approves them.
func (p Power) same(other Power) bool {
	return p.Kind == other.Kind && p.What == other.What && p.Material == other.Material
}

// Powers are those of a project.
type Powers []Power

// Union is all powers of both, each once, in a fixed order.
func (ps Powers) Union(other Powers) Powers {
	all := slices.Concat(ps, other)
	slices.SortStableFunc(all, func(a, b Power) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.What, b.What), strings.Compare(a.Material, b.Material))
	})
	return slices.CompactFunc(all, Power.same)
}

// Minus is what other does not have.
func (ps Powers) Minus(other Powers) Powers {
	var rest Powers
	for _, p := range ps {
		if !slices.ContainsFunc(other, p.same) {
			rest = append(rest, p)
		}
	}
	return rest
}

// Exceeds says whether there is a power that other does not have.
func (ps Powers) Exceeds(other Powers) bool { return len(ps.Minus(other)) > 0 }

// Without is all powers but those of the kinds.
func (ps Powers) Without(kinds ...Kind) Powers {
	return slices.DeleteFunc(slices.Clone(ps), func(p Power) bool { return slices.Contains(kinds, p.Kind) })
}

// Digest names exactly these powers, wherever they are written and in whatever order.
func (ps Powers) Digest() string {
	sum := sha256.New()
	for _, p := range ps.Union(nil) {
		for _, part := range []string{string(p.Kind), p.What, p.Material} {
			fmt.Fprintf(sum, "%d %s\n", len(part), part)
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))[:32]
}

// String is a list for people, a line each.
func (ps Powers) String() string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString("  " + p.line() + "\n")
	}
	return b.String()
}

// line is a power in one line that shows everything in it: a name could hold what a
// terminal obeys or does not show, and hide the powers behind it.
func (p Power) line() string {
	text := visible(p.What)
	if p.Where != "" {
		text += "  (" + visible(p.Where) + ")"
	}
	return text
}

// longest is how many letters of a power are shown. One that is longer is not for people
// to approve by reading, and says so.
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

// Difference is what powers have more and less than others. Changed are those that say the
// same about files with another content.
type Difference struct {
	Added   Powers `json:"added"`
	Changed Powers `json:"changed"`
	Removed Powers `json:"removed"`
}

// Diff compares with an older list.
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

// String is a line for each power, marked with ~, + or -.
func (d Difference) String() string {
	var b strings.Builder
	for _, of := range []struct {
		mark string
		ps   Powers
	}{{"~ ", d.Changed}, {"+ ", d.Added}, {"- ", d.Removed}} {
		for _, p := range of.ps {
			b.WriteString(of.mark + p.line() + "\n")
		}
	}
	return b.String()
}
