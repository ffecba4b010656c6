package hocket

import "github.com/hocket-dev/hocket/project"

// TextPrompt is a prompt in the files of the project.
type TextPrompt = project.Prompt

// Prompts returns the prompts in .hocket/prompts, by name.
func (p *Project) Prompts() []TextPrompt { return p.now().files.Prompts() }
