package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) agentsVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "agents [COMMAND]",
		Short: "List, show, create and import agents",
		Long: `List the agents of this project and the built-in ones, with the executor of each
and whether it can run on this machine. The subcommands show an agent, create one,
and import agents from other programs.`,
		Example: `  hocket agents
  hocket agents show reviewer
  hocket agents new poet --agent claude --prompt 'You write haikus.'
  hocket agents import --from claude,gemini

  # List the agents that cannot run here, and why
  hocket agents --json | jq '.[] | select(.usable | not) | {name, missing}'`,
		RunE: func(*cobra.Command, []string) error { return a.agents() },
	}, a.agentsShowVerb(), a.agentsNewVerb(), a.agentsImportVerb())
}

// agentLine is one agent with --json.
type agentLine struct {
	Name         string   `json:"name"`
	Source       string   `json:"source"` // native, built-in, or the program that it was imported from
	Agent        string   `json:"agent"`  // the executor
	Usable       bool     `json:"usable"`
	Missing      string   `json:"missing,omitempty"` // why it cannot run here
	Description  string   `json:"description,omitempty"`
	Role         string   `json:"role,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	File         string   `json:"file,omitempty"`
}

// The sources of agents that were not imported.
const (
	sourceNative  = "native"
	sourceBuiltin = "built-in"
)

func lineOf(set *agent.Set, d *agent.Definition) agentLine {
	l := agentLine{
		Name: d.Name, Source: sourceNative, Agent: d.Agent, Usable: true, Description: d.Description,
		Role: d.Role, Capabilities: d.Capabilities, File: d.Pos.File,
	}
	switch {
	case d.Builtin:
		l.Source = sourceBuiltin
	case d.Source != nil && d.Source.From != "":
		l.Source = d.Source.From
	}
	if failed := set.Missing(d); failed != nil {
		l.Usable, l.Missing = false, failed.Advice()
		if failed.Missing != "" {
			l.Missing = failed.Missing
		}
	}
	return l
}

func (a *app) agents() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	lines := []agentLine{}
	for _, d := range p.Agents().Definitions() {
		lines = append(lines, lineOf(p.Agents(), d))
	}
	if wrong := len(p.Diagnostics().Mistakes()); wrong > 0 {
		a.note(view.Count(wrong, "mistake") + " in the files of the project, so agents may be missing from this list; run `hocket check` to see them\n")
	}
	if a.json {
		return a.printJSON(lines)
	}
	t := &view.Table{Head: []string{"AGENT", "RUNS ON", "HERE", "SOURCE", "DESCRIPTION"}}
	for _, l := range lines {
		here := view.Cell{Text: "yes", Paint: view.Green}
		if !l.Usable {
			here = view.Cell{Text: "no", Paint: view.Red}
		}
		t.Row(view.Cell{Text: l.Name}, view.Cell{Text: l.Agent}, here, view.Cell{Text: l.Source, Paint: view.Dim}, view.Cell{Text: firstLine(l.Description)})
	}
	return a.print(t.Draw(a.outStyle) + a.missingAgents(lines))
}

// missingAgents lists why agents cannot run here, each reason once.
func (a *app) missingAgents(lines []agentLine) string {
	var b strings.Builder
	var said []string
	for _, l := range lines {
		if l.Usable || slices.Contains(said, l.Missing) {
			continue
		}
		if len(said) == 0 {
			b.WriteString("\n")
		}
		said = append(said, l.Missing)
		b.WriteString(a.outStyle.Paint(view.Bold, view.Line(l.Name)) + ": " + view.Line(a.nearIn(l.Missing, l.File)) + "\n")
	}
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (a *app) agentsShowVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show an agent",
		Long: `Show the effective definition of an agent: its executor, why that was chosen, its
prompt and its limits. NAME is anything that a step can use: a name, a role or a
capability.`,
		Example: `  hocket agents show reviewer
  hocket agents show reviewer --json | jq -r .prompt`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeAgent,
		RunE:              func(_ *cobra.Command, args []string) error { return a.showAgent(args[0]) },
	}
}

// agentDetail is agents show --json.
type agentDetail struct {
	agentLine
	Chosen      string         `json:"chosen,omitempty"` // why this executor, if the file does not name one
	Model       string         `json:"model,omitempty"`
	Tools       []string       `json:"tools,omitempty"`
	Servers     []string       `json:"mcp,omitempty"`
	Permissions map[string]any `json:"permissions,omitempty"`
	Settings    map[string]any `json:"settings,omitempty"`
	Timeout     string         `json:"timeout,omitempty"`
	MaxTurns    int            `json:"max_turns,omitempty"`
	MaxCostUSD  workflow.Bound `json:"max_cost_usd,omitzero"`
	MaxTokens   workflow.Bound `json:"max_tokens,omitzero"`
	MaxOutputKB int            `json:"max_output_kb,omitempty"`
	Retry       *agentRetry    `json:"retry,omitempty"`
	Prompt      string         `json:"prompt,omitempty"`
	From        *agentSource   `json:"from,omitempty"`
}

type agentRetry struct {
	Attempts int    `json:"attempts"`
	Backoff  string `json:"backoff,omitempty"`
	Delay    string `json:"delay,omitempty"`
	MaxDelay string `json:"max_delay,omitempty"`
}

func retryOf(r workflow.Retry) *agentRetry {
	if r.Attempts == 0 {
		return nil
	}
	out := &agentRetry{Attempts: r.Attempts, Backoff: string(r.Backoff)}
	if r.Delay > 0 {
		out.Delay = r.Delay.String()
	}
	if r.MaxDelay > 0 {
		out.MaxDelay = r.MaxDelay.String()
	}
	return out
}

func (r *agentRetry) String() string {
	text := fmt.Sprintf("%d attempts", r.Attempts)
	if r.Backoff != "" {
		text += ", " + r.Backoff
	}
	if r.Delay != "" {
		text += ", " + r.Delay + " between"
	}
	if r.MaxDelay != "" {
		text += ", at most " + r.MaxDelay
	}
	return text
}

type agentSource struct {
	File       string `json:"file"`
	ImportedAt string `json:"imported_at"`
}

func (a *app) showAgent(name string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	d, _, err := p.Agents().Resolve(name)
	if d == nil {
		what, hint := explain(err)
		return usagef(hint, "%s", strings.TrimPrefix(what, "agent: "))
	}
	detail := agentDetail{
		agentLine: lineOf(p.Agents(), d), Chosen: d.Chosen, Model: d.Model, Tools: d.Tools, Servers: d.Servers,
		Permissions: d.Permissions, Settings: d.Settings, MaxTurns: d.MaxTurns,
		MaxCostUSD: d.Budget.CostUSD, MaxTokens: d.Budget.Tokens, Prompt: d.Prompt,
		MaxOutputKB: d.MaxOutputKB, Retry: retryOf(d.Retry),
	}
	if d.Timeout > 0 {
		detail.Timeout = d.Timeout.String()
	}
	if d.Source != nil {
		detail.From = &agentSource{d.Source.File, d.Source.ImportedAt}
	}
	if a.json {
		return a.printJSON(detail)
	}
	return a.print(a.drawAgent(&detail))
}

func (a *app) drawAgent(d *agentDetail) string {
	var b strings.Builder
	fact := func(name, text string) {
		if text != "" {
			b.WriteString(a.outStyle.Paint(view.Dim, view.Pad(name, 12)) + " " + view.Line(text) + "\n")
		}
	}
	values := func(m map[string]any) string {
		if len(m) == 0 {
			return ""
		}
		return workflow.FormatJSON(m)
	}
	b.WriteString(a.outStyle.Paint(view.Bold, view.Line(d.Name)) + "\n")
	fact("description", d.Description)
	fact("role", d.Role)
	fact("capabilities", strings.Join(d.Capabilities, ", "))
	fact("runs on", strings.TrimSuffix(d.Agent+", "+d.Chosen, ", "))
	fact("missing", a.nearIn(d.Missing, d.File))
	fact("model", d.Model)
	fact("tools", strings.Join(d.Tools, ", "))
	fact("mcp", strings.Join(d.Servers, ", "))
	fact("permissions", values(d.Permissions))
	fact("settings", values(d.Settings))
	fact("timeout", d.Timeout)
	if d.MaxTurns > 0 {
		fact("max turns", fmt.Sprint(d.MaxTurns))
	}
	if usd, ok := d.MaxCostUSD.Amount(); ok {
		fact("max cost", workflow.FormatUSD(usd))
	}
	if _, ok := d.MaxTokens.Amount(); ok {
		fact("max tokens", d.MaxTokens.String())
	}
	if d.MaxOutputKB > 0 {
		fact("max output", fmt.Sprintf("%d KiB", d.MaxOutputKB))
	}
	if d.Retry != nil {
		fact("retry", d.Retry.String())
	}
	fact("file", nearPath(d.File))
	if d.From != nil {
		fact("imported", d.Source+" "+d.From.File+", "+d.From.ImportedAt)
	}
	if d.Prompt != "" {
		b.WriteString("\n" + endLine(view.Text(d.Prompt)))
	}
	return b.String()
}

// newAgentFlags are the flags of agents new.
type newAgentFlags struct{ agent, prompt, model, description string }

func (a *app) agentsNewVerb() *cobra.Command {
	var f newAgentFlags
	cmd := &cobra.Command{
		Use:   "new NAME --prompt TEXT [FLAGS]",
		Short: "Create an agent",
		Long: `Create an agent: a file in .hocket/agents with a prompt that precedes every task.
Without --agent, the agent runs on the project's default executor, or on the only
usable one. Existing files are never changed.

If an agent or a step runs this command, the new agent waits for the approval of a
person, see "hocket approve".`,
		Example: `  hocket agents new poet --prompt 'You write haikus.'
  hocket agents new scanner --agent codex --model gpt-5.4 --prompt - < scanner.md`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.newAgent(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.prompt, "prompt", "", "the `TEXT` that precedes every task; - reads standard input")
	flags.StringVar(&f.agent, "agent", "", "the `NAME` of the executor, such as claude or llm")
	flags.StringVar(&f.model, "model", "", "the `MODEL`, if the executor has several")
	flags.StringVar(&f.description, "description", "", "a `TEXT` that says what the agent is for; also used to choose an agent")
	return cmd
}

func (a *app) newAgent(ctx context.Context, name string, f newAgentFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if f.prompt == stdin {
		text, err := a.readStdin()
		if err != nil {
			return err
		}
		f.prompt = string(text)
	}
	switch {
	case !hocket.IsAgentName(name):
		return usagef("it becomes a file name: use letters, digits, -, _ and .", "invalid agent name %q", name)
	case strings.TrimSpace(f.prompt) == "":
		return usagef("pass --prompt 'You are …', or --prompt - to read it from standard input", "the agent has no prompt")
	case f.agent != "" && !slices.Contains(p.Agents().Executors(), f.agent):
		return usagef(orList(f.agent, p.Agents().Executors()), "unknown executor %q", f.agent)
	}
	if d, _, err := p.Agents().Resolve(name); d != nil || isAmbiguous(err) {
		return usagef("run `hocket agents show "+name+"` to see it", "agent %q already exists", name)
	}
	def := &agent.Definition{Name: name, Description: f.description, Agent: f.agent, Model: f.model, Prompt: endLine(strings.TrimSpace(f.prompt))}
	if by := a.supervisor(); by != "" {
		return a.proposed(p.ProposeAgent(ctx, def, hocket.Origin{By: by, Goal: f.description}))
	}
	file, err := p.NewAgent(def)
	if errors.Is(err, fs.ErrExist) {
		return usagef("choose another name", "%s already exists", file)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"name": name, "file": file})
	}
	return a.print(a.outStyle.Paint(view.Green, "created") + "  " + nearPath(file) + "\n\n" + a.nextStep(name))
}

// nextStep suggests what to do with a new agent.
func (a *app) nextStep(name string) string {
	try := "Now try: " + a.self("task", "PROMPT", "--agent", name) + "\n"
	p, err := a.openProject()
	if err != nil || p.Reload() != nil {
		return try
	}
	d, _, _ := p.Agents().Resolve(name)
	if d == nil {
		return try
	}
	if l := lineOf(p.Agents(), d); !l.Usable {
		return "It cannot run here yet: " + view.Line(a.nearIn(l.Missing, l.File)) + "\n"
	}
	return try
}

// orList suggests the nearest of some names, or lists all of them.
func orList(name string, names []string) string {
	if hint := workflow.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "expected one of: " + strings.Join(names, ", ")
}

func isAmbiguous(err error) bool {
	var failed *agent.ResolveError
	return errors.As(err, &failed) && failed.Why == agent.Ambiguous
}

// nearIn makes the path of a file within a text relative to the current directory.
func (a *app) nearIn(text, file string) string {
	if file == "" {
		return text
	}
	return strings.ReplaceAll(text, file, nearPath(file))
}

func (a *app) completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return typeable(p.Agents().Names()), cobra.ShellCompDirectiveNoFileComp
}
