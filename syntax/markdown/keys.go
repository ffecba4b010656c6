package markdown

import "strings"

// entry is a key of a map in YAML with all of its lines, and the comments above
// it.
type entry struct{ key, lines string }

// aliases are the names of this notation for words of YAML.
var aliases = map[string]string{"input": "inputs", "onTimeout": "on_timeout", "allowCustomInput": "custom"}

// splitKeys cuts YAML at the keys of its outermost map.
func splitKeys(text string) []entry {
	var list []entry
	above := ""
	for line := range strings.Lines(text) {
		switch first := line[0]; {
		case first == '#':
			above += line
		case first == ' ' || first == '\t' || first == '-' || first == '\n' || first == '\r' || first == '}' || first == ']':
			if len(list) > 0 && above == "" {
				list[len(list)-1].lines += line
			} else {
				above += line
			}
		default:
			key, _, _ := strings.Cut(line, ":")
			key = strings.Trim(key, `"' `)
			if other := aliases[key]; other != "" {
				key = other
			}
			list = append(list, entry{key, above + line})
			above = ""
		}
	}
	if above != "" {
		if len(list) == 0 {
			return []entry{{"", above}}
		}
		list[len(list)-1].lines += above
	}
	return list
}

// mergeKeys changes a map in YAML as another one has changed from before to
// after. Keys that came out the same in both stay as they are, and so do those
// that neither has.
func mergeKeys(was, before, after string) string {
	mine, old, wanted := splitKeys(was), splitKeys(before), splitKeys(after)
	var b strings.Builder
	for _, e := range mine {
		o, inOld := find(old, e.key)
		n, inNew := find(wanted, e.key)
		switch {
		case o == n && inOld == inNew:
			b.WriteString(e.lines)
		case inNew:
			b.WriteString(n)
		}
	}
	for _, e := range wanted {
		_, inMine := find(mine, e.key)
		o, inOld := find(old, e.key)
		if !inMine && (!inOld || o != e.lines) {
			if text := b.String(); text != "" && !strings.HasSuffix(text, "\n") {
				b.WriteByte('\n')
			}
			b.WriteString(e.lines)
		}
	}
	return b.String()
}

func find(list []entry, key string) (lines string, ok bool) {
	for _, e := range list {
		if e.key == key {
			return e.lines, true
		}
	}
	return "", false
}
