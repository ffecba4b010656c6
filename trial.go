package hocket

import (
	"math"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Trial makes the runs of an open project tests of its workflows: everything happens as in other runs, except for
// what the fields replace. Such a project needs an [Options.State] of its own.
type Trial struct {
	// Clock is the time of the runs.
	Clock Clock
	// Dir is where tasks work, instead of in the project. It has no definitions.
	Dir string
	// Stand returns what makes attempts in place of an executor, which does nothing that the user has not
	// approved. It has the traits of that executor, and sees tasks as that would see them.
	Stand func(exec agent.Executor) agent.Executor
	// Known reports whether it is known how an attempt ended that people take part in: at a landing, or at a merge or pick of
	// workspaces. Then Stand makes it: it asks nobody, and nothing lands.
	Known func(address string, attempt int) bool
	// Joined is told what not every merge or pick of workspaces does: the step whose workspace was picked of those that lead to
	// it, or "" when somebody is to resolve a conflict. nil: nobody wants to know.
	Joined func(task *engine.StartTask, picked string)
	// Works means that Stand lets executors work. Otherwise no server is started and nobody has to trust the
	// project.
	Works bool
	// Absent means that agents need not be installed, because Stand does their work.
	Absent bool
}

// Clock is the time of a run, see [Trial].
type Clock interface {
	local.Waiter
	scripted.Clock
}

// replays reports whether nothing that a project's files name is used.
func (t *Trial) replays() bool { return t != nil && !t.Works }

// stand returns what makes attempts in place of an executor.
func (t *Trial) stand(exec agent.Executor) agent.Executor {
	if t == nil {
		return exec
	}
	return t.Stand(exec)
}

// plays reports whether an attempt is played that people take part in.
func (t *Trial) plays(task *engine.StartTask) bool {
	return t != nil && t.Known != nil && (task.Agent == workflow.LandAgent || task.Agent == workflow.MergeAgent) && t.Known(task.Address, task.Attempt)
}

// joined reports what a merge or pick of workspaces does.
func (t *Trial) joined(task *engine.StartTask, picked string) {
	if t != nil && t.Joined != nil {
		t.Joined(task, picked)
	}
}

// workDir returns the directory in which tasks of the project work.
func (p *Project) workDir() string {
	if t := p.o.Trial; t != nil {
		return t.Dir
	}
	return p.Root()
}

// ResolvedIn returns the directory in which a person is to resolve the conflicts of a merge before an answer to a question; "" if
// the question does not look like that.
func ResolvedIn(q *engine.Question) string {
	if len(q.Options) != 2 || q.Options[0].Value != resolved || q.Options[1].Value != GiveUp {
		return ""
	}
	dir, _, _ := strings.Cut(q.Detail, "\n")
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// localOptions configure the driver of this process.
func (p *Project) localOptions() local.Options {
	if t := p.o.Trial; t != nil {
		return local.Options{Clock: t.Clock}
	}
	return local.Options{}
}

// answerFrom makes replies answer the tasks and people of a run.
func (p *Project) answerFrom(w *driver.Work, replies *Replies, all bool) {
	t := p.o.Trial
	if t != nil {
		w.Patience = math.MaxInt64 // time passes when nothing else happens
	}
	switch {
	case replies == nil:
	case t == nil:
		w.Script, w.ScriptAll = replies.Script(), all
	default:
		w.Script, w.ScriptAll = replies.ScriptOn(t.Clock), all || !t.Works
	}
}
