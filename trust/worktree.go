package trust

import (
	"os"
	"path/filepath"
	"strings"
)

// A linked worktree has a file .git that names a directory in its repository, and that
// directory names the file in turn. Both are checked: a clone can contain a .git that names
// another repository, but cannot write to that. And nothing outside of the project is opened
// unless there is already an approval for that repository.

// link is the content of the .git file of a linked worktree.
type link struct {
	file  string // its .git; "": not a linked worktree
	dir   string // that it names: REPOSITORY/worktrees/NAME
	below string // the path of the project in the worktree
}

// readLink finds the worktree that contains a project. The .git of a submodule looks the
// same, but names another directory.
func readLink(root string) link {
	for at := root; ; at = filepath.Dir(at) {
		file := filepath.Join(at, ".git")
		info, err := os.Lstat(file)
		if err == nil && info.Mode().IsRegular() && info.Size() < 4<<10 {
			text, err := os.ReadFile(file)
			dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if err != nil || !ok {
				return link{}
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(at, dir)
			}
			below, err := filepath.Rel(at, root)
			if err != nil {
				return link{}
			}
			return link{file: file, dir: filepath.Clean(dir), below: below}
		}
		if err == nil || at == filepath.Dir(at) {
			return link{}
		}
	}
}

// belongsTo reports whether this is a worktree of the repository of an approval.
func (l link) belongsTo(a Approval) bool {
	if a.Repository == "" || a.Below != l.below || filepath.Dir(l.dir) != filepath.Join(a.Repository, "worktrees") {
		return false
	}
	back, err := os.ReadFile(filepath.Join(l.dir, "gitdir"))
	if err != nil {
		return false
	}
	named := strings.TrimSpace(string(back))
	if !filepath.IsAbs(named) {
		named = filepath.Join(l.dir, named)
	}
	one, errOne := os.Stat(named)
	other, errOther := os.Stat(l.file)
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

// repository returns the git directory that a project shares with its worktrees, and the
// path of the project in its own worktree, "" if there is none.
func repository(root string) (dir, below string) {
	if l := readLink(root); l.file != "" {
		shared := filepath.Dir(filepath.Dir(l.dir))
		if filepath.Base(filepath.Dir(l.dir)) == "worktrees" && l.belongsTo(Approval{Repository: shared, Below: l.below}) {
			return shared, l.below
		}
		return "", ""
	}
	for at := root; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Lstat(git); err == nil && info.IsDir() {
			if rel, err := filepath.Rel(at, root); err == nil {
				return git, rel
			}
			return "", ""
		}
		if at == filepath.Dir(at) {
			return "", ""
		}
	}
}
