package engine

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// verdict is what was read from a decision: the label, and by which rule.
type verdict struct {
	matched bool
	label   string
	rule    string
	said    string // what was read, for the error
	loose   bool   // the label is only a word in what was read
}

// decision reads the decision of an instance that ended well from what it said.
func (in *inst) decision(said any) (verdict, error) {
	if in.n.on == nil {
		return readDecision(in.n.place.Decide, said), nil
	}
	value, err := in.n.on.Eval(in.behind())
	if err != nil {
		return verdict{}, err
	}
	v := readDecision(in.n.place.Decide, value)
	v.rule = strings.Replace(v.rule, "output", "condition", 1)
	return v, nil
}

// readDecision finds the label that a value names, as semantics §1 says.
func readDecision(labels []string, value any) verdict {
	if said, ok := field(value, "decision", "route", "category"); ok {
		v := readValue(labels, said)
		v.rule = "JSON field"
		return v
	}
	return readValue(labels, value)
}

// readValue reads true and false as yes and no too, everything else as text.
func readValue(labels []string, value any) verdict {
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
			return verdict{matched: true, label: label, rule: "output", said: w}
		}
	}
	return verdict{said: words[1]}
}

func readText(labels []string, text string) verdict {
	text = strings.TrimSpace(text)
	tries := []struct{ rule, said string }{
		{"output", text}, {"last line", lastLine(text)}, {"first line", firstLine(text)},
	}
	for _, t := range tries {
		if label, ok := sameLabel(labels, t.said); ok {
			return verdict{matched: true, label: label, rule: t.rule, said: t.said}
		}
	}
	if label, ok := onlyWord(labels, text); ok {
		return verdict{matched: true, label: label, rule: "only label in the text", said: label, loose: true}
	}
	return verdict{said: text}
}

// field is the first of some fields that a JSON object has, also one that is still
// text.
func field(value any, keys ...string) (any, bool) {
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

// onlyWord is the only label that occurs in the text as a whole word.
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

// wordAt says whether the text goes on as a word at a byte: before it, where
// back is set, else from it.
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

// brief is a quoted text, cut where it would flood an error.
func brief(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return "“" + s + "”"
}
