package hostile

// verbs are the commands that only read, with their arguments. Every project has a
// workflow.yml, and one called w in .hocket/workflows unless that is the hostile part.
var verbs = [][]string{
	{"check"},
	{"check", "workflow.yml", "--json"},
	{"check", ".hocket/workflows/w.yml"},
	{"check", "vendor/x/flow.yml"},
	{"fmt", "workflow.yml"},
	{"graph", "workflow.yml"},
	{"plan", "workflow.yml"},
	{"plan", "w"},
	{"convert", "workflow.yml", "--to", "xml"},
	{"digest", "workflow.yml"},
	{"agents"},
	{"agents", "show", "a"},
	{"tools"},
	{"tools", "check"},
	{"tools", "show", "t"},
	{"doctor"},
	{"runs"},
	{"show", "none-1"},
	{"trust"},
	{"trust", "workflow.yml", "--json"},
	{"trust", "--print"},
	{"trust", "--diff"},
	{"trust", "--list"},
	{"completion", "bash"},
	{"__complete", "run", ""},
	{"__complete", "check", ""},
	{"__complete", "show", ""},
	{"__complete", "agents", "show", ""},
}
