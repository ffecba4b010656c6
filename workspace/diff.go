package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Diff is what differs between two commits.
type Diff struct {
	Files []File // ordered by path
	// Digest names exactly this change: the paths with the content and mode before and after.
	Digest    string
	Patch     string // for people: without the content of binary files
	Truncated bool   // Patch is incomplete
}

// File is a file that differs.
type File struct {
	Path           string
	From           string // its path before, if it was renamed
	Status         Status
	Added, Removed int  // lines
	Binary         bool // there are no lines
}

// Status is what happened to a file.
type Status string

// The kinds of changes. Retyped means that a file became a symbolic link or the reverse.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed"
	Retyped  Status = "retyped"
)

var statuses = map[byte]Status{'A': Added, 'M': Modified, 'D': Deleted, 'R': Renamed, 'T': Retyped}

// Diff compares two commits. The patch has at most about limit bytes, and ends with a line.
func (s *Store) Diff(ctx context.Context, a, b string, limit int) (Diff, error) {
	if err := checkCommits(a, b); err != nil {
		return Diff{}, err
	}
	return s.git.diff(ctx, a, b, limit)
}

// Apart returns those of some commits that neither a commit nor another one of them contains. It ignores commits that are not in the store.
func (s *Store) Apart(ctx context.Context, from string, commits []string) ([]string, error) {
	if err := checkCommits(append([]string{from}, commits...)...); err != nil {
		return nil, err
	}
	text, err := s.git.input(ctx, "^"+from+"\n"+strings.Join(commits, "\n")+"\n", "rev-list", "--parents", "--ignore-missing", "--stdin")
	if err != nil {
		return nil, err
	}
	contained := map[string]bool{}
	var apart []string
	for line := range strings.Lines(text) {
		for i, commit := range strings.Fields(line) {
			if i > 0 {
				contained[commit] = true
			} else if slices.Contains(commits, commit) {
				apart = append(apart, commit)
			}
		}
	}
	return slices.DeleteFunc(apart, func(commit string) bool { return contained[commit] }), nil
}

func (g git) diff(ctx context.Context, a, b string, limit int) (Diff, error) {
	text, err := g.out(ctx, "diff-tree", "-r", "-z", "--raw", "--numstat", "--find-renames", "--no-ext-diff", "--no-textconv", a, b)
	if err != nil {
		return Diff{}, err
	}
	d, err := parseDiff(text)
	if err != nil || limit <= 0 {
		d.Truncated = len(d.Files) > 0
		return d, err
	}
	patch := &head{limit: limit}
	if err := g.patch(ctx, patch, a, b); err != nil && !patch.full {
		return d, err
	}
	d.Patch, d.Truncated = string(patch.text), patch.full
	if d.Truncated {
		d.Patch = d.Patch[:strings.LastIndexByte(d.Patch, '\n')+1]
	}
	return d, nil
}

func (g git) patch(ctx context.Context, to io.Writer, a, b string) error {
	cmd, done, err := g.command(ctx, "diff-tree", "-r", "-p", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", a, b)
	if err != nil {
		return err
	}
	defer done()
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, limited(&messages)
	return explain(ctx, "diff-tree", cmd.Run(), &messages)
}

// head keeps the beginning of what is written to it, and then refuses.
type head struct {
	text  []byte
	limit int
	full  bool
}

func (h *head) Write(b []byte) (int, error) {
	n := min(len(b), h.limit-len(h.text))
	h.text = append(h.text, b[:n]...)
	if n < len(b) {
		h.full = true
		return n, io.ErrShortWrite
	}
	return n, nil
}

// absent is the mode of a file on the side where it does not exist.
const absent = "000000"

// parseDiff reads the output of diff-tree -z --raw --numstat: first a record and one or two paths for
// each file, then the numbers of lines, in the same order.
func parseDiff(text string) (Diff, error) {
	var d Diff
	var changes []string // of which the digest is made
	unexpected := func(what string) (Diff, error) {
		return Diff{}, fmt.Errorf("git diff-tree: unexpected output %.80q", what)
	}
	rest := records(text)
	for len(rest) > 1 && strings.HasPrefix(rest[0], ":") {
		info := strings.Fields(rest[0][1:]) // mode, mode, object, object, status
		if len(info) != 5 || statuses[info[4][0]] == "" {
			return unexpected(rest[0])
		}
		f := File{Status: statuses[info[4][0]], Path: rest[1]}
		from := f.Path
		rest = rest[2:]
		if f.Status == Renamed {
			if len(rest) == 0 {
				return unexpected(text)
			}
			f.From, f.Path = from, rest[0]
			rest = rest[1:]
		}
		d.Files = append(d.Files, f)
		// A rename is a deletion and an addition, so that the digest does not depend on what git takes for a rename.
		if info[0] != absent {
			changes = append(changes, from+"\x00before "+info[0]+" "+info[2])
		}
		if info[1] != absent {
			changes = append(changes, f.Path+"\x00after "+info[1]+" "+info[3])
		}
	}
	for i := range d.Files {
		f := &d.Files[i]
		if len(rest) == 0 {
			return unexpected(text)
		}
		added, more, _ := strings.Cut(rest[0], "\t")
		removed, _, _ := strings.Cut(more, "\t")
		f.Binary = added == "-"
		f.Added, _ = strconv.Atoi(added)
		f.Removed, _ = strconv.Atoi(removed)
		fields := 1
		if f.Status == Renamed {
			fields = 3 // the paths have their own
		}
		rest = rest[min(len(rest), fields):]
	}
	slices.Sort(changes)
	sum := sha256.Sum256([]byte(strings.Join(changes, "\x00\x00")))
	d.Digest = hex.EncodeToString(sum[:])
	sort.Slice(d.Files, func(i, j int) bool { return d.Files[i].Path < d.Files[j].Path })
	return d, nil
}
