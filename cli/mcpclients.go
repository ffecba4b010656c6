package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// serverName is the name of our server in the settings of clients.
const serverName = "hocket"

// Clients that are set up wait this long for a call, and the server a little less.
const (
	clientTimeout = time.Hour
	serverWait    = "55m"
)

var milliseconds = strconv.FormatInt(clientTimeout.Milliseconds(), 10)

// serves are the arguments with which clients start our server.
var serves = []string{"mcp", "serve", "--wait", serverWait}

// mcpClient is a program that can use our server.
type mcpClient struct {
	program  string
	settings func(home string) string                 // the file with its settings
	key      string                                   // of the servers in its settings; "": they are TOML
	server   func(self string) map[string]any         // our server there, with the path of hocket
	add      func(c *mcpClient, self string) []string // arguments that add it; nil: edit the file
	remove   []string                                 // arguments that remove it; nil: edit the file
	edit     func(text []byte, c *mcpClient, self string) ([]byte, error)
	works    string // what its list of servers says about one that works; "": it does not say
	note     string // what a user has to know
}

// mcpClients are the known clients. Those that have a command to add a server are set up with it; if
// it cannot set the timeout, their settings are edited afterwards.
var mcpClients = map[string]mcpClient{
	"claude": {
		program: "claude", settings: below("CLAUDE_CONFIG_DIR", "", ".claude.json"), key: "mcpServers", works: "Connected",
		server: func(self string) map[string]any {
			return map[string]any{"type": "stdio", "command": self, "args": serves, "timeout": clientTimeout.Milliseconds(), "alwaysLoad": true}
		},
		add: func(c *mcpClient, self string) []string {
			return []string{"mcp", "add-json", "--scope", "user", serverName, workflow.FormatJSON(c.server(self))}
		},
		remove: []string{"mcp", "remove", "--scope", "user", serverName},
	},
	"codex": {
		program: "codex", settings: below("CODEX_HOME", ".codex", "config.toml"), works: "enabled",
		add:    addCommand,
		remove: []string{"mcp", "remove", serverName},
		edit:   func(text []byte, _ *mcpClient, _ string) ([]byte, error) { return codexTimeout(text) },
		note:   "codex asks before it calls a tool; in `codex exec` it refuses, unless its config.toml has default_tools_approval_mode = \"approve\" for the server",
	},
	"gemini": {
		program: "gemini", settings: below("", ".gemini", "settings.json"), key: "mcpServers", works: "Connected",
		server: func(self string) map[string]any {
			return map[string]any{"command": self, "args": serves, "timeout": clientTimeout.Milliseconds()}
		},
		add: func(_ *mcpClient, self string) []string {
			return append([]string{"mcp", "add", "--scope", "user", "--timeout", milliseconds, serverName, self, "--"}, serves...)
		},
		remove: []string{"mcp", "remove", "--scope", "user", serverName},
		note:   "gemini starts servers only in folders that it trusts",
	},
	"opencode": {
		program: "opencode", settings: below("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"), key: "mcp", works: "connected",
		server: func(self string) map[string]any {
			return map[string]any{"type": "local", "command": append([]string{self}, serves...), "timeout": clientTimeout.Milliseconds()}
		},
		add: addCommand,
		edit: func(text []byte, c *mcpClient, _ string) ([]byte, error) {
			return setJSONC(text, []string{c.key, serverName, "timeout"}, clientTimeout.Milliseconds())
		},
	},
	"copilot": {
		program: "copilot", settings: below("COPILOT_HOME", ".copilot", "mcp-config.json"), key: "mcpServers",
		server: func(self string) map[string]any {
			return map[string]any{"type": "local", "command": self, "args": serves, "tools": []string{"*"}, "timeout": clientTimeout.Milliseconds()}
		},
		add: func(_ *mcpClient, self string) []string {
			return append([]string{"mcp", "add", serverName, "--timeout", milliseconds, "--", self}, serves...)
		},
		remove: []string{"mcp", "remove", serverName},
	},
	"cursor": {
		program: "cursor-agent", settings: below("", ".cursor", "mcp.json"), key: "mcpServers",
		server: func(self string) map[string]any {
			return map[string]any{"command": self, "args": []string{"mcp", "serve"}}
		},
		edit: func(text []byte, c *mcpClient, self string) ([]byte, error) {
			return setJSONC(text, []string{c.key, serverName}, c.server(self))
		},
	},
}

func addCommand(_ *mcpClient, self string) []string {
	return append([]string{"mcp", "add", serverName, "--", self}, serves...)
}

// below returns the path of a file in the directory that a variable names, otherwise in the usual one.
func below(variable, usual, file string) func(home string) string {
	return func(home string) string {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, file)
		}
		return filepath.Join(home, usual, file)
	}
}

// setup is what adds or removes the server: a command of the client, and then a change of its settings. Either
// may be nil.
type setup struct {
	args   []string
	change func(text []byte) ([]byte, error)
}

func (c *mcpClient) setup(self string, uninstall bool) (s setup) {
	switch {
	case uninstall && c.remove != nil:
		return setup{args: c.remove}
	case uninstall:
		return setup{change: func(text []byte) ([]byte, error) { return removeJSONC(text, []string{c.key, serverName}) }}
	}
	if c.add != nil {
		s.args = c.add(c, self)
	}
	if c.edit != nil {
		s.change = func(text []byte) ([]byte, error) { return c.edit(text, c, self) }
	}
	return s
}

// entry returns what the settings of a client contain about the server.
func (c *mcpClient) entry(self string) (string, error) {
	if c.key == "" { // strings and lists of JSON are those of TOML
		return fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = %s\n%s\n", serverName, workflow.FormatJSON(self), workflow.FormatJSON(serves), codexTimeoutLine), nil
	}
	data, err := json.MarshalIndent(map[string]any{c.key: map[string]any{serverName: c.server(self)}}, "", "  ")
	return string(data) + "\n", err
}

const codexTimeoutKey = "tool_timeout_sec"

var codexTimeoutLine = fmt.Sprintf("%s = %d", codexTimeoutKey, int(clientTimeout.Seconds()))

// codexTimeout sets the timeout of our server in codex's settings, which `codex mcp add` has written.
func codexTimeout(text []byte) ([]byte, error) {
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "[mcp_servers."+serverName+"]" })
	if at < 0 {
		return nil, errors.New("codex has not added the server")
	}
	for i := at + 1; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "["); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), codexTimeoutKey) {
			return text, nil
		}
	}
	lines = slices.Insert(lines, at+1, codexTimeoutLine+"\n")
	return []byte(strings.Join(lines, "")), nil
}
