package check

import "github.com/hocket-dev/hocket/workflow"

// rule is one kind of mistake. It is applied to a whole workflow, to each node, to each edge, or
// once to the whole bundle.
type rule struct {
	code     string
	severity workflow.Severity // the highest that it reports
	summary  string

	workflow func(*pass)
	node     func(*pass, *node)
	edge     func(*pass, *edge)
	bundle   func(*bundlePass)
}

// rules are all rules, in the order in which they are applied. Rules that make it impossible to
// apply others come first.
var rules = []*rule{
	&modelInvalid,
	&workflowEmpty,
	&idInvalid,
	&duplicateID,
	&duplicateInput,
	&duplicateAgent,
	&nameInvalid,
	&nameReserved,
	&inputDefault,
	&limitNegative,

	&needsUnknown,
	&edgeTargetUnknown,
	&edgeAgainOutsideLoop,
	&edgeLeavesEach,
	&edgeTwice,
	&timeoutEdgeNotHuman,
	&graphCycle,
	&loopTwoEntries,
	&loopNoExit,
	&loopNeverRepeats,
	&joinImpossible,
	&unreachableNode,

	&labelNotAnswerable,
	&labelNoEdge,
	&labelAlike,
	&elseMissing,
	&elseAlone,
	&plainBesideLabels,
	&choiceNoRoute,
	&choiceAsks,

	&optionTwice,
	&questionEmpty,
	&combineEmpty,
	&combineInputUndefined,
	&eachNotList,
	&retryNotTask,
	&fieldUnused,
	&outputPatternMissing,
	&regexInvalid,
	&jsonpathInvalid,
	&schemaInvalid,

	&agentMissing,
	&agentUnknown,
	&agentAmbiguous,
	&agentNoExecutor,
	&handoffAgent,
	&settingsInvalid,
	&watchUnsupported,
	&shellSplice,

	&conditionSyntax,
	&refSyntax,
	&refUnknown,
	&refField,
	&refForward,
	&refSelf,
	&refNotUpstream,
	&refItem,
	&refFailure,
	&refMaybeUndefined,
	&refQuoted,
	&conditionWord,
	&statusUnknown,
	&refNotation,

	&workflowUnknown,
	&duplicateWorkflow,
	&workflowCycle,
	&workflowDepth,
	&inputMissing,
	&inputUnknown,
	&budgetExceeded,

	&workspacesMeet,
	&mergeNothing,
	&landNothing,
	&workspaceUnused,

	&generatedCall,
	&generatedPower,
	&generatedLimit,
	&generatedDownload,
}

// Rule describes a rule for people.
type Rule struct {
	Code     string
	Severity workflow.Severity // the highest that it reports
	Summary  string
}

// Rules returns the rules of this package, for the tests that compare them with fixtures and with the
// documentation: each has a page in docs/rules under its code.
func Rules() []Rule {
	var list []Rule
	for _, r := range rules {
		list = append(list, Rule{r.code, r.severity, r.summary})
	}
	return list
}
