package workspace

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// checkContent returns an error if a landing would do something else to the files than its diff shows.
func (s *Store) checkContent(ctx context.Context, how How, p *plan) error {
	moves, err := p.q.moves(ctx, p.files)
	if err == nil && how == AsPatch {
		err = checkSubmodules(moves)
	}
	if err == nil {
		err = s.checkNames(moves)
	}
	if err == nil {
		err = s.checkHidden(ctx, p.q, moves)
	}
	if err == nil {
		err = p.q.checkEncodings(ctx, p.files, moves)
	}
	return err
}

// checkSubmodules returns an error if a change is one of submodules, which have no files here.
func checkSubmodules(moves []move) error {
	for _, m := range moves {
		if m.Was == "160000" || m.Mode == "160000" {
			return fmt.Errorf("the change cannot land as a patch, because it changes the submodule %s, and a patch changes only files: use land: branch or land: commit", Shown(m.Path))
		}
	}
	return nil
}

// checkNames returns an error if a change renames a file so that the old name is the new one in the checkout, as where upper and lower
// case are the same: removing the one would remove the other.
func (s *Store) checkNames(moves []move) error {
	stat := func(m move) (os.FileInfo, error) { return os.Lstat(filepath.Join(s.root, filepath.FromSlash(m.Path))) }
	for _, made := range moves {
		if made.Was != "" {
			continue
		}
		there, err := stat(made)
		if err != nil {
			continue // as usual
		}
		for _, gone := range moves {
			if gone.Mode != "" {
				continue
			}
			if old, err := stat(gone); err == nil && os.SameFile(old, there) {
				return fmt.Errorf("the change cannot land, because it renames %s to %s, which are the same file in %s: rename it there first, or use land: branch", Shown(gone.Path), Shown(made.Path), s.root)
			}
		}
	}
	return nil
}

// checkHidden returns an error if a file to be changed has other content than the one that was captured. Git compares the size and time of a
// file with those in the index. So what a filter of the user has replaced when the file was added is part of no capture, and would be lost.
func (s *Store) checkHidden(ctx context.Context, q *quarantine, moves []move) error {
	var lines strings.Builder
	for _, m := range moves {
		if m.Was != "" && m.Was != "160000" {
			lines.WriteString(m.indexLine(before))
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	g := q.with("GIT_INDEX_FILE="+filepath.Join(q.dir, "captured"), "GIT_WORK_TREE="+s.root).in(s.root) // without times
	if _, err := g.input(ctx, lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if err := g.do(ctx, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 { // 1: some files differ
		return err
	}
	text, err := g.out(ctx, "diff-files", "--name-only", "-z", "--diff-filter=M")
	if names := records(text); err == nil && len(names) > 0 {
		err = fmt.Errorf("the change cannot land, because %s has other content than git has recorded, which git status does not show and the landing would overwrite: "+
			"if a filter in .gitattributes is the reason, use land: branch", Shown(names[0]))
	}
	return err
}

// checkEncodings returns an error if a change lets git write its files in another encoding than the one that the diff shows.
func (q *quarantine) checkEncodings(ctx context.Context, trees [2]tree, moves []move) error {
	if !slices.ContainsFunc(moves, func(m move) bool { return path.Base(m.Path) == ".gitattributes" }) {
		return nil
	}
	var names []string
	for _, m := range moves {
		if m.Mode != "" {
			names = append(names, m.Path)
		}
	}
	g := q.with("GIT_INDEX_FILE=" + filepath.Join(q.dir, "attributes"))
	var found [2][]string // path, attribute, value
	for side, tree := range trees {
		if err := g.do(ctx, "read-tree", tree); err != nil {
			return err
		}
		text, _, err := g.run(ctx, strings.NewReader(strings.Join(names, "\x00")), "check-attr", "--cached", "--stdin", "-z", "working-tree-encoding")
		if err != nil {
			return err
		}
		found[side] = records(text)
	}
	for i, value := range found[after] {
		if i >= len(found[before]) || found[before][i] != value {
			return fmt.Errorf("the change cannot land, because it changes the encoding of %s to %s (working-tree-encoding in .gitattributes), so the file would not be what the change shows: "+
				"remove that, or use land: branch", Shown(found[after][i-i%3]), Shown(value))
		}
	}
	return nil
}
