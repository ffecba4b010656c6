package activity

import "strings"

// String returns the text as PlantUML shows it.
func (t Text) String() string {
	if t.Literal {
		return t.Raw
	}
	return Unescape(t.Raw)
}

// Written reports whether the author wrote the text, even if it is empty.
func (t Text) Written() bool { return t.Raw != "" || t.Span.From != 0 }

// Escape writes a text so that it can appear on one line, in an activity or in parentheses:
// [Unescape] reverses it, and PlantUML shows the original text. A carriage return always ends a
// line, so it becomes a newline.
func Escape(text string) string {
	if !strings.ContainsAny(text, "\\\n\r\t") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\':
			b.WriteString(`\\`)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				b.WriteString(`\n`)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Unescape replaces the escapes in a text. PlantUML knows \n, \r and \l, which are line breaks,
// \t and \\; every other backslash is literal.
func Unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n', 'r', 'l':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\\':
			b.WriteByte('\\')
		default:
			b.WriteByte('\\')
			b.WriteByte(raw[i])
		}
	}
	return b.String()
}

// SafeNoteLine reports whether PlantUML keeps a line of a note over several lines unchanged. It
// drops comments, executes directives and functions, joins a line that ends in a backslash with
// the next one, draws what is between {{ and }}, and recognizes the end of the note and of the
// diagram.
func SafeNoteLine(line string) bool {
	text := trimSpace(line)
	if text == "" {
		return !strings.ContainsAny(line, "\r\n")
	}
	switch text[0] {
	case '\'', '!':
		return false
	case '/':
		if strings.HasPrefix(text, "/'") {
			return false
		}
	case '@', '\\':
		if strings.HasPrefix(text[1:], "end") || strings.HasPrefix(text[1:], "start") ||
			strings.HasPrefix(text[1:], "pause") || strings.HasPrefix(text[1:], "unpause") {
			return false
		}
	case '{':
		if embedded(text) {
			return false
		}
	case '}':
		if text == "}}" {
			return false
		}
	}
	return !endsNote(text) && !noteEndMistaken(text) && !strings.HasSuffix(line, `\`) &&
		!strings.HasSuffix(text, "'/") && !strings.Contains(line, "'''/") &&
		!strings.ContainsAny(line, "\r\n") && !strings.Contains(line, enDash) && !callsBuiltin(line)
}

// isBuiltin reports whether a function of PlantUML's preprocessor has this name. They are
// executed anywhere in a text.
func isBuiltin(name string) bool {
	switch name {
	case "false", "true", "backslash", "boolval", "breakline", "call_user_func", "chr", "darken", "date",
		"dec2hex", "dirpath", "dollar", "eval", "feature", "filedate", "file_exists", "filename",
		"filename_no_extension", "function_exists", "get_all_stdlib", "get_all_theme", "get_current_theme",
		"get_json_keys", "get_json_key", "get_json_type", "get_stdlib", "get_variable_value", "version",
		"getenv", "hex2dec", "hsl_color", "intval", "invoke_procedure", "is_dark", "is_light", "json_add",
		"json_key_exists", "json_merge", "json_remove", "json_set", "left_align", "lighten", "load_json",
		"and", "nand", "nor", "not", "nxor", "or", "xor", "lower", "mod", "n", "newline", "now", "ord",
		"percent", "random", "retrieve_procedure", "reverse_color", "reverse_hsluv_color", "right_align",
		"set_variable_value", "size", "splitstr", "splitstr_regex", "str2json", "string", "strlen", "strpos",
		"substr", "tab", "upper", "variable_exists", "xargs":
		return true
	}
	return false
}

func callsBuiltin(line string) bool {
	for {
		at := strings.IndexByte(line, '%')
		if at < 0 {
			return false
		}
		line = line[at+1:]
		end := 0
		for end < len(line) && isWord(line[end]) {
			end++
		}
		if end < len(line) && line[end] == '(' && isBuiltin(line[:end]) {
			return true
		}
	}
}
