package trust

import (
	"os"
	"path/filepath"
	"strings"
)

// A linked worktree has a file .git that names a directory of its repository, and that
// directory names the file in turn. Both are looked at: a clone can bring a .git that
// names somebody's repository, but cannot write into it. And nothing outside of the
// project is opened unless an approval names that repository already.

// link is what the .git of a linked worktree says.
type link struct {
	file  string // its .git; "" it is no linked worktree
	dir   string // that it names: REPOSITORY/worktrees/NAME
	below string // where the project is inside of the worktree
}

// readLink finds the worktree around a project. The links of a submodule look the same,
// but lead elsewhere.
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

// belongsTo says whether this is a worktree of the repository of an approval.
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

// repository is the git directory that a project shares with its worktrees, and where
// the project is inside of its own; "" there is none.
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
