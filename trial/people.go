package trial

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/trial/cassette"
)

// Ask answers a question of a step: from the recordings, or through the people who are here.
func (p *player) Ask(q *engine.Question, answer func(engine.Answered) error, leave func()) bool {
	p.mu.Lock()
	p.asked[q.Address]++
	attempt := p.asked[q.Address]
	p.mu.Unlock()
	request := cassette.Asked(q, p.places)
	here := false
	switch {
	case q.Kind != engine.GateQuestion || p.mode == Record:
		here = p.people != nil && p.askPeople(q, attempt, request, nil, answer, leave)
	case p.mode == Live:
		here = p.askLive(q, attempt, request, answer, leave)
	default:
		here = p.askRecorded(q, attempt, request, answer)
	}
	if !here {
		p.mu.Lock()
		p.silent = append(p.silent, q)
		p.mu.Unlock()
	}
	return here
}

// askRecorded gives the recorded answer.
func (p *player) askRecorded(q *engine.Question, attempt int, request cassette.Request, answer func(engine.Answered) error) bool {
	found := p.take(q.Address, attempt, true)
	if found == nil {
		return false
	}
	if p.mode == copying {
		found.Request = request
		p.keep(*found)
	}
	if differences := found.Request.Differences(request); differences != nil {
		for _, d := range differences {
			p.report(&p.problems, p.driftOf(*found, d))
		}
		return false
	}
	if err := p.resolve(q, found); err != nil {
		p.report(&p.problems, Problem{Summary: fmt.Sprintf("%s: %v", found, err), Detail: "record it again with `" + p.remake + "`", Pos: found.Pos})
		return false
	}
	p.answerLater(q.ID, found, answer)
	return true
}

// askLive gives the recorded answer if the question is the recorded one. Otherwise people are asked.
func (p *player) askLive(q *engine.Question, attempt int, request cassette.Request, answer func(engine.Answered) error, leave func()) bool {
	found := p.take(q.Address, attempt, true)
	if found == nil {
		found = p.decided(q, request)
	}
	if found == nil {
		p.report(&p.drift, Problem{Summary: fmt.Sprintf("the question of %s is new: %s", q.Address, q.Text)})
		return p.people != nil && p.askPeople(q, attempt, request, nil, answer, leave)
	}
	differences := found.Request.Differences(request)
	for _, d := range differences {
		p.report(&p.drift, p.driftOf(*found, d))
	}
	if differences == nil && !needsPerson(q) {
		err := p.resolve(q, found)
		if err == nil {
			p.answerLater(q.ID, found, answer)
			return true
		}
		p.report(&p.drift, Problem{Summary: fmt.Sprintf("%s: %v", found, err), Pos: found.Pos})
	}
	return p.people != nil && p.askPeople(q, attempt, request, found, answer, leave)
}

// needsPerson reports whether only a person may let the steps after a gate really work. What a person decides about workspaces is about
// files in the directory of the test.
func needsPerson(q *engine.Question) bool { return q.Required && q.Attempt == 0 }

// decided removes the recording of a merge or pick in a run that was copied, and returns it as the answer to its question; nil: there is
// none. The recorded request is that of an agent, so it is compared here.
func (p *player) decided(q *engine.Question, request cassette.Request) *cassette.Interaction {
	found := p.take(q.Address, q.Attempt, false)
	if found == nil {
		return nil
	}
	made := found.Request
	found.Request = request // the same
	if dir := p.resolvedIn(q); dir != "" {
		files, err := cassette.ReadFiles(dir)
		if err != nil || files.Hide(p.places).Digest() != made.Base {
			found.Request = cassette.Request{Prompt: made.Prompt, Labels: request.Labels}
		}
		if found.Reply.Output != hocket.GiveUp {
			found.Reply.Output = request.Labels[0]
		}
	} else if !slices.Equal(made.Labels, request.Labels) || !strings.Contains(made.Prompt, p.places.Hide(q.Detail)) {
		found.Request = cassette.Request{Prompt: made.Prompt, Labels: made.Labels}
	}
	return found
}

// resolve makes the changes of files that a person made before the recorded answer, in the directory of a question about conflicts.
func (p *player) resolve(q *engine.Question, found *cassette.Interaction) error {
	if len(found.Reply.Files) == 0 {
		return nil
	}
	dir := p.resolvedIn(q)
	if dir == "" {
		return errors.New("the recorded answer changes files, and the question is not about conflicts")
	}
	return cassette.Apply(dir, found.Reply.Files, p.places)
}

// resolvedIn returns the directory in which a person resolves conflicts before an answer; "": the question is about something else.
func (p *player) resolvedIn(q *engine.Question) string {
	dir := hocket.ResolvedIn(q)
	if in, err := filepath.Rel(p.places.State, dir); err != nil || !filepath.IsLocal(in) { // what a workflow asks may look the same
		return ""
	}
	return dir
}

// answerLater gives a recorded answer at its time.
func (p *player) answerLater(id string, found *cassette.Interaction, answer func(engine.Answered) error) {
	fires, stop := p.clock.Timer(found.Reply.Took)
	gone := make(chan struct{})
	p.mu.Lock()
	p.pending[id] = sync.OnceFunc(func() {
		close(gone)
		stop()
	})
	p.mu.Unlock()
	go func() {
		select {
		case <-fires:
		case <-gone:
			return
		}
		value, comment, _ := strings.Cut(found.Reply.Output, "\n\n")
		if err := answer(engine.Answered{Value: p.places.Show(value), Comment: p.places.Show(comment), By: "cassette", Via: "cassette"}); err != nil {
			p.report(&p.problems, Problem{Summary: fmt.Sprintf("%s: the recorded answer is not accepted: %v", found, err), Pos: found.Pos})
		}
		stop()
	}()
}

// askPeople asks the people who are here. Their answer is recorded, or compared with the recorded one if there is one.
func (p *player) askPeople(q *engine.Question, attempt int, request cassette.Request, was *cassette.Interaction, answer func(engine.Answered) error, leave func()) bool {
	done := sync.OnceFunc(p.clock.Work())
	began := p.clock.Now()
	changes := p.watch(q)
	here := p.people.Ask(q, func(said engine.Answered) error {
		files := changes() // before the run goes on with them
		err := answer(said)
		if err != nil {
			return err
		}
		text := said.Value
		if said.Comment != "" {
			text += "\n\n" + said.Comment
		}
		reply := cassette.Reply{Output: p.places.Hide(text), Took: cassette.Rounded(p.clock.Now().Sub(began)), Files: files}
		switch {
		case p.mode == Record && q.Kind == engine.GateQuestion:
			p.keep(cassette.Interaction{Address: q.Address, Attempt: attempt, Request: request, Reply: reply})
		case was != nil && was.Reply.Output != reply.Output:
			p.report(&p.drift, Problem{Summary: fmt.Sprintf("%s: the answer is not the recorded one", was), Diff: Diff(was.Reply.Output, reply.Output), Pos: was.Pos})
		}
		done()
		return nil
	}, func() {
		done()
		leave()
	})
	if !here {
		done()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[q.ID] = done
	return here
}

// watch returns a function that returns what a person has changed since, to resolve the conflicts that a question is about.
func (p *player) watch(q *engine.Question) func() []cassette.Change {
	dir := p.resolvedIn(q)
	if p.mode != Record || dir == "" {
		return func() []cassette.Change { return nil }
	}
	before, err := cassette.ReadFiles(dir)
	return func() []cassette.Change {
		after, wrong := cassette.ReadFiles(dir)
		changes := before.Hide(p.places).Changes(after.Hide(p.places))
		if wrong = cmp.Or(err, wrong, cassette.CheckRecorded(changes)); wrong != nil {
			p.report(&p.problems, Problem{Summary: fmt.Sprintf("how the conflicts of %s were resolved cannot be recorded: %v", q.Address, wrong), Detail: "add " + q.Node + " to `replies`, with the `files` that it leaves"})
			return nil
		}
		return changes
	}
}

// Withdraw withdraws a question.
func (p *player) Withdraw(id string) {
	p.mu.Lock()
	withdraw := p.pending[id]
	delete(p.pending, id)
	p.mu.Unlock()
	if withdraw != nil {
		withdraw()
	}
	if p.people != nil {
		p.people.Withdraw(id)
	}
}
