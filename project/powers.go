package project

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// AddPowers adds powers of the project's files that only the caller can find, such as those
// of tools.
func (p *Project) AddPowers(find func() trust.Powers) { p.powers = append(p.powers, find) }

// Equipment returns what agents can currently use of the project: the servers, keys and
// programs of its configuration, and what the caller added.
func (p *Project) Equipment() trust.Powers {
	all := p.configPowers()
	for _, find := range p.powers {
		all = append(all, find()...)
	}
	return all.Union(nil)
}

// Powers returns what the files of the project can do that needs trust: its configuration,
// its driver, its agents, and what the caller added. It does not include workflows, see
// [Loaded.Powers].
func (p *Project) Powers() trust.Powers {
	all := append(p.Equipment(), p.DriverPowers()...)
	for _, d := range p.Agents.Definitions() {
		if !d.Builtin {
			all = append(all, p.definitionPowers(d)...)
		}
	}
	return all.Union(nil)
}

// AllPowers returns the powers of the project, including those of all its workflows and triggers, of
// handing a text to any of its agents, of its notifications and of its telemetry. It is what the user is asked to
// trust without naming a workflow.
func (p *Project) AllPowers() (trust.Powers, error) {
	all := p.Powers().Union(p.NotificationPowers()).Union(p.TelemetryPowers())
	for _, d := range p.Agents.Definitions() {
		all = all.Union(p.commandPowers(d, &workflow.Task{Agent: d.Name}))
	}
	for _, name := range p.Names() {
		l, err := p.Load(name)
		if err != nil {
			return nil, err
		}
		all = all.Union(l.Powers())
	}
	for _, t := range p.Triggers() {
		l, err := p.LoadNamed(t.Workflow)
		if err == nil { // otherwise it starts nothing
			all = all.Union(p.TriggerPowers(t, l))
		}
	}
	return all, nil
}

// Approve returns the arguments with which hocket asks for approval of all powers, which may
// include those of a workflow's file. It is nil if there are none.
func (p *Project) Approve(powers trust.Powers, file string) []string {
	all, err := p.AllPowers()
	if err != nil {
		return nil
	}
	if !powers.Exceeds(all) {
		return []string{"trust"}
	}
	if dir, err := filepath.Abs(p.dir); err == nil && filepath.IsAbs(file) {
		if name, err := filepath.Rel(dir, file); err == nil {
			file = name
		}
	}
	l, err := p.Load(file)
	if err != nil || powers.Exceeds(all.Union(l.Powers())) {
		return nil
	}
	return []string{"trust", file}
}

// Powers returns the powers of the workflow's own steps and of their agents, that of the driver of every
// run, and those of the project if a step can use them. A step whose settings fix exactly what it does cannot.
func (l *Loaded) Powers() trust.Powers {
	l.choose()
	p := l.project
	var all trust.Powers
	uses := false
	l.tasks(func(w *workflow.Workflow, n *workflow.Node, task *workflow.Task, d *agent.Definition) {
		all = append(all, p.settingsPowers(d, d.With(constants(task.Settings)), n.Pos)...) // a URL and its headers may be in two files
		if !d.Builtin {
			all = append(all, p.definitionPowers(d)...)
		}
		traits := p.Agents.Traits(d.Agent)
		work := &agent.Task{Agent: d, Settings: d.With(task.Settings)}
		uses = uses || traits.Configured || traits.FromPrompt(work)
		// A prompt on the command line does not show this, unlike a workflow file. A detached session
		// has such a prompt, and may do no more than the workflow that it comes from.
		if l.alone || task != n.Task() && n.Task().Handoffs.Detach {
			all = append(all, p.commandPowers(d, task)...)
		}
		if _, handed := task.Settings[agent.HandoffSetting]; handed || task.Handoffs != nil {
			all = append(all, p.handoffPowers()...) // whatever the agent is
		}
	})
	if uses {
		all = append(all, p.Powers()...)
	}
	if l.Bundle.Root != nil && l.Bundle.Isolates() {
		all = append(all, p.WorkspacePowers()...)
	}
	all = append(all, p.DriverPowers()...)
	return all.Union(nil)
}

// commandPowers returns the power of an agent that does the same whatever it is asked, because its
// settings say what it does: whoever hands a text to an agent expects it to be read.
func (p *Project) commandPowers(d *agent.Definition, task *workflow.Task) trust.Powers {
	reads := func(power agent.Power) bool { return power == agent.MayRead }
	work := &agent.Task{Agent: d, Settings: d.With(task.Settings)}
	if d.Builtin || p.Agents.Traits(d.Agent).FromPrompt(work) || len(slices.DeleteFunc(p.does(d, task), reads)) == 0 {
		return nil
	}
	return trust.Powers{{
		Kind: trust.Command, What: "the agent " + d.Name + " passes whatever it is asked to the " + d.Agent + " with " + workflow.FormatJSON(d.Settings),
		Where: p.place(d.Pos), Material: p.namedFiles(d.Settings, texts(d.Settings)),
	}}
}

// written finds the files that a command redirects its output to. They change with every run. If
// the command also starts one of them, it mentions it a second time.
var written = lazy.Regexp(`(^|[^<])>[>|&]?[ \t]*[\w./-]+`)

// texts returns the texts in settings that can name files which a command starts or reads.
func texts(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{written().ReplaceAllString(v, "$1 ")}
	case []any:
		for _, one := range v {
			list = append(list, texts(one)...)
		}
	case map[string]any:
		for _, one := range v { // the material does not depend on the order
			list = append(list, texts(one)...)
		}
	}
	return list
}

// constants returns those settings of a task that have no references.
func constants(settings map[string]any) map[string]any {
	all := maps.Clone(settings)
	for name, written := range settings {
		if v, err := expr.ParseValue(written, expr.Canonical); err == nil && len(v.Refs()) == 0 {
			all[name], _ = v.Eval(nil) // there are no variables in it
		}
	}
	return all
}

// tasks calls do for the tasks of all workflows with their agents, if these are known.
func (l *Loaded) tasks(do func(*workflow.Workflow, *workflow.Node, *workflow.Task, *agent.Definition)) {
	if l.Bundle.Root == nil {
		return
	}
	agents := l.project.Agents.Snapshot()
	for _, w := range check.Workflows(l.Bundle) {
		w.Body.WalkTasks(func(n *workflow.Node, task *workflow.Task) {
			all := []*workflow.Task{task}
			if task.Handoffs != nil {
				for _, name := range task.Handoffs.To {
					all = append(all, &workflow.Task{Agent: name})
				}
			}
			for _, t := range all {
				// If only the executor is missing, there is still a definition.
				if d, _, _ := agents.ResolveLane(t.Agent, w.RoleOf(t.Agent)); d != nil {
					do(w, n, t, d)
				}
			}
		})
	}
}

// configPowers returns the powers of config.yml.
func (p *Project) configPowers() trust.Powers {
	c := &p.Config
	var all trust.Powers
	add := func(kind trust.Kind, key, material, what string, args ...any) {
		all = append(all, trust.Power{Kind: kind, What: fmt.Sprintf(what, args...), Where: p.place(p.at[key]), Material: material})
	}
	for _, name := range sorted.Keys(c.Providers) {
		switch provider := c.Providers[name]; {
		case provider.User: // the user has defined it
		case provider.Key == (Place{}) && provider.BaseURL != "" && !isLoopback(provider.BaseURL):
			add(trust.Address, "providers."+name, "", "lets the model at %s use the tools of agents", provider.BaseURL)
		case provider.Key == (Place{}): // none is sent
		case provider.BaseURL != "":
			add(trust.Address, "providers."+name, "", "sends the key in %s to %s", provider.Key.words(), provider.BaseURL)
		default:
			add(trust.Secret, "providers."+name, "", "uses the key in %s for %s", provider.Key.words(), name)
		}
	}
	all = append(all, p.SecretPowers(sorted.Keys(c.Secrets)...)...)
	for i := range c.Servers {
		if power := p.serverPower(&c.Servers[i]); power.What != "" {
			all = append(all, power)
		}
	}
	all = append(append(all, p.handoffPowers()...), p.WorkspacePowers()...)
	if program := c.Browser.Program; program != "" {
		add(trust.Program, "browser", trust.Material(p.Root, Program(p.Root, program), p.Root), "opens pages with the program %s", program)
	}
	return all
}

// serverPower returns the power of an MCP server; it is empty if its configuration is invalid.
func (p *Project) serverPower(s *Server) trust.Power {
	power := trust.Power{Kind: trust.Server, Where: p.place(p.at["mcp."+s.Name])}
	switch {
	case s.URL != "":
		with := given(s.Headers)
		if s.Login.ClientSecret != "" {
			with += ", with the secret " + s.Login.ClientSecret + " at its login"
		}
		power.What = fmt.Sprintf("connects to the MCP server %s at %s%s", s.Name, s.URL, with)
		power.Material = workflow.FormatJSON([]any{s.URL, values(s.Headers), s.Login.ClientID, s.Login.ClientSecret})
	case len(s.Command) > 0:
		var words []string
		for _, v := range s.Env {
			words = append(words, v.Text)
		}
		power.What = fmt.Sprintf("starts the MCP server %s: %s%s", s.Name, strings.Join(s.Command, " "), given(s.Env))
		power.Material = workflow.FormatJSON([]any{s.Command, values(s.Env)}) + trust.Material(p.Root, Program(p.Root, s.Command[0]), p.Root, append(words, s.Command[1:]...)...)
	}
	return power
}

// WorkspacePowers returns the powers of config.yml that every step with its own workspace uses. The content
// of what the command starts is not part of them: agents write it.
func (p *Project) WorkspacePowers() trust.Powers {
	c := &p.Config.Workspace
	if c.Setup == "" {
		return nil
	}
	return trust.Powers{{Kind: trust.Program, What: "prepares workspaces with the command " + c.Setup, Where: p.place(p.at["workspace"]), Material: c.Setup}}
}

// handoffPowers returns the powers of config.yml that every task uses that was handed off. The
// content of what the test command starts is not part of them: agents write it.
func (p *Project) handoffPowers() (all trust.Powers) {
	c, where := &p.Config.Handoff, p.place(p.at["handoff"])
	if c.Test != "" {
		all = append(all, trust.Power{Kind: trust.Program, What: "tests what agents deliver with the command " + c.Test, Where: where, Material: c.Test})
	}
	if c.Advisory {
		all = append(all, trust.Power{Kind: trust.Program, What: "lets agents work without limits on writing where these cannot be enforced", Where: where})
	}
	return all
}

// Program returns the file that runs if the config.yml of a project names a program.
func Program(root, name string) string {
	file, _ := trust.Locate(root, name, os.Getenv("PATH")) // a missing one cannot start
	return file
}

// words describes the location of a secret.
func (p Place) words() string {
	if p.Env != "" {
		return "the variable " + p.Env
	}
	return "the file " + p.File
}

// Holds reports whether a file, relative to the project, is inside of the project.
func (p *Project) Holds(file string) bool {
	if file == "" {
		return false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.Root, file)
	}
	_, err := projectfile.Resolve(file, p.Root)
	return err == nil && isBelow(p.Root, file)
}

// values returns texts and names of secrets in the form for the digest.
func values(of map[string]Value) map[string]any {
	all := map[string]any{}
	for name, v := range of {
		all[name] = []any{v.Text, v.Secret, v.Prefix}
	}
	return all
}

// given lists variables or headers, as the end of a sentence.
func given(of map[string]Value) string {
	var text string
	for _, name := range sorted.Keys(of) {
		if v := of[name]; v.Secret != "" {
			text += fmt.Sprintf(", with %s from the secret %s", name, v.Secret)
		} else {
			text += fmt.Sprintf(", with %s=%s", name, v.Text)
		}
	}
	return text
}

// definitionPowers returns the powers of an agent: its permissions and its settings.
func (p *Project) definitionPowers(d *agent.Definition) trust.Powers {
	all := p.settingsPowers(d, d.Settings, d.Pos)
	for _, name := range []string{d.ID, d.Name} {
		if d.Agent != name && slices.Contains(p.Agents.Executors(), name) {
			all = append(all, trust.Power{Kind: trust.CLI, What: "the agent " + name + " is not the built-in one: it uses " + cmp.Or(d.Agent, "the default agent"), Where: p.place(d.Pos)})
			break
		}
	}
	where := p.place(d.At("permissions"))
	permissions, _ := agent.ReadPermissions(d.Permissions, "allow", "deny") // mistakes are reported elsewhere
	if d.Permissions["mode"] == "full" || permissions.ForCommand("x; y") == agent.Allow {
		all = append(all, trust.Power{Kind: trust.Autonomy, What: "the agent " + d.Name + " may do everything without asking", Where: where})
	}
	if patterns, ok := d.Permissions["shell"].(map[string]any); ok {
		for _, pattern := range sorted.Keys(patterns) {
			if patterns[pattern] == "allow" {
				all = append(all, trust.Power{Kind: trust.Autonomy, What: "the agent " + d.Name + " may run commands like this without asking: " + pattern, Where: where})
			}
		}
	}
	if allowed, ok := d.Permissions["allow"]; ok {
		all = append(all, trust.Power{Kind: trust.Autonomy, What: "the agent " + d.Name + " may do this without asking: " + workflow.FormatJSON(allowed), Where: where})
	}
	return all
}

// settingsPowers returns the powers of settings at a position.
func (p *Project) settingsPowers(d *agent.Definition, settings map[string]any, pos workflow.Pos) trust.Powers {
	ask := p.Agents.Traits(d.Agent).Powers
	if ask == nil {
		return nil
	}
	all := ask(p.Root, settings)
	for i := range all {
		if all[i].Where == "" {
			all[i].Where = p.place(pos)
		}
	}
	return all
}

// place formats a position relative to the project.
func (p *Project) place(pos workflow.Pos) string {
	if pos.File == "" {
		return ""
	}
	file, err := filepath.Abs(pos.File)
	if err != nil {
		file = pos.File
	}
	if rel, err := filepath.Rel(p.Root, file); err == nil && filepath.IsLocal(rel) {
		file = filepath.ToSlash(rel)
	}
	return fmt.Sprintf("%s:%d", file, max(pos.Line, 1))
}

// isLoopback reports whether an address is on this machine.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
