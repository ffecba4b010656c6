package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// target checks a landing and returns the ref that it changes.
func (s *Store) target(ctx context.Context, l Landing) (string, error) {
	if err := checkCommits(l.Base, l.Commit); err != nil {
		return "", err
	}
	if l.ID == "" || l.Run == "" {
		return "", errors.New("a landing needs an id and a run")
	}
	if err := s.CheckHow(l.How); err != nil {
		return "", err
	}
	switch err := s.git.do(ctx, "merge-base", "--is-ancestor", l.Base, l.Commit); {
	case exitCode(err) == 1:
		return "", fmt.Errorf("workspace %.12s does not descend from %.12s, so it cannot be landed", l.Commit, l.Base)
	case err != nil:
		return "", fmt.Errorf("workspace %.12s cannot be read; the git repository of %s may have been removed or replaced: %w", l.Commit, s.root, err)
	}
	if l.How == AsPatch {
		return "", nil
	}
	if l.How == AsBranch {
		return "refs/heads/" + l.Branch, s.checkBranch(ctx, l.Branch)
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(s.user.gitDir, name)); err == nil {
			return "", fmt.Errorf("a merge or rebase is in progress in %s: finish or abort it first, or use land: branch", s.root)
		}
	}
	return s.currentBranch(ctx)
}

// checkBranch returns an error if a name cannot be that of a new branch, or means something else to git already: commands of the user
// would take the one for the other.
func (s *Store) checkBranch(ctx context.Context, name string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	valid, err := s.user.out(ctx, "check-ref-format", "--branch", name)
	if err != nil || valid != name || strings.ContainsFunc(name, hidden) {
		return cmp.Or(ctx.Err(), error(&BranchError{fmt.Sprintf("invalid name of a branch %q: choose another one", name)}))
	}
	remotes, err := s.user.out(ctx, "remote")
	if err != nil {
		return err
	}
	for _, prefix := range append(strings.Fields(remotes), "refs", "heads", "tags", "remotes") {
		if strings.HasPrefix(name+"/", prefix+"/") {
			return &BranchError{fmt.Sprintf("the name of branch %q begins like those of other refs, with %s/: choose another one", name, prefix)}
		}
	}
	if reserved(name) {
		return &BranchError{fmt.Sprintf("the name of branch %q can be taken for a commit: choose another one", name)}
	}
	switch other, err := s.branchAt(ctx, name); {
	case err != nil:
		return err
	case other == name:
		return &BranchError{fmt.Sprintf("branch %s exists already: rename or remove it, or choose another name", name)}
	case other != "":
		return beside(name, other)
	}
	found, err := s.user.out(ctx, "rev-parse", "-q", "--verify", "--end-of-options", name)
	if err != nil {
		return ctx.Err() // there is none
	}
	return &BranchError{fmt.Sprintf("the name of branch %q means %.12s already: choose another one", name, found)}
}

// branchAt returns the branch because of which git cannot create one with a name: that branch, or one whose name is a folder of the
// other; "" if there is none.
func (s *Store) branchAt(ctx context.Context, name string) (string, error) {
	const heads = "refs/heads/"
	for i, r := range name + "/" {
		if r == '/' && s.user.do(ctx, "show-ref", "-q", "--verify", heads+name[:i]) == nil {
			return name[:i], nil
		}
	}
	below, err := s.user.out(ctx, "for-each-ref", "--count=1", "--format=%(refname)", heads+name+"/")
	return strings.TrimPrefix(below, heads), err
}

func beside(name, other string) error {
	return &BranchError{fmt.Sprintf("branch %s exists, and git cannot have the branch %s beside it: set another name as the branch of the landing", other, name)}
}

// BranchError means that a branch with a name cannot be created.
type BranchError struct{ why string }

func (e *BranchError) Error() string { return e.why }

// FreeBranch returns a name for a new branch: the given one or, if there cannot be such a branch, one that begins with it.
func (s *Store) FreeBranch(ctx context.Context, name string) (string, error) {
	if s.user == nil {
		return name, nil
	}
	for n := 2; ; n++ {
		free := name
		if n > 2 {
			free = fmt.Sprintf("%s-%d", name, n-1)
		}
		switch other, err := s.branchAt(ctx, free); {
		case err != nil:
			return "", err
		case other == "":
			return free, ctx.Err()
		case strings.HasPrefix(name, other+"/"): // so are all names that begin with this one
			return "", beside(name, other)
		}
	}
}

// currentBranch returns the ref of the branch that is checked out.
func (s *Store) currentBranch(ctx context.Context) (string, error) {
	ref, err := s.user.out(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil {
		return "", cmp.Or(ctx.Err(), fmt.Errorf("no branch is checked out in %s: check one out, or use land: branch", s.root))
	}
	return ref, nil
}

// reserved reports whether a name is @, HEAD, FETCH_HEAD or the like, or can be the abbreviated name of a commit.
func reserved(name string) bool {
	const shortest = 7 // that git prints by itself
	upper := strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
	hex := len(name) >= shortest && strings.Trim(strings.ToLower(name), "0123456789abcdef") == ""
	return name == "@" || hex || upper && strings.HasSuffix(name, "HEAD")
}
