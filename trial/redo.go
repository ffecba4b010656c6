package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// copy returns the outcome of an attempt of the other run, and records it.
func (u *understudy) copy(ctx context.Context, task *agent.Task, request cassette.Request, files cassette.Files) (agent.Result, error) {
	found := u.take(task.Address, task.Attempt, false)
	if found == nil {
		summary := fmt.Sprintf("%s, attempt %d, was not made", task.Address, task.Attempt)
		if u.hasMade(task) {
			u.copies.unable = fmt.Sprintf("%s, attempt %d, resolved more conflicts than what is left of the run says", task.Address, task.Attempt)
		}
		u.report(&u.problems, Problem{Summary: summary})
		return agent.Result{}, agent.Permanentf("no such attempt")
	}
	found, err := u.redo(ctx, task, found, files)
	found.Request = request
	if err != nil && ctx.Err() == nil {
		u.report(&u.problems, Problem{Summary: fmt.Sprintf("%s: %v", task.Address, err)})
		return agent.Result{}, agent.Permanentf("%v", err)
	}
	u.keep(*found)
	if found.Cancelled() {
		return u.hang(ctx, found)
	}
	return found.Reply.Result(u.clock.Now(), u.places)
}

// redo makes the changes of files of an attempt of the other run, and notes them unless it was cancelled. Attempts take turns,
// as in a recording. files are what its own workspace began with; nil: it has none. If the attempt had to resolve another conflict
// afterwards, what is returned is only a part of it.
func (u *understudy) redo(ctx context.Context, task *agent.Task, found *cassette.Interaction, files cassette.Files) (*cassette.Interaction, error) {
	done, err := u.turn(ctx)
	if err != nil {
		return found, err
	}
	defer done()
	if u.copies.goesOn(ctx, found) {
		u.giveBack(*found)
		found = &cassette.Interaction{Address: task.Address, Attempt: task.Attempt} // what it said and used is known when it ends
	}
	if files, err = filesOf(task, files); err != nil {
		return found, err
	}
	changes, err := u.change(ctx, task, found, files)
	if err == nil && !found.Cancelled() {
		found.Reply.Files = changes
	}
	return found, err
}

// giveBack undoes take.
func (p *player) giveBack(i cassette.Interaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append([]cassette.Interaction{i}, p.left...)
}

// hasMade reports whether an attempt was made before.
func (p *player) hasMade(task *agent.Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.made, func(i cassette.Interaction) bool {
		return i.Address == task.Address && i.Attempt == task.Attempt && !i.IsAnswer()
	})
}

// change makes the changes of files of an attempt of the other run, and returns them. What a file step does is known from its
// settings.
func (u *understudy) change(ctx context.Context, task *agent.Task, found *cassette.Interaction, files cassette.Files) ([]cassette.Change, error) {
	if task.Dir != u.dir {
		return u.repeat(ctx, task, found, files.Hide(u.places))
	}
	after := maps.Clone(files)
	switch local := isLocal(task, u.traits.FromPrompt(task)); {
	case local && task.Agent.Agent == "file" && found.Reply.Error != nil:
		return nil, nil
	case local && task.Agent.Agent == "file":
		if _, err := u.Executor.Run(ctx, task, func([]byte) {}); err != nil {
			u.copies.note("%s: its change is not in the cassette: %v", task.Address, err)
		}
		var err error
		if after, err = cassette.ReadFiles(task.Dir); err != nil {
			return nil, err
		}
	default:
		if local {
			u.copies.commands = append(u.copies.commands, task.Address)
		}
		u.copies.edit(ctx, task, after)
	}
	return files.Hide(u.places).Changes(after.Hide(u.places)), nil
}

// repeat makes the changes that an attempt made in its workspace, and returns them.
func (u *understudy) repeat(ctx context.Context, task *agent.Task, found *cassette.Interaction, before cassette.Files) ([]cassette.Change, error) {
	picked := task.Agent.Name == workflow.MergeAgent && len(task.Decide) > 0
	if task.Agent.Name == workflow.LandAgent || picked || found.Waited() || found.Cancelled() {
		return nil, nil
	}
	own, err := u.copies.changes(ctx, found)
	if err != nil {
		u.copies.note("%s: its changes of files are not in the cassette: %v", found, err)
		return nil, nil
	}
	after, made := maps.Clone(before), cassette.Files{}
	for _, c := range own {
		switch why := unfit(c.Path, c.Is); {
		case why != "":
			u.copies.note("%s: the change of %s is not in the cassette: %s", found, c.Path, why)
		case c.Is == nil:
			delete(after, c.Path)
		default:
			made[c.Path] = cassette.File{Content: c.Is.Content, Executable: c.Is.Executable}
		}
	}
	maps.Copy(after, made.Hide(u.copies.places))
	changes := before.Changes(after)
	return changes, cassette.Apply(task.Dir, changes, u.places)
}

// unfit says why a file of a workspace cannot be in a cassette; nil is none.
func unfit(path string, f *hocket.FileVersion) string {
	switch {
	case projectfile.CheckPath(path) != nil:
		return unfitPath(projectfile.CheckPath(path))
	case !utf8.ValidString(path):
		return "its name is not UTF-8"
	case f == nil:
	case f.Special:
		return "it is a link or another special file"
	case f.Large:
		return "it is too large"
	}
	return ""
}

// unfitPath says why a path that [projectfile.CheckPath] refuses cannot be in a cassette.
func unfitPath(refused error) string {
	var character *projectfile.CharacterError
	if errors.As(refused, &character) {
		return "its name " + character.Why()
	}
	return "it is outside of the project"
}
