package importer

import "github.com/hocket-dev/hocket/agent"

// Tools returns the tools of a program by what they do.
func Tools(from string) map[agent.Power][]string { return vocabularies[from].tools }

// Modes returns the modes of a program and their equivalents.
func Modes(from string) map[string]string { return vocabularies[from].modes }
