package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
)

// checkContent returns an error if a landing would do something else to the files than its diff shows.
func (s *Store) checkContent(ctx context.Context, l Landing, p *plan) error {
	moves, err := p.q.moves(ctx, p.files)
	if err == nil {
		err = checkSubmodules(l.How, moves)
	}
	if err == nil {
		err = s.checkNames(moves)
	}
	if err == nil {
		err = s.checkHidden(ctx, l, p, moves)
	}
	if err == nil {
		err = p.q.checkAttributes(ctx, p.files, moves)
	}
	return err
}

// checkSubmodules returns an error if a change is one of submodules, which have no files here, and the landing changes only files, or if
// there are files in the place of a submodule on one side, where the user's own may be.
func checkSubmodules(how How, moves []move) error {
	const submodule = "160000"
	for _, m := range moves {
		if m.Was != submodule && m.Mode != submodule {
			continue
		}
		if how == AsPatch {
			return fmt.Errorf("the change cannot land as a patch, because it changes the submodule %s, and a patch changes only files: use land: branch or land: commit", Shown(m.Path))
		}
		below := func(other move) bool { return strings.HasPrefix(other.Path, m.Path+"/") }
		if m.Was != m.Mode && m.Was != "" && m.Mode != "" || slices.ContainsFunc(moves, below) {
			return fmt.Errorf("the change cannot land, because %s is a submodule only before or after it, and has files otherwise: use land: branch", Shown(m.Path))
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
// file with those in the index. So what a filter of the user has replaced when the file was added is part of no capture, and would be lost. The
// error is errMoved if the user has changed the file since it was captured.
func (s *Store) checkHidden(ctx context.Context, l Landing, p *plan, moves []move) error {
	name, err := s.hidden(ctx, p.q, moves)
	if err != nil || name == "" {
		return err
	}
	again, _, err := s.scan(ctx, p.q, l.scanned())
	if err != nil {
		return err
	}
	if again != p.files[before] {
		return fmt.Errorf("%s: %w", Shown(name), errMoved)
	}
	if name, err = s.hidden(ctx, p.q, moves); err != nil || name == "" { // the user has changed it, and back
		return err
	}
	return fmt.Errorf("the change cannot land, because %s has other content than git has recorded, which git status does not show and the landing would overwrite: "+
		"if a filter in .gitattributes is the reason, use land: branch", Shown(name))
}

// hidden returns a file that is not what it was before some moves; "" if there is none.
func (s *Store) hidden(ctx context.Context, q *quarantine, moves []move) (name string, err error) {
	var lines strings.Builder
	for _, m := range moves {
		if m.Was != "" && m.Was != "160000" {
			lines.WriteString(m.indexLine(before))
		}
	}
	if lines.Len() == 0 {
		return "", nil
	}
	index := filepath.Join(q.dir, "captured") // without times
	if err := ignoreMissing(os.Remove(index)); err != nil {
		return "", err
	}
	g := q.with("GIT_INDEX_FILE="+index, "GIT_WORK_TREE="+s.root).in(s.root)
	if _, err := g.input(ctx, lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	if err := g.do(ctx, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 { // 1: some files differ
		return "", err
	}
	text, err := g.out(ctx, "diff-files", "--name-only", "-z", "--diff-filter=M")
	if names := records(text); err == nil && len(names) > 0 {
		name = names[0]
	}
	return name, err
}

// filterOf returns a filter that the user's git applies to one of some files; "" if there is none. It is only for a message, so errors do not matter.
func (s *Store) filterOf(ctx context.Context, paths []string) string {
	if s.user == nil {
		return ""
	}
	text, _ := s.user.input(ctx, strings.Join(paths, "\x00"), "check-attr", "--stdin", "-z", "filter")
	for found := range slices.Chunk(records(text), 3) { // path, attribute, value
		name := found[len(found)-1]
		for _, key := range []string{"clean", "process"} { // without one of them, the attribute means nothing
			if s.user.do(ctx, "config", "--get", "filter."+name+"."+key) == nil {
				return name
			}
		}
	}
	return ""
}

// altering are the attributes that let git write other bytes than it has recorded, with the values that do that; "": any.
var altering = map[string]string{"working-tree-encoding": "", "eol": "crlf", "ident": "set"}

// checkAttributes returns an error if a change lets git write its files with other bytes than the diff shows.
func (q *quarantine) checkAttributes(ctx context.Context, trees [2]tree, moves []move) error {
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
		args := append([]string{"check-attr", "--cached", "--stdin", "-z"}, sorted.Keys(altering)...)
		text, _, err := g.run(ctx, strings.NewReader(strings.Join(names, "\x00")), args...)
		if err != nil {
			return err
		}
		found[side] = records(text)
	}
	if len(found[before]) != len(found[after]) || len(found[after])%3 != 0 {
		return errors.New("git check-attr: unexpected output")
	}
	for i := 2; i < len(found[after]); i += 3 {
		name, attribute, was, is := found[after][i-2], found[after][i-1], found[before][i], found[after][i]
		if alters := altering[attribute]; was != is && (alters == "" || was == alters || is == alters) {
			return fmt.Errorf("the change cannot land, because it changes %s of %s from %s to %s in .gitattributes, so the file would not be what the change shows: "+
				"remove that, or use land: branch", attribute, Shown(name), Shown(was), Shown(is))
		}
	}
	return nil
}
