package check

import (
	"slices"
	"sort"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// A single pass over all texts finds every problem with references, so the first of these rules
// reports for all of them, each problem under its own code.
var (
	conditionSyntax   = rule{code: "condition-syntax", severity: workflow.Error, summary: "a condition does not parse", workflow: reportTexts}
	refSyntax         = rule{code: "ref-syntax", severity: workflow.Error, summary: "a reference in a text does not parse"}
	refUnknown        = rule{code: "ref-unknown", severity: workflow.Error, summary: "a reference names something that does not exist"}
	refField          = rule{code: "ref-field", severity: workflow.Error, summary: "a reference uses a field that does not exist"}
	refForward        = rule{code: "ref-forward", severity: workflow.Error, summary: "a reference names something that runs later"}
	refSelf           = rule{code: "ref-self", severity: workflow.Error, summary: "a node refers to its own result"}
	refNotUpstream    = rule{code: "ref-not-upstream", severity: workflow.Error, summary: "a reference names something that runs in parallel, not before"}
	refItem           = rule{code: "ref-item", severity: workflow.Error, summary: "a reference has no meaning here"}
	refFailure        = rule{code: "ref-failure", severity: workflow.Error, summary: "failure is used in a step that no error edge leads to"}
	refMaybeUndefined = rule{code: "ref-maybe-undefined", severity: workflow.Warning, summary: "a reference is defined only on some paths"}
	conditionWord     = rule{code: "condition-word", severity: workflow.Note, summary: "a name that nothing defines is compared as text"}
	statusUnknown     = rule{code: "status-unknown", severity: workflow.Warning, summary: "a status is compared with a word that is not a status"}
	refQuoted         = rule{code: "ref-quoted", severity: workflow.Warning, summary: "a reference inside quotes is plain text"}
)

// codeOf returns the code for a problem in a text of the given kind.
func codeOf(kind expr.ProblemKind, text textKind) string {
	switch kind {
	case expr.Syntax:
		if text == inTemplate {
			return "ref-syntax"
		}
		return "condition-syntax"
	case expr.UnknownName, expr.UnknownNode, expr.UnknownGroup:
		return inAggregate(text, "ref-unknown")
	case expr.UnknownField:
		return "ref-field"
	case expr.Forward:
		return inAggregate(text, "ref-forward")
	case expr.Self:
		return inAggregate(text, "ref-self")
	case expr.NotUpstream:
		return inAggregate(text, "ref-not-upstream")
	case expr.BadItem:
		return "ref-item"
	case expr.BadFailure:
		return "ref-failure"
	case expr.MaybeUndefined:
		return "ref-maybe-undefined"
	case expr.QuotedRef:
		return "ref-quoted"
	case expr.BareWord:
		return "condition-word"
	case expr.UnknownStatus:
		return "status-unknown"
	}
	return "ref-unknown"
}

// inAggregate returns the code for an unknown name in a text. Combines have their own code.
func inAggregate(text textKind, other string) string {
	if text == inCombine {
		return "combine-input-undefined"
	}
	return other
}

// reportTexts checks all texts of a workflow. It reports nothing if a node has no kind or two
// nodes have the same id, because then the meaning of a reference is not clear.
func reportTexts(p *pass) {
	twice := func(d workflow.Diagnostic) bool { return d.Code == "duplicate-id" }
	nothing := func(n *node) bool { return n.Step == nil }
	if slices.ContainsFunc(p.found, twice) || slices.ContainsFunc(p.index.nodes, nothing) {
		return
	}
	problems := expr.Problems(p.w)
	if len(problems) == 0 {
		return
	}
	texts := p.expressions()
	for _, problem := range problems {
		p.code = codeOf(problem.Kind, texts.at(problem.Pos))
		report, detail, pos := p.errorf, problem.Detail, problem.Pos
		switch problem.Severity() {
		case workflow.Warning:
			report = p.warnf
		case workflow.Note:
			report = p.notef
		case workflow.Error:
		}
		switch {
		case detail != "":
		case problem.Kind == expr.UnknownName && pos.Part != "":
			detail = "write inputs.NAME for an input, vars.NAME for a variable, nodes.ID.output for a result"
		default:
			detail = remedy(problem.Kind)
		}
		if pos.EndLine == pos.Line && pos.EndColumn <= pos.Column {
			pos.EndColumn = pos.Column + 1 // something is missing at the end of a text
		}
		report(pos, detail, "%s", problem.Summary)
		p.found[len(p.found)-1].Change = problem.Change
	}
}

// remedy returns the hint for a problem that has no more specific one.
func remedy(kind expr.ProblemKind) string {
	switch kind {
	case expr.UnknownNode:
		return "name a step of this workflow"
	case expr.UnknownGroup:
		return "name a parallel_group of this workflow"
	case expr.Syntax, expr.UnknownName, expr.UnknownField, expr.Forward, expr.Self, expr.NotUpstream, expr.BadItem, expr.BadFailure, expr.MaybeUndefined, expr.QuotedRef, expr.BareWord, expr.UnknownStatus:
	}
	return "declare it as an input, or have an earlier step write it"
}

// textKind is the kind of text that contains a problem.
type textKind int

const (
	inTemplate textKind = iota
	inCondition
	inCombine
)

// texts are the positions of the expressions that are not templates, in the order of the file.
// They do not overlap.
type texts []textPlace

type textPlace struct {
	workflow.Pos
	kind textKind
}

func (p *pass) expressions() texts {
	var list texts
	add := func(e workflow.Expr, kind textKind) {
		if e.Src.Pos.Line != 0 {
			list = append(list, textPlace{e.Src.Pos, kind})
		}
	}
	for _, e := range p.index.edges {
		add(e.When, inCondition)
	}
	for _, n := range p.index.nodes {
		switch s := n.Step.(type) {
		case *workflow.Choice:
			add(s.On, inCondition)
		case *workflow.Each:
			add(s.Items, inCondition)
		case *workflow.Combine:
			for _, in := range s.Inputs {
				add(in, inCombine)
			}
		case *workflow.Task, *workflow.Human, *workflow.Call, *workflow.Loop:
		}
	}
	sort.Slice(list, func(i, j int) bool { return compareStart(list[i].Pos, list[j].Pos) < 0 })
	return list
}

// at returns the kind of the text at a position.
func (t texts) at(pos workflow.Pos) textKind {
	i, _ := slices.BinarySearchFunc(t, pos, func(place textPlace, pos workflow.Pos) int {
		if compareStart(place.Pos, pos) <= 0 {
			return -1
		}
		return 1
	})
	if i == 0 {
		return inTemplate
	}
	last := t[i-1]
	if pos.Line > last.EndLine || pos.Line == last.EndLine && pos.Column > last.EndColumn {
		return inTemplate
	}
	return last.kind
}

func compareStart(a, b workflow.Pos) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}
