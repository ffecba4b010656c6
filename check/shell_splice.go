package check

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var shellSplice = rule{
	code:     "shell-splice",
	severity: workflow.Error,
	summary:  "a value would be executed as code",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil || p.in.agent(p.w, n, t).Executor != "shell" {
			return
		}
		for _, key := range []string{"command", "script"} {
			if text, ok := t.Settings[key].(string); ok && hasReference(text) {
				p.errorf(splicePos(n, t, key), `pass the value as an input and write "$name" in the command, or pass it in args; write $${x} for a variable ${x} of the shell`,
					"%s of %q contains a value of the run: %s", key, n.ID, shorten(text))
				return
			}
		}
		spliceVariables(p, n, t)
		spliceCommand(p, n, t, p.in.agent(p.w, n, t).Settings)
	},
}

// spliceCommand reports values that the command of a task would execute. The settings of its
// agent are not templates: what looks like a reference there is a variable of the shell.
func spliceCommand(p *pass, n *node, t *workflow.Task, agent map[string]any) {
	values := valuesOf(t, agent)
	for _, c := range values.commands(t.Settings, agent) {
		w, danger := c.executes()
		switch {
		case c.variable != "":
			p.errorf(splicePos(n, t, "command"), variableAdvice, "a value would set the variable %s of %q", c.variable, n.ID)
		case danger == asProgram:
			p.errorf(splicePos(n, t, "command"), "write the name of the program itself; values can only be its arguments", "a value would decide which program %q runs: %s", n.ID, shorten(w.text))
		case danger == asCode:
			p.errorf(splicePos(n, t, "command"), "take the value out of the code; pass it after the code as an argument, or as an input, which the code finds in its environment",
				"a value would be part of the code that %q runs: %s", n.ID, shorten(w.text))
		case c.readsCode && values.stdin:
			pos := placeOr(t.Prompt.Src.Pos, n.Pos)
			if _, ok := t.Settings["stdin"]; ok {
				pos = splicePos(n, t, "stdin")
			}
			p.errorf(pos, "write the code in command, or in a project file named by script, and pass the value as an input or in args",
				"%q runs a value from standard input as code: %s", n.ID, shorten(c.words[0].text))
		default:
			continue
		}
		return
	}
}

const variableAdvice = "this variable decides which programs or libraries run; write its value in the workflow, or rename the variable"

// spliceVariables reports values in variables that decide which programs are found, loaded or
// started.
func spliceVariables(p *pass, n *node, t *workflow.Task) {
	report := func(pos workflow.Pos, name string) {
		p.errorf(pos, variableAdvice, "a value would set the variable %s of %q", name, n.ID)
	}
	for _, in := range t.Inputs {
		if startsPrograms(in.Name) && refers(in.Value) {
			report(placeOr(in.Pos, n.Pos), in.Name)
		}
	}
	if refers(t.Settings["env"]) && !isMap(t.Settings["env"]) {
		p.errorf(splicePos(n, t, "env"), "write the name of each variable in the workflow, with its value", "a value would set all variables of %q, including those that decide which programs run", n.ID)
	}
	env, _ := t.Settings["env"].(map[string]any)
	for _, name := range sorted.Keys(env) {
		if startsPrograms(name) && refers(env[name]) {
			report(splicePos(n, t, "env"), name)
		}
	}
}

// startsPrograms reports whether an environment variable decides which programs, libraries or
// configuration files that name programs are used.
func startsPrograms(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_", "GIT_", "npm_config_", "NPM_CONFIG_", "HOCKET_", "XDG_", "RUSTC_", "CORECLR_"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "GIT_AUTHOR_") && !strings.HasPrefix(name, "GIT_COMMITTER_")
		}
	}
	return slices.Contains(startingVariables, name)
}

var startingVariables = strings.Fields(`PATH ENV BASH_ENV IFS PS4 PROMPT_COMMAND SHELL SHELLOPTS PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PERL5LIB
	PERL5OPT PERLLIB RUBYLIB RUBYOPT NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH LUA_PATH LUA_CPATH LUA_INIT
	PHPRC PHP_INI_SCAN_DIR SSH_ASKPASS
	EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER MAKEFLAGS GOFLAGS GCONV_PATH
	RSYNC_RSH CVS_RSH TAR_OPTIONS VIMINIT EXINIT ZDOTDIR HOME BUN_OPTIONS MAVEN_OPTS GRADLE_OPTS ERL_FLAGS
	ELIXIR_ERL_OPTIONS GOROOT GOTOOLCHAIN GOTOOLDIR PYTHONBREAKPOINT PYTHONWARNINGS OPENSSL_CONF OPENSSL_ENGINES SUDO_ASKPASS CC CXX RUSTFLAGS CARGO_HOME
	GEM_HOME GEM_PATH BUNDLE_GEMFILE R_PROFILE R_PROFILE_USER WGETRC CURL_HOME KUBECONFIG DOCKER_HOST AWKPATH AWKLIBPATH BASHOPTS INPUTRC
	MAKEFILES GNUMAKEFLAGS PSQL_PAGER PSQLRC RUSTC RUSTDOC LD GOENV DOTNET_STARTUP_HOOKS SYSTEMD_EDITOR SYSTEMD_PAGER FCEDIT SVN_EDITOR
	SVN_SSH HGEDITOR HGRCPATH BUNDLER_EDITOR RUBYGEMS_GEMDEPS ANT_OPTS SBT_OPTS JULIA_LOAD_PATH GDK_PIXBUF_MODULE_FILE`)

func isMap(value any) bool {
	_, is := value.(map[string]any)
	return is
}

// refers reports whether a value, or anything in it, contains a reference.
func refers(value any) bool {
	v, err := expr.ParseValue(value, expr.Canonical)
	return err == nil && len(v.Refs()) > 0
}

// splicePos returns the position of the first reference in a setting.
func splicePos(n *node, t *workflow.Task, key string) workflow.Pos {
	src := t.SettingsSrc[key]
	if src.Pos == (workflow.Pos{}) {
		return n.Pos
	}
	written, err := expr.ParseTemplate(src.Text, expr.Mixed)
	if err != nil || len(written.Refs()) == 0 {
		return src.Pos
	}
	ref := written.Refs()[0]
	return src.At(ref.From, ref.To)
}

func shorten(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(s); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return s
}
