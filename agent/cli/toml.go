package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// formatTOML writes a value in one line of TOML, for options such as `-c
// mcp_servers.x={command="y"}`. TOML has no null, so nulls are left out of tables and
// lists.
func formatTOML(v any) string {
	switch v := v.(type) {
	case nil:
		return `""`
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		return quoteTOML(v)
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			if item != nil {
				parts = append(parts, formatTOML(item))
			}
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any, pairs:
		var parts []string
		for _, p := range pairsOf(v) {
			if p.value != nil {
				parts = append(parts, quoteTOML(p.key)+" = "+formatTOML(p.value))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return quoteTOML(fmt.Sprint(v))
	}
}

// quoteTOML writes a basic string. TOML requires escapes for all control characters,
// including DEL.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
