// Package scripted answers tasks and people from a file, so that anyone can try
// or test a workflow without a model, a key or a network:
//
//	evaluate:                      # a node's id, or an address
//	  - '{"pass": false}'          # a list is used up one entry per attempt
//	  - {output: '{"pass": true}', delay: 50ms, cost_usd: 0.01, tokens_in: 10, tokens_out: 20}
//	flaky: [{error: boom}, fine]   # the last entry repeats
//	approve: yes                   # people answer from here too, but never from "*";
//	                               # an answer has text, and is one that is offered
//	good: no                       # the questions of choices likewise
//	"*": ok                        # every other task
//
// An entry is text, kept as written (yes stays "yes", 1.10 stays "1.10"), or a map:
//
//	output       text; a list or a map becomes JSON text
//	delay        duration before the reply comes
//	cost_usd     what the attempt cost
//	tokens_in    what the attempt read
//	tokens_out   what the attempt wrote
//	error        the attempt fails with this text
//	permanent    true: the failure is not retried
//	retry_after  duration: the failure is a quota that is reset then
//	files        map: what the attempt leaves in its directory, by path; null deletes a file
//
// # Which entry
//
// Of the keys that match an instance, the most specific one is used: its full address
// (review/score#2), then its address without iterations and items (review/score), then its
// node's id (score), then "*".
//
// A list belongs to its key. The entry for an attempt is the one after those that earlier
// attempts of the run took from the same key, in the order in which they were started, over
// all instances that share the key. So a list for a node in a loop continues from one
// iteration to the next, and a list for a node with for_each from item to item. For the key
// of a single instance this is the number of the attempt. With "*" all tasks that have no
// key of their own share one list.
//
// The count follows from the journal (see [agent.Script]), so a run that is resumed after a
// crash continues where it was, and an attempt that the crash interrupted gets the same
// reply again.
package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Replies are the lists of a replies file, by key. They are immutable, so they may be
// shared.
type Replies struct {
	lists  map[string][]Reply        // none is empty
	places map[string][]workflow.Pos // of the entries; empty if they were loaded from a run
	keys   map[string]workflow.Pos   // of the keys; empty likewise
}

// others is the key for every task that has none of its own.
const others = "*"

// Over returns these replies, and of the keys that they do not have, those of others.
func (r *Replies) Over(others *Replies) *Replies {
	if others == nil {
		return r
	}
	all := &Replies{lists: maps.Clone(others.lists), places: maps.Clone(others.places), keys: maps.Clone(others.keys)}
	maps.Copy(all.lists, r.lists)
	maps.Copy(all.places, r.places)
	maps.Copy(all.keys, r.keys)
	return all
}

// Encode returns the canonical form, in which a run stores its replies: JSON with sorted
// keys, and a list of entries for each.
func (r *Replies) Encode() []byte {
	data, err := json.Marshal(r.lists)
	if err != nil {
		panic(fmt.Sprintf("scripted: cannot encode replies: %v", err)) // plain data can always be encoded
	}
	return data
}

// Decode decodes the output of Encode.
func Decode(data []byte) (*Replies, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	r := &Replies{}
	if err := dec.Decode(&r.lists); err != nil {
		return nil, fmt.Errorf("scripted: stored replies: %w", err)
	}
	for _, key := range r.Keys() {
		if len(r.lists[key]) == 0 {
			return nil, fmt.Errorf("scripted: stored replies: no entry for %q", key)
		}
	}
	return r, nil
}

// Keys returns the node ids and addresses that have replies, and "*", sorted.
func (r *Replies) Keys() []string { return sorted.Keys(r.lists) }

// CoversTask reports whether a task has a reply in some instance, so that its agent need
// not exist. A key that is an address covers the node that it ends in.
func (r *Replies) CoversTask(node string) bool {
	_, all := r.lists[others]
	return all || r.CoversPerson(node)
}

// Covers reports whether no agent needs to exist for a node: it is a task or a question
// that has a reply in some instance.
func (r *Replies) Covers(n *workflow.Node) bool {
	if n.Kind() == "task" {
		return r.CoversTask(n.ID)
	}
	return r.CoversPerson(n.ID)
}

// ChangeFiles reports whether one of the replies changes files.
func (r *Replies) ChangeFiles() bool {
	for _, list := range r.lists {
		if slices.ContainsFunc(list, func(reply Reply) bool { return len(reply.Files) > 0 }) {
			return true
		}
	}
	return false
}

// CoversPerson reports whether a question has an answer in some instance.
func (r *Replies) CoversPerson(node string) bool {
	return slices.ContainsFunc(r.Keys(), func(key string) bool { return key != others && nodeOf(key) == node })
}

// Strangers returns the keys that match no task, question or person of a workflow or of
// those it calls: most likely a typo.
func (r *Replies) Strangers(b *workflow.Bundle) []string {
	known, handsOff := map[string]bool{others: true}, false
	for _, body := range bodies(b) {
		body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			if n.Kind() == "human" {
				known[n.ID] = true
			}
		})
		body.WalkTasks(func(n *workflow.Node, t *workflow.Task) {
			known[n.ID] = true
			handsOff = handsOff || t.Handoffs != nil
		})
	}
	return slices.DeleteFunc(r.Keys(), func(key string) bool {
		node := nodeOf(key)
		return known[node] || handsOff && strings.HasPrefix(node, handoffPrefix)
	})
}

// handoffPrefix is how the engine names tasks that were handed off, with a number.
const handoffPrefix = "handoff-"

// CoversAll reports whether every task and every question of a workflow, and of those it
// calls, has a reply in every instance. Only then may a required question take its answer
// from the replies. What a task may hand off is covered only by "*": no one knows before how often
// it hands work off.
func (r *Replies) CoversAll(b *workflow.Bundle) bool {
	_, all := r.lists[others]
	covered := true
	for _, body := range bodies(b) {
		body.WalkTasks(func(n *workflow.Node, t *workflow.Task) {
			covered = covered && r.CoversEvery(n) && (t.Handoffs == nil || all)
		})
	}
	return covered
}

// Answers reports whether a task at an address has a reply.
func (r *Replies) Answers(address string) bool {
	_, ok := r.taskKey(address, nodeOf(address), false)
	return ok
}

// CoversEvery reports whether a task or a question has a reply in every instance.
func (r *Replies) CoversEvery(n *workflow.Node) bool {
	_, own := r.lists[n.ID]
	_, all := r.lists[others]
	return own || all && n.Kind() == "task"
}

// Bound returns what one attempt of a task may use, where the agent may use the given
// budget. Without replies, that is what the agent may use.
func (r *Replies) Bound(n *workflow.Node, agent workflow.Budget) workflow.Budget {
	if r == nil || !r.Covers(n) {
		return agent
	}
	most := r.most(n.ID)
	if !r.CoversEvery(n) { // the agent does it in other instances
		most.CostUSD, most.Tokens = most.CostUSD.Higher(agent.CostUSD), most.Tokens.Higher(agent.Tokens)
	}
	return most
}

// most returns the most that one attempt of a task can use, over all entries that it may
// get.
func (r *Replies) most(node string) workflow.Budget {
	most := workflow.Free
	_, own := r.lists[node]
	for key, list := range r.lists {
		if key == others && own || key != others && nodeOf(key) != node {
			continue
		}
		for _, reply := range list {
			most.CostUSD = most.CostUSD.Higher(workflow.AtMost(reply.CostUSD))
			most.Tokens = most.Tokens.Higher(workflow.AtMost(reply.TokensIn + reply.TokensOut))
		}
	}
	return most
}

// taskKey returns the key whose list answers a task; a question is answered by name only.
func (r *Replies) taskKey(address, node string, question bool) (string, bool) {
	if key, ok := r.key(address, node); ok || question {
		return key, ok
	}
	_, ok := r.lists[others]
	return others, ok
}

// key returns the most specific key that names an instance.
func (r *Replies) key(address, node string) (string, bool) {
	for _, key := range [...]string{address, plain(address), node} {
		if _, ok := r.lists[key]; ok && key != others {
			return key, true
		}
	}
	return "", false
}

// plain returns an address without its iterations and items: a/b#2[3] is a/b.
func plain(address string) string {
	if !strings.ContainsAny(address, "#[") {
		return address
	}
	steps := strings.Split(address, "/")
	for i, step := range steps {
		if cut := strings.IndexAny(step, "#["); cut >= 0 {
			steps[i] = step[:cut]
		}
	}
	return strings.Join(steps, "/")
}

// nodeOf returns the node that an address ends in.
func nodeOf(address string) string {
	path := plain(address)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// bodies are the graphs of a workflow and of those it calls.
func bodies(b *workflow.Bundle) []*workflow.Graph {
	all := []*workflow.Graph{&b.Root.Body}
	for _, name := range sorted.Keys(b.Called) {
		all = append(all, &b.Called[name].Body)
	}
	return all
}
