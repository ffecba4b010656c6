package project

import "github.com/hocket-dev/hocket/internal/strictyaml"

// Codes lists the codes of this package's own diagnostics.
func Codes() []strictyaml.Code {
	return []strictyaml.Code{
		{Name: codeConfig, Meaning: "config.yml has an invalid setting."},
		{Name: codeUser, Meaning: "A project sets something that only a user can set."},
		{Name: codeLink, Meaning: "A file of the project is a symbolic link that leaves it."},
		{Name: CodeGenerated, Meaning: "A definition that a model wrote cannot be used."},
		{Name: codeTrigger, Meaning: "A trigger is invalid."},
		{Name: codeOwnFiles, Meaning: "A trigger watches a file that its own workflow writes."},
		{Name: codeUnknown, Meaning: "A workflow does not exist."},
		{Name: codeAmbiguous, Meaning: "The name of a workflow matches several files."},
		{Name: codePromptFile, Meaning: "The file of a prompt is invalid or cannot be read."},
		{Name: codeChosen, Meaning: "An agent or executor was chosen automatically."},
		{Name: codeTemplate, Meaning: "A task uses a prompt that does not exist."},
		{Name: codeTemplateKeys, Meaning: "The front matter of a prompt is invalid."},
		{Name: codeTemplateVariable, Meaning: "A prompt uses an undefined variable."},
		{Name: codeInputUnknown, Meaning: "A run has an input that its workflow does not declare."},
		{Name: codeInputMissing, Meaning: "A run lacks a required input."},
		{Name: codeInputType, Meaning: "An input of a run has the wrong type."},
	}
}
