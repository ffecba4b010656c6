package activity

// KnownColour reports whether every version of PlantUML knows a colour, written
// without its #.
func KnownColour(name string) bool { return simpleColour(name) }
