package expr

// Late converts a text from a dialect to the canonical one, but leaves its references as their
// author wrote them: [Resolve] in the canonical dialect resolves them. It is for texts that are
// added to a workflow after parsing.
func Late(text string, d Dialect) string {
	t, err := ParseTemplate(text, d)
	if err != nil {
		return brokenMark + text
	}
	return t.String()
}
