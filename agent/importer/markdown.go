package importer

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Reasons that several programs share.
const (
	forScreens  = "it affects only how the agent is displayed"
	noHooks     = "in Hocket, commands before and after an agent are steps of a workflow"
	noMemory    = "in Hocket, memories belong to the project; see `hocket memory`"
	noBehind    = "in Hocket, the workflow decides what runs in parallel"
	noInvoking  = "in Hocket, the workflow decides which agent runs; agents do not call each other"
	inConfig    = "server configurations are not imported, because they may contain secrets"
	noSkills    = "skills are supported only by the program itself"
	noWorktrees = "in Hocket, a step decides that; write `workspace: own` for the steps of this agent"
)

// named reads the name and description that every format has. If the name is required and
// missing, the program itself does not treat the file as an agent either.
func (r *reading) named(required bool) {
	if r.agent.Name = r.text("name"); r.agent.Name == "" {
		if required {
			r.refuse = "it has no name, so its own program does not treat it as an agent either"
		}
		r.agent.Name = r.id
	}
	r.agent.Description = r.text("description")
}

// model reads the model; words for the default model are dropped.
func (r *reading) model(key string, usual ...string) {
	if m := r.text(key); !slices.Contains(usual, m) {
		r.agent.Model = m
	}
}

// servers reads MCP servers as a map by name, or as a list of names and maps. Only their
// names are kept.
func (r *reading) servers(key string) {
	v, _ := r.get(key)
	if r.partial == nil {
		r.partial = map[string]bool{}
	}
	configured := false
	add := func(name string) { r.agent.Servers = append(r.agent.Servers, text(name)) }
	byName := func(m map[string]any) {
		for _, name := range sorted.Keys(m) {
			add(name)
			configured = true
			r.partial[text(name)] = r.partial[text(name)] || someTools(m[name])
		}
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		byName(v)
	case []any:
		for _, e := range v {
			switch e := e.(type) {
			case string:
				add(e)
			case map[string]any:
				byName(e)
			default:
				r.lose(key, "an entry is neither a name nor a server")
			}
		}
	default:
		r.lose(key, "it is neither a list nor a map")
	}
	r.agent.Servers = slices.DeleteFunc(r.agent.Servers, func(s string) bool { return s == "" })
	if configured {
		r.lose(key, inConfig)
	}
}

func readClaude(r *reading) {
	r.named(true)
	r.agent.Description = strings.ReplaceAll(r.agent.Description, `\n`, "\n")
	r.onlyTools("tools")
	r.permits("claude", "permissionMode")
	r.denies("disallowedTools")
	r.model("model", "inherit")
	effort, _ := r.get("effort")
	r.wish("effort", effort)
	r.agent.MaxTurns = r.count("maxTurns")
	r.servers("mcpServers")
	r.loseAll(noSkills, "skills")
	r.hooks()
	r.loseAll(noMemory, "memory")
	r.loseAll(noBehind, "background")
	r.loseAll(noWorktrees, "isolation")
	r.loseAll(forScreens, "color")
	r.loseAll("a step has its own prompt", "initialPrompt")
	r.loseAll("it affects only the program's own conversations", "omitClaudeMd", "autoCompactWindow", "experimental")
	r.loseAll("in Hocket, agents do not watch each other", "observer", "observerMessage", "observeSubagents")
}

func readQwen(r *reading) {
	r.named(true)
	r.onlyTools("tools")
	r.permits("qwen", "approvalMode")
	r.permits("qwen", "permissionMode")
	r.denies("disallowedTools")
	r.model("model", "inherit")
	if old, ok := r.values["modelConfig"].(map[string]any); ok && r.agent.Model == "" {
		r.agent.Model, _ = old["model"].(string)
		delete(old, "model")
		if len(old) == 0 {
			r.get("modelConfig")
		}
	}
	r.agent.MaxTurns = r.count("maxTurns")
	r.runConfig()
	r.servers("mcpServers")
	r.hooks()
	r.loseAll(noBehind, "background")
	r.loseAll(forScreens, "color")
	r.loseAll("set agent to an executor", "executor")
	r.loseAll("the executor does not support this setting", "modelConfig")
}

// runConfig reads the limits in older files of qwen.
func (r *reading) runConfig() {
	bounds, ok := r.values["runConfig"].(map[string]any)
	if !ok {
		r.loseAll("it is not a map", "runConfig")
		return
	}
	r.get("runConfig")
	inner := ofValues("", bounds)
	for _, key := range []string{"max_turns", "maxTurns"} {
		if n := inner.count(key); n > 0 && r.agent.MaxTurns == 0 {
			r.agent.MaxTurns = n
		}
	}
	for _, key := range []string{"max_time_minutes", "maxTimeMinutes"} {
		if t := inner.minutes(key); t > 0 {
			r.agent.Timeout = t
		}
	}
	for _, lost := range inner.lost {
		r.lose("runConfig."+lost.Key, lost.Reason)
	}
	for _, key := range sorted.Keys(inner.values) {
		r.lose("runConfig."+key, "unknown key")
	}
}

// minutes reads a number of minutes, up to a year.
func (r *reading) minutes(key string) time.Duration {
	v, ok := r.get(key)
	if !ok || v == nil {
		return 0
	}
	n, err := strconv.ParseFloat(workflow.FormatText(v), 64)
	if err != nil || !(n > 0) || n > 366*24*60 {
		r.lose(key, "it is not a number of minutes")
		return 0
	}
	return time.Duration(n * float64(time.Minute)).Round(time.Second)
}

func readCopilot(r *reading) {
	r.id = strings.TrimSuffix(r.id, ".agent")
	r.named(false)
	if r.agent.Name != r.id && !IsID(r.agent.Name) {
		r.lose("name", fmt.Sprintf("%q is only a title; the agent is named after its file, as for copilot --agent", r.agent.Name))
		r.agent.Name = r.id
	}
	r.onlyTools("tools")
	r.model("model")
	if models := r.words("models"); len(models) > 0 {
		if r.agent.Model == "" {
			r.agent.Model, models = models[0], models[1:]
		}
		if len(models) > 0 {
			r.lose("models", "an agent can have only one model")
		}
	}
	effort, _ := r.get("reasoningEffort")
	r.wish("effort", effort)
	r.servers("mcp-servers")
	r.loseAll("an agent can have only one model", "modelPolicy")
	r.loseAll("a definition applies wherever hocket runs", "target")
	r.loseAll(noInvoking, "disable-model-invocation", "user-invocable", "infer", "handoffs", "sidekick")
	r.loseAll("in Hocket, all agents get the same context", "include-custom-instructions")
	r.loseAll("it affects only the program's own conversations", "deferred-tool-loading", "strict-tools-list")
	r.loseAll(forScreens, "metadata", "argument-hint")
}

func readCursor(r *reading) {
	r.named(false)
	r.model("model", "inherit")
	if r.agent.Model == "fast" {
		r.agent.Model = ""
		r.lose("model", "fast is a model name only in cursor")
	}
	switch v, _ := r.get("readonly"); v {
	case nil, false:
	case true:
		r.mode = readOnly
	default:
		r.refuseFor("readonly", plain(v), "it is neither true nor false")
	}
	r.loseAll(noBehind, "is_background")
}

// readGemini reads a file of gemini, which may list agents on other machines.
func readGemini(_ fs.FS, file string, text []byte) []*reading {
	r := newReading(file, text)
	const remote = "it is a remote agent, which Hocket does not support"
	if r.refuse == frontIsList {
		r.refuse = remote
	}
	if r.refuse != "" {
		return []*reading{r}
	}
	if kind := r.text("kind"); kind != "" && kind != "local" {
		r.refuse = remote
		return []*reading{r}
	}
	r.named(true)
	r.onlyTools("tools")
	r.servers("mcp_servers")
	r.servers("mcpServers")
	r.model("model", "inherit")
	temperature, _ := r.get("temperature")
	r.wish("temperature", temperature)
	r.agent.MaxTurns = r.count("max_turns")
	r.agent.Timeout = r.minutes("timeout_mins")
	r.loseAll(forScreens, "display_name")
	return []*reading{r}
}
