package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// NestedError means that an agent created a repository in its workspace. Git would take only its
// commit and lose its files, and run what its configuration says.
type NestedError struct {
	Paths []string
	// Bare means that the directories themselves are repositories, without a .git. Git would record their files, and whoever runs git there
	// later, in the checkout, would run what the agent has configured.
	Bare bool
}

func (e *NestedError) Error() string {
	names := shownAll(e.Paths, maxListed)
	if e.Bare {
		return fmt.Sprintf("git takes a directory for a repository, with a configuration of its own, because of HEAD and objects, refs or commondir in it: %s: remove or rename HEAD there", names)
	}
	return fmt.Sprintf("a repository inside the workspace cannot be captured: %s: remove its .git, or ignore it", names)
}

// leadsToRepository reports whether git may take the directory of a file or directory for another repository because of it. A .git without
// HEAD does not: git ignores it.
func leadsToRepository(root *os.Root, name string, mode fs.FileMode) bool {
	if path.Base(name) != ".git" || name == ".git" {
		return false
	}
	if !mode.IsDir() {
		return true
	}
	_, err := root.Lstat(path.Join(name, "HEAD"))
	return !errors.Is(err, fs.ErrNotExist)
}

// What makes a directory a repository, in the lower case, since some systems do not distinguish that: HEAD, and either objects and refs, or
// commondir, which says where those are. The others decide what git does there.
const (
	hasHead = 1 << iota
	hasObjects
	hasRefs
	hasCommonDir
	hasConfig
)

var repositoryParts = map[string]int{
	"head": hasHead, "objects": hasObjects, "refs": hasRefs, "commondir": hasCommonDir,
	"config": hasConfig, "config.worktree": hasConfig, "hooks": hasConfig,
}

// eachPart calls do for each part of a path that repositories have, with the directory in which it is, "." at the top.
func eachPart(name string, do func(dir string, part int)) {
	for at := 0; at <= len(name); {
		end := at + strings.IndexByte(name[at:]+"/", '/')
		if part := name[at:end]; len(part) <= len("config.worktree") {
			if kind := repositoryParts[strings.ToLower(part)]; kind != 0 {
				do(path.Clean(name[:at]), kind)
			}
		}
		at = end + 1
	}
}

// bareIn returns the directories that git takes for repositories, of those in which files are.
func bareIn(files []string) map[string]bool {
	has := map[string]int{}
	for _, name := range files {
		eachPart(name, func(dir string, part int) { has[dir] |= part })
	}
	bare := map[string]bool{}
	for dir, parts := range has {
		const own, shared = hasHead | hasObjects | hasRefs, hasHead | hasCommonDir
		if parts&own == own || parts&shared == shared {
			bare[dir] = true
		}
	}
	return bare
}

// newRepositories returns the directories that become repositories by a change, and repositories whose configuration it changes.
func newRepositories(before, after, changed []string) (dirs []string) {
	const decisive = hasHead | hasCommonDir | hasConfig
	was, configured := bareIn(before), map[string]bool{}
	for _, name := range changed {
		eachPart(name, func(dir string, part int) { configured[dir] = configured[dir] || part&decisive != 0 })
	}
	for dir := range bareIn(after) {
		if !was[dir] || configured[dir] {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// repositories is what a walk through a work tree finds of repositories in it.
type repositories struct {
	nested []string // directories with a .git
	parts  []string // files, and directories with a slash at the end, which may also be empty, that have the name of a part of one
}

func (r *repositories) add(root *os.Root, name string, mode fs.FileMode) {
	if leadsToRepository(root, name, mode) {
		r.nested = append(r.nested, path.Dir(name))
	}
	if repositoryParts[strings.ToLower(path.Base(name))] == 0 {
		return
	}
	if mode.IsDir() {
		name += "/"
	}
	r.parts = append(r.parts, name)
}

// checkBare returns an error if the index of a workspace has files that make a directory a repository, unless they are those of the base.
// Parts are what is on the disk: git needs no files in some of them, and no tree has empty directories.
func (q *quarantine) checkBare(ctx context.Context, base string, files, parts []string) error {
	parts, err := q.partsOfBare(ctx, parts)
	if err != nil {
		return err
	}
	all := slices.Concat(files, parts)
	if len(bareIn(all)) == 0 {
		return nil
	}
	was, err := q.names(ctx, base)
	if err != nil {
		return err
	}
	text, err := q.out(ctx, "diff-index", "--cached", "--no-renames", "--name-only", "-z", base)
	if err != nil {
		return err
	}
	changed := records(text)
	for _, part := range parts {
		if !strings.HasSuffix(part, "/") && !slices.Contains(files, part) { // git ignores this one
			changed = append(changed, part)
		}
	}
	if dirs := newRepositories(was, all, changed); dirs != nil {
		return &NestedError{dirs, true}
	}
	return nil
}

// partsOfBare returns those of some paths that make a directory a repository which git does not ignore.
func (q *quarantine) partsOfBare(ctx context.Context, parts []string) (found []string, err error) {
	dirs := sorted.Keys(bareIn(parts))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "." })
	kept, err := q.notIgnored(ctx, dirs)
	for _, part := range parts {
		if dir := path.Dir(strings.TrimSuffix(part, "/")); dir == "." || slices.Contains(kept, dir) {
			found = append(found, part)
		}
	}
	return found, err
}

// names returns the paths of all files of a tree.
func (g git) names(ctx context.Context, tree string) ([]string, error) {
	text, err := g.out(ctx, "ls-tree", "-r", "--name-only", "--full-tree", "-z", tree)
	return records(text), err
}

// checkRepositories returns an error if a landing makes a directory of the checkout a repository, also together with what is there
// already and is not part of any tree.
func (s *Store) checkRepositories(ctx context.Context, p *plan, trees [2]tree) error {
	var changed []string
	dirs, gone := map[string]bool{}, map[string]bool{}
	for _, f := range p.Diff.Files {
		changed = append(changed, f.Path)
		eachPart(f.Path, func(dir string, _ int) { dirs[dir] = true })
		gone[f.From] = true
		gone[f.Path] = f.Status == Deleted
	}
	if len(dirs) == 0 {
		return nil
	}
	before, err := p.q.names(ctx, trees[0])
	if err != nil {
		return err
	}
	after, err := p.q.names(ctx, trees[1])
	if err != nil {
		return err
	}
	for dir := range dirs {
		entries, _ := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(dir))) // there need not be one
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if before = append(before, name); !gone[name] {
				after = append(after, name)
			}
		}
	}
	if dirs := newRepositories(before, after, changed); dirs != nil {
		return fmt.Errorf("the change cannot land: %w", &NestedError{dirs, true})
	}
	return nil
}
