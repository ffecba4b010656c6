package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Git does not compare what it reads with the name of the object. So whoever can write in the store, as an agent can whose clone borrows
// its objects, can give an object another content: a person would be shown one change, and another one would land. What is shown and what
// lands is therefore read from verified objects only.

// verify copies the objects of files to a place of the quarantine where git finds no others, and returns git with that place. Their names
// are computed from the copies. The error says which file has another content than was recorded.
func (q *quarantine) verify(ctx context.Context, files map[string]string) (git, error) {
	var names strings.Builder
	for object := range files {
		names.WriteString(object + "\n")
	}
	dir := filepath.Join(q.dir, "verified")
	if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return git{}, err
	}
	own := q.with("GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=")
	if err := q.copyObjects(ctx, own, names.String()); err != nil {
		return git{}, err
	}
	text, err := own.input(ctx, names.String(), "cat-file", "--batch-check")
	for line := range strings.Lines(text) {
		if object, missing := strings.CutSuffix(strings.TrimSpace(line), " missing"); missing {
			return git{}, fmt.Errorf("the change cannot land, because the store of Hocket has other content for %s than was recorded: a step may have changed the store, so look at what the steps do, and start the run again", Shown(files[object]))
		}
	}
	return own, err
}

// verifyMerge verifies what git reads to merge two trees that come from a base: files that differ on both sides, and those that a side may have
// renamed. Nobody is shown what becomes of them in the checkout.
func (q *quarantine) verifyMerge(ctx context.Context, base string, sides ...tree) error {
	moves := make([][]move, len(sides))
	differ := map[string]int{} // on how many sides
	for i, side := range sides {
		var err error
		if moves[i], err = q.moves(ctx, [2]tree{base, side}); err != nil {
			return err
		}
		for _, m := range moves[i] {
			differ[m.Path]++
		}
	}
	files := map[string]string{}
	for _, side := range moves {
		renames := slices.ContainsFunc(side, func(m move) bool { return m.Mode == "" })
		read := slices.DeleteFunc(slices.Clone(side), func(m move) bool {
			return differ[m.Path] == 1 && !(renames && (m.Was == "" || m.Mode == ""))
		})
		addFiles(files, read, before)
		addFiles(files, read, after)
	}
	if len(files) == 0 {
		return nil
	}
	_, err := q.verify(ctx, files)
	return err
}

// copyObjects copies objects to another place.
func (q *quarantine) copyObjects(ctx context.Context, to git, names string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pack, packDone, err := q.command(ctx, "pack-objects", "--quiet", "--stdout", "--window=0", "--compression=0", "--threads=1")
	if err != nil {
		return err
	}
	defer packDone()
	pack.Stdin = strings.NewReader(names)
	index, indexDone, err := to.command(ctx, "index-pack", "--stdin", "--threads=1")
	if err != nil {
		return err
	}
	defer indexDone()
	packing, indexing := transfer(ctx, pack, index)
	return errors.Join(indexing, packing)
}

// diff compares two trees as git.diff does, and reads only verified objects.
func (p *plan) diff(ctx context.Context, trees [2]tree, limit int) (Diff, error) {
	moves, err := p.q.moves(ctx, trees)
	if err != nil {
		return Diff{}, err
	}
	files := map[string]string{}
	for side := range 2 {
		addFiles(files, moves, side)
	}
	own, err := p.q.verify(ctx, files)
	if err != nil {
		return Diff{}, err
	}
	own = own.with("GIT_INDEX_FILE=" + filepath.Join(p.q.dir, "compared"))
	for side := range 2 { // trees that have only what differs
		if trees[side], err = own.treeOf(ctx, moves, side); err != nil {
			return Diff{}, err
		}
	}
	all, err := own.moves(ctx, trees)
	if err != nil {
		return Diff{}, err
	}
	for i, m := range moves {
		if i >= len(all) || all[i] != m { // git takes it into no index
			return Diff{}, belongsError(m.Path)
		}
	}
	return own.diff(ctx, trees[before], trees[after], limit)
}

// addFiles adds the files of a side by their objects.
func addFiles(files map[string]string, moves []move, side int) {
	for _, m := range moves {
		if mode := m.mode(side); mode != "" && mode != "160000" {
			files[m.object(side)] = m.Path
		}
	}
}

// treeOf writes a tree that has only the files of a side.
func (g git) treeOf(ctx context.Context, moves []move, side int) (tree, error) {
	if err := g.do(ctx, "read-tree", "--empty"); err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, m := range moves {
		if m.mode(side) != "" {
			lines.WriteString(m.indexLine(side))
		}
	}
	if _, err := g.input(ctx, lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return g.out(ctx, "write-tree")
}

// writeFiles writes the files of a tree that a landing creates into a directory. Git reads them, and the attributes that say how it writes
// them, only from verified objects.
func (q *quarantine) writeFiles(ctx context.Context, dir string, of tree, moves []move) error {
	if err := q.do(ctx, "read-tree", of); err != nil {
		return err
	}
	var create, lines strings.Builder
	for _, m := range moves {
		if m.Mode != "" {
			create.WriteString(m.Path + "\x00")
			lines.WriteString(m.indexLine(after)) // should the tree be another one by now
		}
	}
	if _, err := q.input(ctx, lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	files := map[string]string{}
	addFiles(files, moves, after)
	attributes, err := q.out(ctx, "ls-files", "--stage", "-z", "--", ":(glob)**/.gitattributes")
	if err != nil {
		return err
	}
	for _, entry := range records(attributes) {
		if info, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(info, "100") {
			files[strings.Fields(info)[1]] = name
		}
	}
	own, err := q.verify(ctx, files)
	if err != nil {
		return err
	}
	_, err = own.with("GIT_WORK_TREE="+dir).in(dir).input(ctx, create.String(), "checkout-index", "--force", "-z", "--stdin")
	return err
}
