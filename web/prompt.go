package web

import (
	"cmp"
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

// newTitles returns the titles, by place, of steps whose title is their prompt, if all their instances have one that people gave them
// when they forked the run.
func newTitles(s *hocket.State) map[string]string {
	titles := map[string]string{}
	for _, step := range s.Result.Steps {
		if step.Prompt == "" {
			continue
		}
		place := hocket.PlaceOf(step.Address)
		if n := s.Bundle.At(place); n != nil {
			titles[place] = headingWith(n.Repeats(), step.Prompt)
		}
	}
	if len(titles) == 0 {
		return nil
	}
	for _, step := range s.Result.Steps {
		if step.Prompt == "" {
			delete(titles, hocket.PlaceOf(step.Address))
		}
	}
	return titles
}

// headingWith returns the title of a task that has another prompt.
func headingWith(n *workflow.Node, prompt string) string {
	task := workflow.Node{ID: n.ID, Title: n.Title, Step: &workflow.Task{Prompt: workflow.Template{Text: prompt}}}
	return cmp.Or(task.Heading(), n.ID)
}
