package cli

import (
	"strings"
	"testing"
)

func TestJSONC(t *testing.T) {
	server := map[string]any{"command": "/bin/hocket"}
	path := []string{"mcpServers", "hocket"}
	for name, c := range map[string]struct{ before, after string }{
		"nothing": {"", "{\n  \"mcpServers\": {\n    \"hocket\": {\n      \"command\": \"/bin/hocket\"\n    }\n  }\n}\n"},
		"others and comments": {
			"{\n  // mine\n  \"mcpServers\": {\n    \"notes\": {\"command\": \"n\"}, // keep, {\n  },\n}\n",
			"{\n  // mine\n  \"mcpServers\": {\n    \"hocket\": {\n      \"command\": \"/bin/hocket\"\n    },\n    \"notes\": {\"command\": \"n\"}, // keep, {\n  },\n}\n",
		},
		"replaced": {
			"{\"mcpServers\": {\"a\": 1, \"hocket\": {\"x\": [1, \"}\"]} /* c */, \"b\": 2}}",
			"{\"mcpServers\": {\"a\": 1, \"hocket\": {\n      \"command\": \"/bin/hocket\"\n    } /* c */, \"b\": 2}}",
		},
		"comment before": {
			"{\"mcpServers\": {\n  \"a\": 1, // keep, \" {\n  \"hocket\": 2 }}",
			"{\"mcpServers\": {\n  \"a\": 1, // keep, \" {\n  \"hocket\": {\n      \"command\": \"/bin/hocket\"\n    } }}",
		},
		"other keys": {
			"{\"theme\": \"dark\"}",
			"{\n  \"mcpServers\": {\n    \"hocket\": {\n      \"command\": \"/bin/hocket\"\n    }\n  },\"theme\": \"dark\"}",
		},
	} {
		got, err := setJSONC([]byte(c.before), path, server)
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
		again, err := setJSONC(got, path, server)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: not the same the second time: %v\n%s", name, err, again)
		}
		removed, err := removeJSONC(got, path)
		if err != nil || strings.Contains(string(removed), "/bin/hocket") || strings.Contains(c.before, "keep") != strings.Contains(string(removed), "keep") {
			t.Errorf("%s: %v\n%s", name, err, removed)
		}
		if once, err := setJSONC(removed, path, server); err != nil {
			t.Errorf("%s: %v\n%s", name, err, once)
		}
	}
	for _, wrong := range []string{"[]", "{", "{\"a\"", "{\"a\": }", "{\"mcpServers\": 1}", "{} x", "{\"a\": \"", "{a: 1}"} {
		if got, err := setJSONC([]byte(wrong), path, server); err == nil {
			t.Errorf("%s became %s", wrong, got)
		}
	}
}
