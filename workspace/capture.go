package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hocket-dev/hocket/internal/projectfile"
)

// Base is what a run starts from.
type Base struct {
	Commit   string   // the captured files; Head itself if nothing differs from it
	Head     string   // the user's commit; "" if there is none
	Warnings []string // what was not captured and why, for people
}

// Include is the name of the file in a project whose patterns, in the syntax of .gitignore, name
// ignored files that are captured.
const Include = ".worktreeinclude"

// Capture captures the user's checkout as the base of a run. The patterns of include are added to
// those of .worktreeinclude. The same files and the same Head give the same commit.
func (s *Store) Capture(ctx context.Context, run string, include []string) (Base, error) {
	b, err := s.capture(ctx, run, include)
	return b, s.reason(err)
}

func (s *Store) capture(ctx context.Context, run string, include []string) (Base, error) {
	steady, ended, err := s.steadySoon(ctx)
	if err != nil {
		return Base{}, err
	}
	defer steady.Release()
	head, err := s.head(ctx)
	if err != nil {
		return Base{}, err
	}
	if head.commit != "" { // first, so that nothing is pruned meanwhile
		if err := s.user.do(ctx, "update-ref", refsOf(run)+"base", head.commit); err != nil {
			return Base{}, reason(err, s.user.gitDir)
		}
	}
	q, err := s.quarantine("", "")
	if err != nil {
		return Base{}, err
	}
	defer q.remove()
	files, warnings, err := s.scan(ctx, q, include)
	if err != nil {
		return Base{}, err
	}
	commit, err := q.commit(ctx, files, "The checkout when the run was started", head)
	if err == nil && commit != head.commit {
		err = q.seal(ctx, s.git, commit, head.commit)
	}
	if err == nil {
		err = s.checkComplete(ctx, commit)
	}
	if err != nil {
		return Base{}, err
	}
	for _, e := range ended {
		warnings = append(warnings, e.String())
	}
	if s.usesLFS() {
		warnings = append(warnings, "files of Git LFS are pointers in workspaces")
	}
	return Base{commit, head.commit, warnings}, s.pin(ctx, run, "base", commit)
}

// usesLFS reports whether the repository has files of Git LFS, by the attributes where its users set that.
func (s *Store) usesLFS() bool {
	text, err := readSmall(filepath.Join(s.root, ".gitattributes"))
	return s.user != nil && err == nil && strings.Contains(text, "filter=lfs")
}

// point is a commit with what is needed to build on it.
type point struct{ commit, tree, time string }

// head returns the user's current commit; the zero point if there is none.
func (s *Store) head(ctx context.Context) (point, error) {
	if s.user == nil {
		return point{}, nil
	}
	p, err := s.user.point(ctx, "HEAD")
	if err != nil {
		if s.user.do(ctx, "rev-parse", "-q", "--verify", "HEAD") != nil && s.user.do(ctx, "symbolic-ref", "-q", "HEAD") == nil {
			return point{}, nil // a branch without commits
		}
	}
	return p, err
}

func (g git) point(ctx context.Context, rev string) (point, error) {
	text, err := g.out(ctx, "rev-list", "-1", "--no-commit-header", "--format=%H %T %ct", rev, "--")
	if err != nil {
		return point{}, err
	}
	f := strings.Fields(text)
	if len(f) != 3 {
		return point{}, fmt.Errorf("git rev-list: unexpected output %.80q", text)
	}
	return point{f[0], f[1], f[2]}, nil
}

// scan writes the files of the checkout into a quarantine as a tree. It also returns what it left out and why, for people.
func (s *Store) scan(ctx context.Context, to *quarantine, include []string) (files tree, warnings []string, err error) {
	q, err := s.quarantine(s.root, "")
	if err != nil {
		return "", nil, err
	}
	defer q.remove()
	q.git = q.with("GIT_OBJECT_DIRECTORY=" + filepath.Join(to.dir, "objects"))
	if err := s.copyUserIndex(ctx, q.index); err != nil {
		return "", nil, err
	}
	links, err := q.gitlinks(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, l := range links {
		warnings = append(warnings, fmt.Sprintf("%s is a submodule: changes in it are not captured, and it is empty in workspaces", Shown(l)))
	}
	aside := s.aside(ctx, q, links)
	if err := s.checkSize(ctx, q, aside); err != nil {
		return "", nil, err
	}
	found, err := q.add(ctx, links, aside)
	if err != nil {
		return "", nil, err
	}
	for _, dir := range found.unread {
		warnings = append(warnings, fmt.Sprintf("%s cannot be read: its files are not captured", Shown(dir)))
	}
	for _, n := range found.nested {
		warnings = append(warnings, fmt.Sprintf("%s is a repository of its own: its files are not captured", Shown(n)))
	}
	if err := steadily(ctx, func() error { return s.include(ctx, q, include) }); err != nil {
		return "", nil, err
	}
	files, err = q.writeTree(ctx)
	return files, warnings, err
}

// aside returns what must not be captured: repositories inside, and the directory of state in which ours is. Git
// refuses to leave out what it ignores anyway.
func (s *Store) aside(ctx context.Context, q *quarantine, links []string) []string {
	dir := filepath.Dir(s.dir)
	if dir == s.root {
		dir = s.dir
	}
	rel, err := filepath.Rel(s.root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return links
	}
	rel = filepath.ToSlash(rel)
	if q.do(ctx, "check-ignore", "-q", "--no-index", "--", rel) == nil {
		return links
	}
	return append(slices.Clip(links), rel)
}

// maxUntracked is how many bytes of files can be captured that git does not know. More is likely
// something that should be ignored, and would be stored for every run.
const maxUntracked = 2 << 30

// checkSize returns an error if untracked files are too large.
func (s *Store) checkSize(ctx context.Context, q *quarantine, aside []string) error {
	args := []string{"ls-files", "-z", "--others", "--exclude-standard", "--", ":(top)"}
	for _, path := range aside {
		args = append(args, exclude+path)
	}
	text, err := q.out(ctx, args...)
	if err != nil {
		return err
	}
	var sum, most int64
	largest := ""
	for _, name := range records(text) {
		info, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			continue // git says what is wrong
		}
		if sum += info.Size(); info.Size() > most {
			most, largest = info.Size(), name
		}
	}
	if sum > maxUntracked {
		return fmt.Errorf("untracked files in %s have %d MB, more than the %d MB that can be captured; the largest is %s: add what workspaces do not need to .gitignore", s.root, sum>>20, maxUntracked>>20, Shown(largest))
	}
	return nil
}

// ignore writes what the user's configuration ignores into one file for git: the user's repository
// is not the one whose configuration our commands read.
func (s *Store) ignore(q *quarantine) error {
	var all bytes.Buffer
	if s.user != nil {
		for _, file := range []string{s.user.globalExcludes, s.user.excludes} { // later lines come first
			text, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) && file != s.user.globalExcludes {
				return err
			}
			all.Write(append(text, '\n'))
		}
	}
	file := filepath.Join(q.dir, "excludes")
	q.settings = append(slices.Clip(q.settings), "core.excludesFile="+file)
	return os.WriteFile(file, all.Bytes(), 0o600)
}

// include adds ignored files that a pattern names.
func (s *Store) include(ctx context.Context, q *quarantine, patterns []string) error {
	text, err := projectfile.Read(filepath.Join(s.root, s.sub, Include), s.root) // a clone may have anything there
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if text = append(append(text, '\n'), strings.Join(patterns, "\n")...); len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	file := filepath.Join(q.dir, "include")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	// In the project's directory, since the patterns are relative to it.
	g := q.in(filepath.Join(s.root, s.sub))
	found, err := g.out(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-from="+file)
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(records(found), func(name string) bool {
		path := filepath.Join(s.root, s.sub, filepath.FromSlash(name))
		return path == s.dir || strings.HasPrefix(path, s.dir+string(filepath.Separator))
	})
	if len(files) == 0 {
		return nil
	}
	if i := slices.IndexFunc(files, func(name string) bool { return strings.HasSuffix(name, "/") }); i >= 0 {
		return fmt.Errorf("%s is a repository of its own, and cannot be included in workspaces: name files in it, or remove the pattern", Shown(files[i]))
	}
	_, err = g.with("GIT_LITERAL_PATHSPECS=1").input(ctx, strings.Join(files, "\x00"), "add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
	return vanished(stderrOf(err), err)
}

// copyUserIndex copies the user's index. One that is split into two files becomes one.
func (s *Store) copyUserIndex(ctx context.Context, to string) error {
	if s.user == nil {
		return nil
	}
	if err := copyIndex(s.user.index, to); err != nil {
		return err
	}
	if shared, err := filepath.Glob(filepath.Join(filepath.Dir(s.user.index), "sharedindex.*")); err != nil || shared == nil {
		return err
	}
	return s.user.with("GIT_INDEX_FILE="+to).do(ctx, "update-index", "--no-split-index")
}

// copyIndex copies an index with its time: git reads a file again if the file is not older than
// the index.
func copyIndex(from, to string) error {
	file, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0) // git replaces it, so what is open keeps its content and its time
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLarge {
		return fmt.Errorf("%s is not a regular file of at most %d MB", from, maxLarge>>20)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// quarantine is where objects are created, with an index. Objects reach the store only by seal,
// so that what fails leaves nothing there, and the store has everything that its commits need.
type quarantine struct {
	git
	dir, index string
	compared   bool // by compare
	remove     func()
}

// quarantine returns one for a work tree; "" if there is none. The objects of another repository
// ("": none) can be read in it, too.
func (s *Store) quarantine(workTree, others string) (*quarantine, error) {
	dir, remove, err := s.temp()
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		remove()
		return nil, err
	}
	lend := quotePath(s.objects())
	if others != "" {
		lend += string(os.PathListSeparator) + quotePath(others)
	}
	q := &quarantine{git: s.tree, dir: dir, index: filepath.Join(dir, "index"), remove: remove}
	q.git = q.with("GIT_OBJECT_DIRECTORY="+objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+lend, "GIT_INDEX_FILE="+q.index)
	if workTree != "" {
		q.git = q.with("GIT_WORK_TREE=" + workTree).in(workTree)
		if err := s.ignore(q); err != nil {
			remove()
			return nil, err
		}
	}
	return q, nil
}

// quotePath quotes a path for a list of directories in a variable of git.
func quotePath(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// gitlinks returns the submodules in the index. Unmerged files in it are an error.
func (q *quarantine) gitlinks(ctx context.Context) (links []string, err error) {
	entries, err := q.entries(ctx)
	for _, e := range entries {
		if e.stage != 0 {
			return nil, fmt.Errorf("%s is unmerged: finish or abort the merge first", Shown(e.name))
		}
		if e.mode == gitlink {
			links = append(links, e.name)
		}
	}
	return links, err
}

// entries returns what is in the index. Git reads one that we do not understand.
func (q *quarantine) entries(ctx context.Context) (all []entry, err error) {
	data, err := os.ReadFile(q.index)
	if index, ok := parseIndex(data); ok && err == nil {
		return index.entries, nil
	}
	text, err := q.out(ctx, "ls-files", "--stage", "-z")
	for _, record := range records(text) {
		var e entry
		info, name, _ := strings.Cut(record, "\t")
		if _, err := fmt.Sscanf(info, "%o %s %d", &e.mode, new(string), &e.stage); err != nil {
			return nil, fmt.Errorf("git ls-files: unexpected output %.80q", record)
		}
		e.name = name
		all = append(all, e)
	}
	return all, err
}

// notIgnored returns those of some paths that git does not ignore.
func (q *quarantine) notIgnored(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	const here = "./" // a name that begins with a colon would mean something else
	text, err := q.input(ctx, here+strings.Join(paths, "\x00"+here), "check-ignore", "-z", "--stdin")
	if err != nil && exitCode(err) != 1 { // 1: it ignores none
		return nil, err
	}
	ignored := records(text)
	return slices.DeleteFunc(slices.Clone(paths), func(name string) bool { return slices.Contains(ignored, here+name) }), nil
}

// exclude excludes a path from what git works on.
const exclude = ":(top,exclude,literal)"

// unopened is how git says that it leaves out a directory. It does not fail then.
const unopened = "warning: could not open directory "

// added is what add has found in a work tree.
type added struct {
	files  []string // what is in the index
	nested []string // repositories in it, of which only the commit was added
	unread []string // directories that cannot be read
}

// add adds everything of the work tree to the index, except some paths. Links are the submodules that were known before.
func (q *quarantine) add(ctx context.Context, links, except []string) (found added, err error) {
	spec := ":(top)"
	for _, path := range except {
		spec += "\x00" + exclude + path
	}
	var messages string
	err = steadily(ctx, func() (err error) {
		_, messages, err = q.run(ctx, strings.NewReader(spec), "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
		return vanished(messages, err)
	})
	if errors.As(err, new(*VanishedError)) {
		var added bool
		if messages, added = q.addListed(ctx, except); !added {
			return found, err
		}
		err = nil
	}
	for line := range strings.Lines(messages) {
		line = strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(line, unopened); ok {
			if i := strings.LastIndex(path, "': "); i >= 0 { // git shortens long paths
				path = path[:i]
			}
			found.unread = append(found.unread, strings.Trim(path, "'/"))
		}
		if why := refused(line); why != nil && err != nil {
			return found, why
		}
		if path, ok := strings.CutSuffix(line, "does not have a commit checked out"); ok && err != nil {
			path = strings.Trim(strings.TrimSpace(strings.TrimPrefix(path, "error: ")), "'/")
			return found, fmt.Errorf("%s is a git repository without commits, whose files git does not add: commit there, remove its .git, or ignore it", Shown(path))
		}
	}
	if err != nil {
		return found, err
	}
	entries, err := q.entries(ctx)
	for _, e := range entries {
		found.files = append(found.files, e.name)
		if e.mode == gitlink && !slices.Contains(links, e.name) {
			found.nested = append(found.nested, e.name)
		}
	}
	return found, err
}

// writeTree writes what is in the index as a tree, whatever the files are by now.
func (q *quarantine) writeTree(ctx context.Context) (string, error) {
	if err := postdate(q.index); err != nil {
		return "", err
	}
	return q.out(ctx, "write-tree")
}

// author signs the commits of workspaces. Their time is that of the parent, so that the same files
// give the same commit.
const author = "hocket <hocket@localhost> "

// commit commits a tree on other commits, the first of which decides the time. The zero point is
// no commit. A tree that does not differ from that of the only parent gives the parent.
func (q *quarantine) commit(ctx context.Context, tree, message string, parents ...point) (string, error) {
	parents = slices.DeleteFunc(parents, func(p point) bool { return p.commit == "" })
	if len(parents) == 1 && parents[0].tree == tree {
		return parents[0].commit, nil
	}
	at := "946684800" // 2000-01-01
	if len(parents) > 0 {
		at = parents[0].time
	}
	return q.commitBy(ctx, author+at+" +0000", tree, message, parents...)
}

func (q *quarantine) commitBy(ctx context.Context, who, tree, message string, parents ...point) (string, error) {
	var text strings.Builder
	text.WriteString("tree " + tree + "\n")
	for _, p := range parents {
		text.WriteString("parent " + p.commit + "\n")
	}
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s\n", who, who, strings.TrimSpace(strings.ReplaceAll(message, "\x00", "")))
	return q.input(ctx, text.String(), "hash-object", "-t", "commit", "-w", "--stdin")
}

// seal copies a commit with all that it needs into a repository that has other commits ("": none).
// It also copies objects that the repository can read in its alternates: only the given commits are kept
// there, others may be pruned. All hashes and links are checked.
func (q *quarantine) seal(ctx context.Context, to git, commit string, has ...string) error {
	revs := commit + "\n"
	for _, c := range has {
		if c != "" {
			revs += "^" + c + "\n"
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := to.intake()
	if err != nil {
		return err
	}
	defer in.remove()
	pack, packDone, err := q.command(ctx, "pack-objects", "--quiet", "--revs", "--stdout", "--window=0", "--threads=1", "--delta-base-offset")
	if err != nil {
		return err
	}
	defer packDone()
	pack.Stdin = strings.NewReader(revs)
	index, indexDone, err := in.command(ctx, "index-pack", "--stdin", "--strict", "--threads=1")
	if err != nil {
		return err
	}
	defer indexDone()
	wrong, err := transfer(ctx, pack, index)
	err = reason(err, to.objects)
	if wrong != nil {
		wrong = fmt.Errorf("%w (%s)", wrong, strconv.Quote(commit))
	}
	switch {
	case err != nil && wrong != nil: // one of them failed because the other did
		return fmt.Errorf("%w; %w", err, wrong)
	case err != nil || wrong != nil:
		return cmp.Or(err, wrong)
	}
	return in.take()
}

// transfer lets git index-pack read what git pack-objects writes.
func transfer(ctx context.Context, pack, index *exec.Cmd) (packing, indexing error) {
	r, w, err := os.Pipe()
	if err != nil {
		return err, nil
	}
	defer r.Close()
	var packed, indexed bytes.Buffer
	pack.Stdout, pack.Stderr = w, limited(&packed)
	index.Stdin, index.Stderr = r, limited(&indexed)
	packing = explain(ctx, "pack-objects", pack.Start(), &packed)
	_ = w.Close()
	if packing != nil {
		return packing, nil
	}
	indexing = explain(ctx, "index-pack", index.Run(), &indexed)
	_ = r.Close() // nobody reads any more
	return explain(ctx, "pack-objects", pack.Wait(), &packed), indexing
}
