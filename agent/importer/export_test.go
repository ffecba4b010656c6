package importer

import "github.com/hocket-dev/hocket/agent"

// Tools are the tools of a program by what they do.
func Tools(from string) map[agent.Power][]string { return vocabularies[from].tools }

// Modes are the modes of a program, and ours.
func Modes(from string) map[string]string { return vocabularies[from].modes }
