package xmltext

import "strings"

// FirstName returns the name of the element with which a text begins, as written, after
// declarations and comments; "" if it does not begin with one.
func FirstName(text string) string {
	rest := strings.TrimLeft(text, Layout+"\uFEFF")
	for strings.HasPrefix(rest, "<?") || strings.HasPrefix(rest, "<!") {
		closing := ">"
		if strings.HasPrefix(rest, "<!--") {
			closing = "-->"
		}
		_, after, _ := strings.Cut(rest, closing)
		rest = strings.TrimLeft(after, Layout+"]>") // of a document type with declarations
	}
	name, ok := strings.CutPrefix(rest, "<")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(name, Layout+"/>"); i >= 0 {
		name = name[:i]
	}
	return name
}
