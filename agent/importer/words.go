package importer

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// How much an agent may do, in the terms of definitions.
const (
	readOnly = "read-only"
	edit     = "edit"
	full     = "full"
	ask      = "ask"
)

// inert are tools that have no effect by themselves: plans, to-do lists, questions, and
// other agents, which the same permissions restrict.
const inert agent.Power = ""

// vocabulary describes how a program writes what its agents may do.
type vocabulary struct {
	modes map[string]string        // its modes, mapped to ours that allow no more
	tools map[agent.Power][]string // its tools by what they do, in lower case
	lists lists                    // which of its own terms the executor accepts, to allow and to deny
}

type lists int

const (
	none     lists = iota
	names          // of tools
	patterns       // including arguments: Bash(git log)
)

// vocabularies hold all permission terms of the programs. A term that is missing here never
// permits anything, and what it denies must be denied in the program's own syntax, or the
// agent is refused.
var vocabularies = map[string]vocabulary{
	"claude": {
		modes: map[string]string{"plan": readOnly, "dontAsk": readOnly, "acceptEdits": edit, "bypassPermissions": full, "default": ask, "manual": ask, "auto": ask, "disable": ask},
		tools: map[agent.Power][]string{
			agent.MayRead:  strings.Fields("read grep glob ls notebookread lsp"),
			agent.MayWrite: strings.Fields("edit write multiedit notebookedit"),
			agent.MayRun:   strings.Fields("bash"),
			agent.MayReach: strings.Fields("webfetch websearch"),
			inert:          strings.Fields("agent task todowrite taskcreate taskget tasklist taskupdate taskstop taskoutput bashoutput killshell skill toolsearch askuserquestion enterplanmode exitplanmode"),
		},
		lists: patterns,
	},
	"codex": {
		modes: map[string]string{"read-only": readOnly, "workspace-write": edit, "danger-full-access": ""},
		tools: map[agent.Power][]string{
			agent.MayRun:   strings.Fields("shell_tool unified_exec"),
			agent.MayReach: strings.Fields("web_search web_search_request web_search_cached"),
		},
	},
	"copilot": {
		tools: map[agent.Power][]string{
			agent.MayRead:  strings.Fields("read search grep glob notebookread view"),
			agent.MayWrite: strings.Fields("edit write multiedit notebookedit create"),
			agent.MayRun:   strings.Fields("execute shell bash powershell"),
			agent.MayReach: strings.Fields("web webfetch websearch"),
			inert:          strings.Fields("agent custom-agent task todo todowrite"),
		},
		lists: patterns,
	},
	"cursor": {
		tools: map[agent.Power][]string{
			agent.MayRead: {"read"}, agent.MayWrite: {"write"}, agent.MayRun: {"shell"}, agent.MayReach: {"webfetch"},
		},
	},
	"gemini": {
		modes: map[string]string{"plan": readOnly, "auto_edit": edit, "yolo": full, "default": ask},
		tools: map[agent.Power][]string{
			agent.MayRead:  strings.Fields("read_file read_many_files list_directory glob grep_search search_file_content"),
			agent.MayWrite: strings.Fields("write_file replace"),
			agent.MayRun:   strings.Fields("run_shell_command"),
			agent.MayReach: strings.Fields("web_fetch google_web_search"),
			inert:          strings.Fields("invoke_agent write_todos ask_user activate_skill get_internal_docs save_memory enter_plan_mode exit_plan_mode complete_task list_mcp_resources read_mcp_resource update_topic"),
		},
		lists: names,
	},
	"opencode": {
		tools: map[agent.Power][]string{
			agent.MayRead:  strings.Fields("read glob grep list lsp"),
			agent.MayWrite: strings.Fields("edit write patch multiedit apply_patch"),
			agent.MayRun:   strings.Fields("bash"),
			agent.MayReach: strings.Fields("webfetch websearch codesearch"),
			inert:          strings.Fields("task skill todowrite todoread question doom_loop external_directory plan_enter plan_exit"),
		},
		lists: patterns,
	},
	"qwen": {
		modes: map[string]string{
			"plan": readOnly, "auto-edit": edit, "auto_edit": edit, "yolo": full, "default": ask, "auto": ask,
			"dontAsk": readOnly, "acceptEdits": edit, "bypassPermissions": full, // the same as claude's
			"dont_ask": readOnly, "accept_edits": edit, "bypass_permissions": full,
		},
		tools: map[agent.Power][]string{
			agent.MayRead:  strings.Fields("read_file read_many_files list_directory glob grep_search search_file_content lsp"),
			agent.MayWrite: strings.Fields("edit write_file notebook_edit"),
			agent.MayRun:   strings.Fields("run_shell_command"),
			agent.MayReach: strings.Fields("web_fetch web_search"),
			inert:          strings.Fields("agent task todo_write save_memory skill exit_plan_mode ask_user_question tool_search"),
		},
		lists: patterns,
	},
}

// power returns what a tool does. Parentheses narrow it: Bash(git log).
func (v *vocabulary) power(tool string) (p agent.Power, known bool) {
	name, _, _ := strings.Cut(strings.ToLower(tool), "(")
	for p, tools := range v.tools {
		if slices.Contains(tools, name) {
			return p, true
		}
	}
	return inert, false
}

func narrowed(tool string) bool { return strings.Contains(tool, "(") }

// among reports whether tools include one of a power.
func (v *vocabulary) among(tools []string, power agent.Power) bool {
	return slices.ContainsFunc(tools, func(tool string) bool {
		p, known := v.power(tool)
		return known && p == power
	})
}

// whole reports whether tools include all of a power: running commands is a single tool,
// whatever its name.
func (v *vocabulary) whole(tools []string, power agent.Power) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(tools, func(tool string) bool { return strings.EqualFold(tool, name) })
	}
	if power == agent.MayRun {
		return slices.ContainsFunc(v.tools[power], has)
	}
	return len(v.tools[power]) > 0 && !slices.ContainsFunc(v.tools[power], func(name string) bool { return !has(name) })
}
