package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// How says where a change lands.
type How string

// Where a change lands. Only [AsPatch] is possible without a commit in the user's repository.
const (
	// AsBranch creates a branch with one commit on the user's current commit. Nothing is checked out.
	AsBranch How = "branch"
	// AsCommit adds one commit to the current branch, and the change to the index and to the files. What
	// is not committed stays uncommitted, staged or not.
	AsCommit How = "commit"
	// AsPatch changes the files only, as git apply does.
	AsPatch How = "patch"
)

// Landing is a request to land the difference between two commits of a run.
type Landing struct {
	ID      string // what was landed under it once is not landed again
	Run     string
	How     How
	Base    string   // the base of the run
	Commit  string   // descends from Base
	Branch  string   // the name of the new branch, only for AsBranch
	Message string   // of the commit
	Include []string // as for Capture, only for AsPatch
	Digest  string   // of the plan that a person has approved

	// Approval identifies the approval. It lets [Store.Finish] finish the landing.
	Approval string
	// Ended is told of landings whose process was killed, and which were ended first; nil: nobody is.
	Ended func(Ended) `json:"-"`
}

// Plan is what a landing would do now.
type Plan struct {
	Diff    Diff   // of the user's branch or, with AsPatch, of the files
	Ref     string // the branch that changes, "" with AsPatch
	Message string // of the commit, as it will be; "" with AsPatch
	Digest  string // of all that a person approves
}

// ChangedError means that a landing would no longer do what was approved. The new plan needs an
// approval.
type ChangedError struct{ Plan Plan }

func (e *ChangedError) Error() string {
	return "the checkout has changed: the change that would land is not the one that was approved"
}

// LandConflictError means that the change does not fit the user's files.
type LandConflictError struct {
	Conflicts []Conflict
	// Uncommitted means that the change depends on work that the user has not committed. It fits after that is committed, or as a
	// patch.
	Uncommitted bool
	// InTheWay means that the change overlaps with work that the user has not committed, without depending on it.
	InTheWay bool
	// Ignored means that the change is of files that git ignores, which were included in the workspace. They fit as a patch.
	Ignored bool
	// Filter is a filter that the user's git applies to one of the files; "": none. We run no filters. So a file that is not known to be
	// unchanged by its time may look as if the user had changed it, although git status shows nothing.
	Filter string
	// Mergeable means that git apply -3 can merge the change in the checkout once nothing there is uncommitted.
	Mergeable bool
}

func (e *LandConflictError) Error() string {
	files := shownAll(PlacesOf(e.Conflicts), maxListed)
	filtered := fmt.Sprintf("%s as it is in the checkout, without the filter %s of .gitattributes, which Hocket does not run: run git status", files, Shown(e.Filter))
	switch {
	case e.Ignored:
		return "the change includes " + files + ", which git ignores, so it cannot be committed: have the steps leave that as it is, or use land: patch"
	case e.Filter != "" && e.InTheWay:
		return "the change does not fit " + filtered + ", stash what that shows there (git stash -u) and retry, or use land: branch"
	case e.Filter != "" && e.Uncommitted:
		return "the change depends on " + filtered + ", commit what that shows there and start the run again, or use land: patch"
	case e.Filter != "":
		return "the change conflicts with " + filtered + " and retry, or use land: branch"
	case e.InTheWay:
		return "your uncommitted work is in the way in " + files + ": stash it (git stash -u) and retry, or use land: branch"
	case e.Uncommitted:
		return "the change depends on uncommitted work in " + files + ": commit that and retry, or use land: patch"
	}
	return "the change conflicts with the checkout in " + files
}

// WithCheckout reports whether the change conflicts with what the project is now. Otherwise, the error says what to do.
func (e *LandConflictError) WithCheckout() bool { return !e.Ignored && !e.InTheWay && !e.Uncommitted }

// Landed is what a landing did.
type Landed struct {
	Commit string `json:"commit,omitempty"` // in the user's repository; "" with AsPatch, or if there was nothing to land
	Ref    string `json:"ref,omitempty"`    // the branch that has it
	Files  int    `json:"files"`            // that were changed by it
	// Differ are the files of the checkout that were not as they landed when the landing ended, because somebody has changed them, or changed
	// them back, meanwhile.
	Differ []string `json:"differ,omitempty"`
}

// Plan computes what a landing would do. The patch of the diff has at most about limit bytes.
func (s *Store) Plan(ctx context.Context, l Landing, limit int) (Plan, error) {
	p, err := s.planSteadily(ctx, l, limit)
	return p, s.landReason(err)
}

func (s *Store) planSteadily(ctx context.Context, l Landing, limit int) (Plan, error) {
	steady, ended, err := s.steady(ctx)
	if err != nil {
		return Plan{}, err
	}
	defer steady.Release()
	l.tell(ended...)
	for range maxReplans {
		var p *plan
		if p, err = s.plan(ctx, l, limit); err == nil {
			p.q.remove()
			return p.Plan, nil
		}
		if !errors.Is(err, errMoved) { // the user works in the same files
			break
		}
	}
	return Plan{}, err
}

// scanned returns which ignored files are part of the checkout for a landing.
func (l Landing) scanned() []string {
	if l.How == AsPatch {
		return l.Include
	}
	return nil
}

// plan is a Plan with what is needed to carry it out.
type plan struct {
	Plan
	q      *quarantine // with the objects
	who    string
	head   point
	commit string  // the new commit of AsBranch and AsCommit
	files  [2]tree // before and after
	index  [2]tree // before and after
}

// tree is the name of a tree.
type tree = string

func (s *Store) plan(ctx context.Context, l Landing, limit int) (_ *plan, err error) {
	p := &plan{who: s.signature()}
	if p.Ref, err = s.target(ctx, l); err != nil {
		return nil, err
	}
	if p.head, err = s.head(ctx); err != nil {
		return nil, err
	}
	if p.q, err = s.quarantine("", ""); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.q.remove()
		}
	}()
	if l.How == AsPatch {
		err = s.planPatch(ctx, l, p, limit)
	} else {
		err = s.planCommit(ctx, l, p, limit)
	}
	var conflict *LandConflictError
	if errors.As(err, &conflict) {
		conflict.Mergeable = !slices.ContainsFunc(conflict.Conflicts, func(f Conflict) bool { return !s.mergeable(ctx, f) })
		if l.How == AsPatch || !conflict.WithCheckout() { // otherwise it conflicts with a commit
			conflict.Filter = s.filterOf(ctx, PlacesOf(conflict.Conflicts))
		}
	}
	if err == nil && l.How != AsBranch { // a branch changes no files
		if err = s.checkPaths(p.Diff); err == nil {
			err = s.checkUnseen(ctx, p.Diff)
		}
		if err == nil {
			err = s.checkContent(ctx, l, p)
		}
	}
	if err == nil {
		trees := p.files
		if l.How != AsPatch {
			trees = [2]tree{p.head.commit, p.commit}
		}
		err = s.checkRepositories(ctx, p, trees)
	}
	return p, err
}

// mergeable reports whether git can merge a file in the checkout by itself: there are lines to merge, and the user's repository has
// the file with which the run began.
func (s *Store) mergeable(ctx context.Context, f Conflict) bool {
	return s.user != nil && f.Kind == "contents" && (f.versions[0] == "" || s.user.do(ctx, "cat-file", "-e", f.versions[0]) == nil)
}

// checkUnseen returns an error if a diff changes a file of which git was told not to look at it: what the user has changed there is
// part of no capture, so it would be lost.
func (s *Store) checkUnseen(ctx context.Context, d Diff) error {
	if s.user == nil {
		return nil
	}
	text, err := s.user.out(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	unseen := map[string]string{}
	for _, entry := range records(text) {
		switch tag, name, _ := strings.Cut(entry, " "); {
		case tag == "S" || tag == "s":
			unseen[name] = "skip-worktree"
		case tag != strings.ToUpper(tag):
			unseen[name] = "assume-unchanged"
		}
	}
	for _, f := range d.Files {
		for _, name := range []string{f.Path, f.From} {
			mark := unseen[name]
			if mark == "" {
				continue
			}
			if _, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(name))); err != nil && mark == "skip-worktree" {
				return fmt.Errorf("the change cannot land, because %s is not in your sparse checkout: run git sparse-checkout disable, or use land: branch", Shown(name))
			}
			file := name // in a command for a shell
			if !IsPlain(name) {
				file = "FILE"
			}
			return fmt.Errorf("the change cannot land, because git was told not to look at %s, where you may have changed something: run git update-index --no-%s -- %s, or use land: branch", Shown(name), mark, file)
		}
	}
	return nil
}

// checkPaths returns an error if a diff changes what belongs to git or to the store, or adds what could be taken for a file of a landing.
func (s *Store) checkPaths(d Diff) error {
	dirs := []string{s.dir}
	if s.user != nil {
		dirs = append(dirs, s.user.gitDir, filepath.Dir(s.user.objects))
	}
	for _, f := range d.Files {
		base := path.Base(f.Path)
		if (f.Status == Added || f.Status == Renamed) && len(base) >= len(tempStart) && strings.EqualFold(base[:len(tempStart)], tempStart) {
			return fmt.Errorf("the change cannot land, because it adds %s, and Hocket uses names that begin with %s for its own files: rename or remove that file in the change, or use land: branch", Shown(f.Path), tempStart)
		}
		for _, name := range []string{f.Path, f.From} {
			file := filepath.Join(s.root, filepath.FromSlash(name))
			inGit := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
			if inGit || name != "" && slices.ContainsFunc(dirs, func(dir string) bool { return file == dir || strings.HasPrefix(file, dir+string(filepath.Separator)) }) {
				return belongsError(name)
			}
		}
	}
	return nil
}

func belongsError(name string) error {
	return fmt.Errorf("the change cannot land, because %s belongs to git or to Hocket: remove it from the change", Shown(name))
}

// CanLand returns an error if changes cannot land in a way now. The branch is "" if it is not known yet.
func (s *Store) CanLand(ctx context.Context, how How, branch string) error {
	if err := s.CheckHow(how); err != nil || how == AsPatch {
		return err
	}
	head, err := s.head(ctx)
	switch {
	case err != nil:
		return err
	case head.commit == "":
		return fmt.Errorf("%s has no commits yet: commit first, or use land: patch", s.root)
	case how == AsBranch && branch != "":
		return s.checkBranch(ctx, branch)
	case how == AsCommit:
		_, err = s.currentBranch(ctx)
	}
	return err
}

// CheckHow returns an error if changes of the project cannot land in a way.
func (s *Store) CheckHow(how How) error {
	switch how {
	case AsPatch:
		return nil
	case AsBranch, AsCommit:
		if s.user == nil {
			return fmt.Errorf("%s is not in a git repository, where only land: patch is possible", s.root)
		}
		return nil
	}
	return fmt.Errorf("unknown way to land %q: expected branch, commit or patch", how)
}

// planCommit plans a commit on the user's current one. The change is merged with what is committed:
// base → the user's commit on one side, base → the change on the other. So what was uncommitted in the base is
// in neither.
func (s *Store) planCommit(ctx context.Context, l Landing, p *plan, limit int) error {
	if p.head.commit == "" {
		return fmt.Errorf("%s has no commits yet: commit first, or use land: patch", s.root)
	}
	base, err := p.q.point(ctx, l.Base)
	if err != nil {
		return err
	}
	onto, err := p.q.commit(ctx, p.head.tree, "The user's commit "+p.head.commit, base)
	if err != nil {
		return err
	}
	merged, err := p.fit(ctx, l, onto)
	var conflict *LandConflictError
	if errors.As(err, &conflict) {
		if err := s.blame(ctx, l, p.q, conflict); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	p.Message = cmp.Or(cleanMessage(l.Message), "Land the work of "+l.Run)
	if merged == p.head.tree {
		p.commit = p.head.commit
	} else if p.commit, err = p.q.commitBy(ctx, p.who, merged, p.Message, p.head); err != nil {
		return err
	}
	if p.Diff, err = p.diff(ctx, [2]tree{p.head.commit, p.commit}, limit); err != nil {
		return err
	}
	p.Digest = digestOf(string(l.How), p.Ref, p.Diff.Digest, p.Message)
	if l.How == AsBranch {
		return nil
	}
	return s.planCheckout(ctx, p)
}

// cleanMessage removes from the message of a commit what would change how a terminal shows it. It may be the output of an agent.
func cleanMessage(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRightFunc(line, unicode.IsSpace))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// planCheckout plans how the files and the index receive a new commit.
func (s *Store) planCheckout(ctx context.Context, p *plan) error {
	users, _, err := s.scan(ctx, p.q, nil)
	if err != nil {
		return err
	}
	if p.files, err = p.overlay(ctx, users); err != nil {
		return err
	}
	if err := s.copyUserIndex(ctx, p.q.index); err != nil {
		return err
	}
	staged, err := p.q.out(ctx, "write-tree")
	if err != nil {
		return err
	}
	p.index, err = p.overlay(ctx, staged)
	return err
}

// overlay merges the new commit into a tree that the user has on the current one.
func (p *plan) overlay(ctx context.Context, users tree) ([2]tree, error) {
	if err := p.q.verifyMerge(ctx, p.head.commit, users, p.commit); err != nil {
		return [2]tree{}, err
	}
	mine, err := p.q.commit(ctx, users, "Uncommitted", p.head)
	if err != nil {
		return [2]tree{}, err
	}
	merged, conflicts, err := p.q.mergeTree(ctx, p.head.commit, Branch{"uncommitted", mine}, Branch{"change", p.commit})
	if err != nil {
		return [2]tree{}, err
	}
	if conflicts != nil {
		return [2]tree{}, &LandConflictError{Conflicts: conflicts, InTheWay: true}
	}
	return [2]tree{users, merged}, nil
}

// planPatch plans a change of the files only.
func (s *Store) planPatch(ctx context.Context, l Landing, p *plan, limit int) error {
	users, _, err := s.scan(ctx, p.q, l.scanned())
	if err != nil {
		return err
	}
	base, err := p.q.point(ctx, l.Base)
	if err != nil {
		return err
	}
	onto, err := p.q.commit(ctx, users, "The user's files", base)
	if err != nil {
		return err
	}
	merged, err := p.fit(ctx, l, onto)
	if err != nil {
		return err
	}
	p.files = [2]tree{users, merged}
	if p.Diff, err = p.diff(ctx, p.files, limit); err != nil {
		return err
	}
	p.Digest = digestOf(string(l.How), "", p.Diff.Digest)
	return nil
}

// fit merges the change into a commit on the base that has the user's files.
func (p *plan) fit(ctx context.Context, l Landing, onto string) (tree, error) {
	merged, conflicts, err := p.q.mergeTree(ctx, l.Base, Branch{"checkout", onto}, Branch{"change", l.Commit})
	if err == nil && conflicts != nil {
		err = &LandConflictError{Conflicts: conflicts}
	}
	return merged, err
}

// blame finds out whether a conflict is due to what was uncommitted when the base was captured.
func (s *Store) blame(ctx context.Context, l Landing, q *quarantine, conflict *LandConflictError) error {
	pinned, err := s.user.out(ctx, "rev-parse", "-q", "--verify", refsOf(l.Run)+"base")
	if exitCode(err) == 1 { // somebody has deleted it, or a version before has not kept it
		return nil
	}
	if err != nil {
		return err
	}
	parent, err := q.out(ctx, "rev-list", "-1", "--no-commit-header", "--format=%P", l.Base, "--")
	if err != nil || parent != pinned { // the base is that commit itself
		return err
	}
	uncommitted, err := q.moves(ctx, [2]string{pinned, l.Base})
	for _, m := range uncommitted {
		for _, c := range conflict.Conflicts {
			conflict.Uncommitted = conflict.Uncommitted || cmp.Or(c.Beside, c.Path) == m.Path
		}
	}
	if err != nil || !conflict.Uncommitted {
		return err
	}
	var ignored []Conflict
	for _, c := range conflict.Conflicts {
		switch err := s.user.in(s.root).do(ctx, "check-ignore", "-q", "--", cmp.Or(c.Beside, c.Path)); {
		case err == nil:
			ignored = append(ignored, c)
		case exitCode(err) != 1:
			return err
		}
	}
	if ignored != nil {
		conflict.Conflicts, conflict.Ignored, conflict.Uncommitted = ignored, true, false
	}
	return nil
}

// signature returns who signs a commit in the user's repository, and when.
func (s *Store) signature() string {
	name, email := "hocket", "hocket@localhost"
	if s.user != nil && s.user.name != "" && s.user.email != "" {
		name, email = s.user.name, s.user.email
	}
	clean := strings.NewReplacer("<", "", ">", "", "\n", " ", "\x00", "")
	now := time.Now()
	return fmt.Sprintf("%s <%s> %d %s", clean.Replace(name), clean.Replace(email), now.Unix(), now.Format("-0700"))
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
