package trust

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Definitions are what a store knows about the definitions of one project that need an approval
// of their own, because a model wrote them: what people decided.
type Definitions struct {
	Root     string    `json:"root"` // absolute; a project that is moved has to be approved again
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// Verdict is what a person decided about a definition.
type Verdict struct {
	ID       string    `json:"id"`
	Digest   string    `json:"digest"` // of Parts
	Parts    Parts     `json:"parts,omitempty"`
	Rejected bool      `json:"rejected,omitempty"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"`
}

// Approved returns the verdict that approves a digest, if the last one about it does.
func (d *Definitions) Approved(digest string) (Verdict, bool) {
	for _, v := range slices.Backward(d.Verdicts) {
		if v.Digest == digest {
			return v, !v.Rejected
		}
	}
	return Verdict{}, false
}

// Last returns the last verdict about a definition.
func (d *Definitions) Last(id string) (Verdict, bool) {
	for _, v := range slices.Backward(d.Verdicts) {
		if v.ID == id {
			return v, true
		}
	}
	return Verdict{}, false
}

// Definitions returns what is stored about the definitions of a project.
func (s *Store) Definitions(root string) (*Definitions, error) {
	if err := s.outside(root); err != nil {
		return nil, err
	}
	file := s.definitions(root)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Definitions{Root: root}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	d := &Definitions{}
	err = json.Unmarshal(data, d)
	d.Verdicts = slices.DeleteFunc(d.Verdicts, func(v Verdict) bool { return isOld(v.Digest) && !v.Rejected })
	if err != nil || d.Root != root || slices.ContainsFunc(d.Verdicts, Verdict.damaged) {
		return nil, fmt.Errorf("trust: %s is damaged; remove it and run `hocket approve` again", file)
	}
	return d, nil
}

// damaged reports whether an approval is not of what it contains: the file was tampered with.
func (v Verdict) damaged() bool { return !v.Rejected && v.Digest != v.Parts.Digest() }

// ChangeDefinitions changes what is stored about the definitions of a project, while no other
// process does. If change returns an error, nothing is stored.
func (s *Store) ChangeDefinitions(root string, change func(*Definitions) error) (err error) {
	if err := s.outside(root); err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	d, err := s.Definitions(root)
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		return err
	}
	d.prune()
	data, err := json.MarshalIndent(d, "", " ")
	if err == nil {
		err = wholefile.Write(s.definitions(root), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

const (
	mostVerdicts = 1000 // of a project
	mostOfOne    = 20   // of these, about one definition
)

// prune forgets the oldest verdicts if there are too many. Only the last one about a definition keeps
// its texts, for a later review.
func (d *Definitions) prune() {
	count := map[string]int{}
	var kept []Verdict
	for _, v := range slices.Backward(d.Verdicts) {
		longest := longText
		if count[v.ID]++; count[v.ID] > 1 {
			longest = 0
		}
		if v.Parts = v.Parts.stored(longest); count[v.ID] <= mostOfOne && len(kept) < mostVerdicts {
			kept = append(kept, v)
		}
	}
	slices.Reverse(kept)
	d.Verdicts = kept
}

// Propose remembers that a model proposed the workflow with a digest, in any project: a copy of its file
// elsewhere is not a file of a person. origin says which model, when and what for, as JSON.
func (s *Store) Propose(digest string, origin []byte) error {
	return s.changeProposals(func(all []proposal) ([]proposal, error) {
		switch i := slices.IndexFunc(all, proposal{digest: digest}.same); {
		case i >= 0 && len(all[i].origin) == 0:
			all[i].origin = origin // what is known by now
			return all, nil
		case i >= 0:
			return all, nil
		case len(all) >= mostProposals: // forgetting one would let it run without approval
			return nil, &FullError{s.proposed()}
		}
		return append(all, proposal{digest, origin}), nil
	})
}

// Adopt forgets that a model proposed the workflow with a digest: it is a person's now.
func (s *Store) Adopt(digest string) error {
	return s.changeProposals(func(all []proposal) ([]proposal, error) {
		return slices.DeleteFunc(all, proposal{digest: digest}.same), nil
	})
}

func (s *Store) changeProposals(change func([]proposal) ([]proposal, error)) (err error) {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	all, err := s.proposals()
	if err != nil {
		return err
	}
	before := proposalText(all)
	if all, err = change(all); err != nil {
		return err
	}
	text := proposalText(all)
	if text == before {
		return nil
	}
	if err := wholefile.Write(s.proposed(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

// proposal is a line of the file of proposals. Older ones have no origin.
type proposal struct {
	digest string
	origin []byte
}

func proposalText(all []proposal) string {
	var text strings.Builder
	for _, one := range all {
		text.WriteString(strings.TrimSpace(one.digest+" "+string(one.origin)) + "\n")
	}
	return text.String()
}

func (p proposal) same(other proposal) bool { return p.digest == other.digest }

// mostProposals is how many proposals are remembered.
const mostProposals = 10000

// FullError reports that no more proposals of models can be remembered, and so none are accepted.
type FullError struct{ File string }

func (e *FullError) Error() string {
	return fmt.Sprintf("models have written more than %d workflows, and no more can be recorded in %s", mostProposals, e.File)
}

// Hint returns what to do about it.
func (e *FullError) Hint() string {
	return "delete that file if no copies of them are left outside of .hocket/generated: such copies would no longer need approval"
}

// Proposed reports whether a model proposed the workflow with a digest, and returns its origin.
func (s *Store) Proposed(digest string) (origin []byte, proposed bool, err error) {
	all, err := s.proposals()
	if i := slices.IndexFunc(all, proposal{digest: digest}.same); i >= 0 {
		return all[i].origin, true, err
	}
	return nil, false, err
}

func (s *Store) proposals() ([]proposal, error) {
	text, err := os.ReadFile(s.proposed())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // otherwise a model's workflow would count as a person's
		return nil, fmt.Errorf("trust: %w", err)
	}
	var all []proposal
	for line := range strings.Lines(string(text)) {
		if digest, origin, _ := strings.Cut(strings.TrimSpace(line), " "); digest != "" {
			all = append(all, proposal{digest, []byte(origin)})
		}
	}
	return all, nil
}

func (s *Store) proposed() string { return filepath.Join(s.dir, "proposed") }

func (s *Store) definitions(root string) string {
	return strings.TrimSuffix(s.file(root), ".json") + ".definitions"
}

// outside refuses a store inside of the project: its files are not evidence of what a person
// decided. A link in the project can lead to such a directory, and so can XDG_STATE_HOME.
func (s *Store) outside(root string) error {
	dir := s.dir
	real, err := filepath.EvalSymlinks(dir)
	for err != nil && dir != filepath.Dir(dir) { // it does not exist yet
		dir = filepath.Dir(dir)
		real, err = filepath.EvalSymlinks(dir)
	}
	if rel, err := filepath.Rel(root, cmp.Or(real, dir)); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("trust: the directory of your approvals, %s, is inside of the project %s; set XDG_STATE_HOME to a directory outside", s.dir, root)
	}
	return nil
}
