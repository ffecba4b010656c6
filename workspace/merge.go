package workspace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// Branch is a commit to merge, with a name for people: it labels the sides of conflicts.
type Branch struct{ Name, Commit string }

// Merged is the result of a merge.
type Merged struct {
	// Commit has everything that was merged. With conflicts, its files have conflict markers where
	// that is possible: a workspace of it is where they are resolved.
	Commit    string
	Conflicts []Conflict
	// Sides are what conflicts, as the markers name it. Each is a commit that Commit descends from.
	Sides [2]Branch
	// Next is the index of the first branch that was not merged, because of a conflict before. What
	// resolves the conflict is merged with the branches from there on.
	Next int
}

// Conflict is a file that could not be merged.
type Conflict struct {
	Path string
	// Kind is what git calls the conflict, such as contents, modify/delete, rename/rename or binary.
	Kind string
	// Beside is the path that the file has on its side, if the other side has a directory there, or another kind of file: git puts one
	// of them beside it, at Path. It is not resolved as long as that is there. "": the file is in its place.
	Beside string
	// Renamed means that one of the sides has the file under another name.
	Renamed bool
	// versions are the objects that were merged: the one of the base, and those of the sides; "" if there is none.
	versions [3]string
	has      [3]bool // which of them there are, also if one is a link or a submodule
}

// About says what a conflict is, without the name of the file: messages of git have names as they are, which agents choose.
func (m Merged) About(c Conflict) string {
	a, b := m.Sides[0].Name, m.Sides[1].Name
	one, other := a, b // if only one side has the file
	if !c.has[1] {
		one, other = b, a
	}
	left := "; the directory has the file of " + one
	if c.Beside != "" {
		left = fmt.Sprintf("; this is %s of %s: move or remove it", Shown(c.Beside), one)
	}
	switch {
	case c.Kind == "binary":
		return fmt.Sprintf("a file that git does not merge line by line, changed in %s and in %s%s", a, b, left)
	case c.Kind == "modify/delete":
		return fmt.Sprintf("deleted in %s and modified in %s%s", other, one, left)
	case c.Kind == "rename/delete":
		return fmt.Sprintf("renamed in %s and deleted in %s%s", one, other, left)
	case c.Kind == "rename/rename" && c.has[0]:
		return fmt.Sprintf("renamed in %s and in %s, each to another name", a, b)
	case c.Kind == "rename/rename":
		return "the other name in " + one
	case c.Kind == "file/directory":
		return fmt.Sprintf("a file in %s and a directory in %s%s", one, other, left)
	case strings.HasPrefix(c.Kind, "distinct"):
		return fmt.Sprintf("different kinds of files in %s and in %s%s", a, b, left)
	case c.Kind == "contents" && c.has[0]:
		return fmt.Sprintf("changed in %s and in %s", a, b)
	case c.Kind == "contents":
		return fmt.Sprintf("added in %s and in %s", a, b)
	}
	return "a conflict that git calls " + c.Kind
}

// MergedBefore is the name of what several branches were merged into, when the next one conflicts with it.
const MergedBefore = "merged"

// Merge merges branches in their order, each into what came before. It stops at the first one with
// conflicts. All descend from the base of a run, whose attributes say how files are merged. The store keeps the result for the run.
func (s *Store) Merge(ctx context.Context, run, base string, branches []Branch) (Merged, error) {
	m, err := s.mergeAll(ctx, run, base, branches)
	return m, s.reason(err)
}

func (s *Store) mergeAll(ctx context.Context, run, base string, branches []Branch) (Merged, error) {
	if err := checkCommits(base); err != nil {
		return Merged{}, err
	}
	for _, b := range branches {
		if err := checkCommits(b.Commit); err != nil {
			return Merged{}, err
		}
	}
	if len(branches) == 0 {
		return Merged{}, fmt.Errorf("nothing to merge")
	}
	q, err := s.quarantine("", "")
	if err != nil {
		return Merged{}, err
	}
	defer q.remove()
	m, onto := Merged{Next: len(branches)}, branches[0]
	for i, b := range branches[1:] {
		into := onto
		if onto.Commit, m.Conflicts, err = q.merge(ctx, base, into, b); err != nil {
			return Merged{}, fmt.Errorf("merge of %s: %w", b.Name, err)
		}
		if m.Conflicts != nil {
			m.Next, m.Sides = i+2, [2]Branch{into, b}
			if err := q.findRenames(ctx, m); err != nil {
				return Merged{}, err
			}
			break
		}
		switch onto.Commit {
		case into.Commit:
		case b.Commit: // it has all of the other one
			onto.Name = b.Name
		default:
			onto.Name = MergedBefore
		}
	}
	m.Commit = onto.Commit
	var has []string
	for _, b := range branches {
		has = append(has, b.Commit)
	}
	if !slices.Contains(has, m.Commit) {
		if err := q.seal(ctx, s.git, m.Commit, has...); err != nil {
			return Merged{}, err
		}
	}
	return m, s.pin(ctx, run, "merge/"+m.Commit, m.Commit)
}

// merge merges one branch into another. If one contains the other, it is the result.
func (q *quarantine) merge(ctx context.Context, base string, into, other Branch) (string, []Conflict, error) {
	for _, pair := range [][2]string{{other.Commit, into.Commit}, {into.Commit, other.Commit}} {
		if err := q.do(ctx, "merge-base", "--is-ancestor", pair[0], pair[1]); err == nil {
			return pair[1], nil, nil
		} else if exitCode(err) != 1 {
			return "", nil, err
		}
	}
	tree, conflicts, err := q.mergeTree(ctx, base, into, other)
	if err != nil {
		return "", nil, err
	}
	a, err := q.point(ctx, into.Commit)
	if err != nil {
		return "", nil, err
	}
	b, err := q.point(ctx, other.Commit)
	if err != nil {
		return "", nil, err
	}
	commit, err := q.commit(ctx, tree, "Merge "+other.Name, a, b)
	return commit, conflicts, err
}

// findRenames notes which of the files that conflict a side has under another name.
func (q *quarantine) findRenames(ctx context.Context, m Merged) error {
	for n, side := range m.Sides {
		has := map[string]bool{}
		err := q.eachEntry(ctx, side.Commit, pathsOf(m.Conflicts), func(_, path string) error {
			has[path] = true
			return nil
		})
		if err != nil {
			return err
		}
		for i := range m.Conflicts {
			f := &m.Conflicts[i]
			f.Renamed = f.Renamed || strings.Contains(f.Kind, "rename") || f.versions[n+1] != "" && !has[f.Path]
		}
	}
	return nil
}

// mergeTree merges two commits into a tree, with conflict markers if there are conflicts. The base is what nobody but the user has made of
// what they have in common: its attributes count.
func (q *quarantine) mergeTree(ctx context.Context, base string, into, other Branch) (string, []Conflict, error) {
	attributes, err := q.mergeAttributes(ctx, base, into.Commit, other.Commit)
	if err != nil {
		return "", nil, err
	}
	g := q.git
	if attributes != "" {
		g = g.with("GIT_WORK_TREE=" + attributes).in(attributes)
	}
	text, _, err := g.run(ctx, nil, "merge-tree", "--write-tree", "-z", "--messages", into.label(), other.label())
	if err != nil && exitCode(err) != 1 {
		return "", nil, err
	}
	tree, conflicts, wrong := parseMerge(text)
	if wrong != nil || err == nil {
		return tree, nil, wrong
	}
	if len(conflicts) == 0 {
		return "", nil, fmt.Errorf("git merge-tree: conflicts without files")
	}
	tree, err = q.nameSides(ctx, tree, conflicts, into, other)
	return tree, conflicts, err
}

// nameSides names the sides of conflicts in a tree as people do, without what tells git which commit is meant: at the markers in files, and in the
// names of files that git has put beside others. So these names are the same whenever the same is merged, for replies and recordings.
func (q *quarantine) nameSides(ctx context.Context, tree string, conflicts []Conflict, sides ...Branch) (string, error) {
	var labels []string
	for _, b := range sides {
		labels = append(labels, b.label(), b.Name)
	}
	beside, err := q.namesBeside(ctx, tree, conflicts, sides)
	if err != nil {
		return "", err
	}
	var changes strings.Builder
	err = q.eachEntry(ctx, tree, pathsOf(conflicts), func(info, path string) error {
		f := strings.Fields(info)
		if len(f) != 3 {
			return nil
		}
		mode, was, to := f[0], f[2], cmp.Or(beside[path], path)
		object, err := q.nameMarkers(ctx, mode, was, strings.NewReplacer(labels...))
		if to != path {
			fmt.Fprintf(&changes, "0 %s\t%s\x00", was, path)
		}
		if to != path || object != was {
			fmt.Fprintf(&changes, "%s %s\t%s\x00", mode, object, to)
		}
		return err
	})
	for i, c := range conflicts {
		conflicts[i].Path = cmp.Or(beside[c.Path], c.Path)
	}
	if err != nil || changes.Len() == 0 {
		return tree, err
	}
	if err := q.do(ctx, "read-tree", tree); err != nil {
		return "", err
	}
	if _, err := q.input(ctx, changes.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return q.out(ctx, "write-tree")
}

// namesBeside returns names for the files that git has put beside others: the path that they should have, and the side. One that
// is taken is left out.
func (q *quarantine) namesBeside(ctx context.Context, tree string, conflicts []Conflict, sides []Branch) (map[string]string, error) {
	names, of := map[string]string{}, map[string]string{}
	for _, c := range conflicts {
		for _, b := range sides {
			to := c.Beside + "~" + b.word()
			if c.Beside != "" && b.word() != "" && of[to] == "" && strings.HasPrefix(c.Path, c.Beside+"~"+b.label()) {
				names[c.Path], of[to] = to, c.Path
			}
		}
	}
	err := q.eachEntry(ctx, tree, sorted.Keys(of), func(_, path string) error {
		for to, from := range of {
			if path == to || strings.HasPrefix(path, to+"/") {
				delete(names, from)
			}
		}
		return nil
	})
	return names, err
}

// nameMarkers names the sides of a conflict at the markers in a file. It returns the object.
func (q *quarantine) nameMarkers(ctx context.Context, mode, object string, names *strings.Replacer) (string, error) {
	if mode != "100644" && mode != "100755" {
		return object, nil
	}
	content, _, err := q.run(ctx, nil, "cat-file", "blob", object)
	at := markers(content)
	if err != nil || len(at) == 0 {
		return object, err
	}
	lines := slices.Collect(strings.Lines(content))
	for _, n := range at {
		lines[n-1] = names.Replace(lines[n-1])
	}
	return q.input(ctx, strings.Join(lines, ""), "hash-object", "-w", "--stdin", "--no-filters")
}

// label returns a name of the commit for git that says what it is, in the form of git describe:
// git labels the sides of a conflict with what it was given.
func (b Branch) label() string {
	if name := b.word(); name != "" {
		return name + "-g" + b.Commit[:16]
	}
	return b.Commit
}

// word returns the name of the branch as a part of other names; "" if nothing of it can be one.
func (b Branch) word() string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, b.Name)
	name = strings.Trim(name, "-")
	return name[:min(len(name), 60)]
}

// parseMerge reads the output of merge-tree -z: the tree, then "mode object stage TAB path" of the
// files with conflicts, an empty record, and messages: a number of paths, the paths, a kind, a text.
func parseMerge(text string) (tree string, conflicts []Conflict, err error) {
	rest := strings.Split(text, "\x00")
	unexpected := fmt.Errorf("git merge-tree: unexpected output %.80q", text)
	if tree = rest[0]; !isCommit(tree) {
		return "", nil, unexpected
	}
	rest = rest[1:]
	for len(rest) > 0 && rest[0] != "" {
		info, path, _ := strings.Cut(rest[0], "\t")
		f := strings.Fields(info)
		if len(f) != 3 || len(f[2]) != 1 || f[2] < "1" || f[2] > "3" {
			return "", nil, unexpected
		}
		if n := len(conflicts); n == 0 || conflicts[n-1].Path != path {
			conflicts = append(conflicts, Conflict{Path: path})
		}
		side := f[2][0] - '1'
		conflicts[len(conflicts)-1].has[side] = true
		if f[0] == "100644" || f[0] == "100755" { // neither a link nor a submodule
			conflicts[len(conflicts)-1].versions[side] = f[1]
		}
		rest = rest[1:]
	}
	rest = rest[min(1, len(rest)):]
	for len(rest) > 1 {
		var count int
		if _, err := fmt.Sscanf(rest[0], "%d", &count); err != nil || count < 0 || len(rest) < count+3 {
			return "", nil, unexpected
		}
		paths, kind := rest[1:1+count], rest[1+count]
		rest = rest[count+3:]
		kind, ok := strings.CutPrefix(kind, "CONFLICT (")
		if !ok {
			continue
		}
		kind = strings.TrimSuffix(kind, ")")
		for i := range conflicts {
			c := &conflicts[i]
			if !slices.Contains(paths, c.Path) {
				continue
			}
			c.Kind = cmp.Or(c.Kind, kind)
			if kind == "file/directory" || strings.HasPrefix(kind, "distinct") {
				c.Beside = cmp.Or(c.Beside, besideWhich(c.Path, paths))
			}
		}
	}
	for i := range conflicts {
		conflicts[i].Kind = cmp.Or(conflicts[i].Kind, "contents")
	}
	return tree, conflicts, nil
}

// besideWhich returns the one of the paths in a message of git beside which it has put a file; "" if there is none.
func besideWhich(file string, paths []string) string {
	for _, p := range paths {
		if strings.HasPrefix(file, p+"~") {
			return p
		}
	}
	return ""
}

// Marker is a line that begins or ends a conflict, or a file that git has put beside another one.
type Marker struct {
	Path string
	Line int // from 1; 0: the whole file
}

// Markers returns the conflict markers, and the files that git has put beside others, that are left in a commit that resolves conflicts.
func (s *Store) Markers(ctx context.Context, commit string, conflicts []Conflict) ([]Marker, error) {
	if err := checkCommits(commit); err != nil {
		return nil, err
	}
	var all []Marker
	err := s.git.eachFile(ctx, commit, pathsOf(conflicts), func(_, path, content string) error {
		left, err := s.leftMarkers(ctx, conflicts, path, content)
		all = append(all, left...)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.git.eachEntry(ctx, commit, pathsBeside(conflicts), func(_, path string) error {
		all = append(all, Marker{Path: path})
		return nil
	})
	return all, err
}

// MovedMarkers returns the conflict markers in files that are new in a commit that resolves the conflicts of a merge: whoever resolves them may have
// given a file another name and left its markers.
func (s *Store) MovedMarkers(ctx context.Context, commit string, m Merged) (all []Marker, err error) {
	if err := checkCommits(commit, m.Commit); err != nil {
		return nil, err
	}
	made := map[string]bool{} // the markers that git has made
	err = s.git.eachFile(ctx, m.Commit, pathsOf(m.Conflicts), func(_, path, content string) error {
		own, err := s.leftMarkers(ctx, m.Conflicts, path, content)
		lines := slices.Collect(strings.Lines(content))
		for _, marker := range own {
			made[strings.TrimRight(lines[marker.Line-1], "\r\n")] = true
		}
		return err
	})
	if err != nil || len(made) == 0 {
		return nil, err
	}
	moves, err := s.git.moves(ctx, [2]tree{m.Commit, commit})
	var added []string
	for _, move := range moves {
		if move.Was == "" && !slices.Contains(pathsOf(m.Conflicts), move.Path) {
			added = append(added, move.Path)
		}
	}
	if err != nil {
		return nil, err
	}
	err = s.git.eachFile(ctx, commit, added, func(_, path, content string) error {
		lines := slices.Collect(strings.Lines(content))
		for _, n := range markers(content) {
			if made[strings.TrimRight(lines[n-1], "\r\n")] {
				all = append(all, Marker{path, n})
			}
		}
		return nil
	})
	return all, err
}

// pathsBeside returns the files that git has put beside others.
func pathsBeside(conflicts []Conflict) (paths []string) {
	for _, c := range conflicts {
		if c.Beside != "" {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// PlacesOf returns the paths that conflict, without those that git has made for its own use.
func PlacesOf(conflicts []Conflict) (paths []string) {
	for _, c := range conflicts {
		if path := cmp.Or(c.Beside, c.Path); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

func pathsOf(conflicts []Conflict) (paths []string) {
	for _, c := range conflicts {
		paths = append(paths, c.Path)
	}
	return paths
}

// leftMarkers returns the conflict markers in a file that are not lines of what was merged. How often such a line may be there follows
// from how often each of the versions has it.
func (s *Store) leftMarkers(ctx context.Context, conflicts []Conflict, path, content string) (left []Marker, err error) {
	lines := markers(content)
	if len(lines) == 0 {
		return nil, nil
	}
	has := markerCounts(content)
	var merged [3]string
	if i := slices.IndexFunc(conflicts, func(c Conflict) bool { return c.Path == path }); i >= 0 { // otherwise it is below a path that was a file
		merged = conflicts[i].versions
	}
	var had [3]map[string]int
	for n, object := range merged {
		if object == "" {
			continue
		}
		text, _, err := s.git.run(ctx, nil, "cat-file", "blob", object)
		if err != nil && exitCode(err) <= 0 { // a merged base may be nowhere
			return nil, err
		}
		had[n] = markerCounts(text)
	}
	all := slices.Collect(strings.Lines(content))
	for _, n := range lines {
		line := strings.TrimRight(all[n-1], "\r\n")
		base, ours, theirs := had[0][line], had[1][line], had[2][line]
		if has[line] > max(base, ours, theirs, ours+theirs-base) {
			left = append(left, Marker{path, n})
		}
	}
	return left, nil
}

// markerCounts returns how often a text has each line that looks like a conflict marker.
func markerCounts(content string) map[string]int {
	counts := map[string]int{}
	all := slices.Collect(strings.Lines(content))
	for _, n := range markers(content) {
		counts[strings.TrimRight(all[n-1], "\r\n")]++
	}
	return counts
}

// eachFile reads some files of a tree, without links.
func (g git) eachFile(ctx context.Context, tree string, paths []string, do func(mode, path, content string) error) error {
	return g.eachEntry(ctx, tree, paths, func(info, path string) error {
		f := strings.Fields(info)
		if len(f) != 3 || f[1] != "blob" || f[0] == "120000" {
			return nil
		}
		content, _, err := g.run(ctx, nil, "cat-file", "blob", f[2])
		if err == nil {
			err = do(f[0], path, content)
		}
		return err
	})
}

// eachEntry lists what a tree has at some paths and below, with its mode, kind and object.
func (g git) eachEntry(ctx context.Context, tree string, paths []string, do func(info, path string) error) error {
	const atOnce = 100 // systems limit how long arguments are
	var entries []string
	for some := range slices.Chunk(paths, atOnce) {
		text, err := g.with("GIT_LITERAL_PATHSPECS=1").out(ctx, append([]string{"ls-tree", "-r", "-z", tree, "--"}, some...)...)
		if err != nil {
			return err
		}
		entries = append(entries, records(text)...)
	}
	for _, entry := range entries {
		info, path, _ := strings.Cut(entry, "\t")
		if err := do(info, path); err != nil {
			return err
		}
	}
	return nil
}

// Markers is [Store.Markers] for what is in the directory.
func (w *Workspace) Markers(ctx context.Context, conflicts []Conflict) ([]Marker, error) {
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []Marker
	beside := pathsBeside(conflicts)
	for _, path := range pathsOf(conflicts) {
		info, err := root.Lstat(filepath.FromSlash(path))
		if err == nil && slices.Contains(beside, path) {
			all = append(all, Marker{Path: path})
		}
		if err != nil || !info.Mode().IsRegular() { // deleted, or something else by now
			continue
		}
		content, err := root.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return nil, err
		}
		left, err := w.store.leftMarkers(ctx, conflicts, path, string(content))
		if err != nil {
			return nil, err
		}
		all = append(all, left...)
	}
	return all, nil
}

// markers returns the lines that look like markers. A line of only = signs also underlines headings, so it does not count.
func markers(content string) (lines []int) {
	if bytes.IndexByte([]byte(content[:min(len(content), 8000)]), 0) >= 0 { // as git recognizes binary files
		return nil
	}
	n := 0
	for line := range strings.Lines(content) {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") || strings.HasPrefix(line, "||||||| ") {
			lines = append(lines, n)
		}
	}
	return lines
}
