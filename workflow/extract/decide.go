package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Decision is the label that a step chose, and the rule by which it was found.
type Decision struct {
	Matched bool
	Label   string
	Rule    string
	Said    string // the text that was read, for errors
	Loose   bool   // the label is only one word of the text
}

// Decide finds the label that a value names: in a field of a JSON object, otherwise as the whole
// text, its last or its first line, otherwise as the only label in it.
func Decide(labels []string, value any) Decision {
	if said, ok := Field(value, "decision", "route", "category"); ok {
		v := readValue(labels, said)
		v.Rule = "JSON field"
		return v
	}
	return readValue(labels, value)
}

// readValue reads booleans as true or yes and false or no, and everything else as text.
func readValue(labels []string, value any) Decision {
	b, ok := value.(bool)
	if !ok {
		return readText(labels, workflow.FormatText(value))
	}
	words := [2]string{"no", "false"}
	if b {
		words = [2]string{"yes", "true"}
	}
	for _, w := range words {
		if label, ok := sameLabel(labels, w); ok {
			return Decision{Matched: true, Label: label, Rule: "output", Said: w}
		}
	}
	return Decision{Said: words[1]}
}

func readText(labels []string, text string) Decision {
	text = strings.TrimSpace(text)
	tries := []struct{ rule, said string }{
		{"output", text}, {"last line", lastLine(text)}, {"first line", firstLine(text)},
	}
	for _, t := range tries {
		if label, ok := sameLabel(labels, t.said); ok {
			return Decision{Matched: true, Label: label, Rule: t.rule, Said: t.said}
		}
	}
	if label, ok := onlyWord(labels, text); ok {
		return Decision{Matched: true, Label: label, Rule: "only label in the text", Said: label, Loose: true}
	}
	return Decision{Said: text}
}

// Field returns the first of the given fields that a JSON object has. The object may also be JSON
// in a text.
func Field(value any, keys ...string) (any, bool) {
	object, ok := value.(map[string]any)
	if text, isText := value.(string); isText && looksLikeObject(text) {
		parsed, err := workflow.ParseJSON([]byte(text))
		if err == nil {
			object, ok = parsed.(map[string]any)
		}
	}
	if !ok {
		return nil, false
	}
	for _, key := range keys {
		if v, found := object[key]; found {
			return v, true
		}
	}
	return nil, false
}

func looksLikeObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}")
}

func sameLabel(labels []string, said string) (string, bool) {
	if len(said) > 1<<10 {
		return "", false // no label is that long
	}
	want := workflow.BareLabel(said)
	for _, label := range labels {
		if said == label || want != "" && workflow.BareLabel(label) == want {
			return label, true
		}
	}
	return "", false
}

// onlyWord returns the only label that occurs in the text as a whole word.
func onlyWord(labels []string, text string) (string, bool) {
	found := ""
	lower := strings.ToLower(text)
	for _, label := range labels {
		if !hasWord(lower, workflow.BareLabel(label)) {
			continue
		}
		if found != "" {
			return "", false
		}
		found = label
	}
	return found, found != ""
}

func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i += at
		if !wordAt(text, i-1, true) && !wordAt(text, i+len(word), false) {
			return true
		}
		at = i + 1
	}
}

// wordAt reports whether a word continues at a byte of the text: before it if back is set,
// otherwise from it on.
func wordAt(text string, i int, back bool) bool {
	if back && i < 0 || !back && i >= len(text) {
		return false
	}
	var r rune
	if back {
		r, _ = utf8.DecodeLastRuneInString(text[:i+1])
	} else {
		r, _ = utf8.DecodeRuneInString(text[i:])
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
