package expr

// Late writes a text of some dialect in the canonical one and leaves its
// references as their author wrote them: [Resolve] in the canonical dialect finds
// out what they mean. It is for a text that comes to a workflow after its reader.
func Late(text string, d Dialect) string {
	t, err := ParseTemplate(text, d)
	if err != nil {
		return brokenMark + text
	}
	return t.String()
}
