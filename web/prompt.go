package web

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// section is a part of a prompt, which opens.
type section struct {
	Title   string
	Trusted bool // false: it is material, in which the agent follows no instructions
	Open    bool
	Text    string
	All     string // where the whole prompt is, if the text was cut
	Size    int
}

const (
	readPrompt   = 4 << 20
	shownSection = 32 << 10
)

// sectionsOf returns the parts of a prompt. The last thing that an agent reads is its task, so the long texts before it
// are cut one by one.
func sectionsOf(prompt []byte, api string) []section {
	var all []section
	for _, p := range agent.Parts(strings.ToValidUTF8(string(prompt), "\uFFFD")) {
		s := section{Title: titleOf(&p), Trusted: p.Trusted || p.Tag == "", Open: p.Tag == "task" || p.Tag == "feedback" || p.Tag == "comment" || p.Tag == "", Text: p.Text, Size: len(p.Text)}
		if len(s.Text) > shownSection {
			s.Text, s.All = strings.ToValidUTF8(s.Text[:shownSection], ""), api
		}
		all = append(all, s)
	}
	return all
}

const taskTitle = "Task"

func titleOf(p *agent.Part) string {
	switch p.Tag {
	case "":
		return "Text"
	case agent.SystemPart:
		return "System prompt of " + p.Name
	case "input":
		return "Input " + p.Name
	case "task":
		return taskTitle
	case "comment":
		return "Comment"
	case "feedback":
		return "Feedback"
	case "answer":
		return "How to answer"
	}
	for prefix, words := range map[string]string{"step:": "Output of ", "decision:": "Decision of ", "memory:": "Memory ", "session:": "Conversation "} {
		if name, ok := strings.CutPrefix(p.Name, prefix); ok {
			return words + name
		}
	}
	return p.Name
}

// withPrompts returns the state of a run whose definition has the prompts that people gave to its steps when they forked it.
func withPrompts(s *hocket.State) *hocket.State {
	nodes := slices.Clone(s.Bundle.Root.Body.Nodes)
	changed := false
	for _, step := range s.Result.Steps {
		if step.Prompt == "" {
			continue
		}
		i := slices.IndexFunc(nodes, func(n workflow.Node) bool { return n.ID == step.Address })
		if i < 0 {
			continue // in a loop, a for_each or a call: the others have the prompt of the workflow
		}
		if t, ok := nodes[i].Step.(*workflow.Task); ok {
			task := *t
			task.Prompt = workflow.Template{Text: step.Prompt}
			nodes[i].Step, changed = &task, true
		}
	}
	if !changed {
		return s
	}
	other, bundle, root := *s, *s.Bundle, *s.Bundle.Root
	root.Body.Nodes, bundle.Root, other.Bundle = nodes, &root, &bundle
	return &other
}
