package project

import "github.com/hocket-dev/hocket/internal/strictyaml"

// Codes lists the codes of this package's own diagnostics.
func Codes() []strictyaml.Code {
	return []strictyaml.Code{
		{Name: codeConfig, Meaning: "config.yml says something that cannot be."},
		{Name: codeUser, Meaning: "A project sets what only a user may set."},
		{Name: codeLink, Meaning: "A file of the project leads out of it."},
		{Name: codeUnknown, Meaning: "A workflow does not exist."},
		{Name: codeAmbiguous, Meaning: "A name stands for several files."},
		{Name: codePromptFile, Meaning: "The file of a prompt cannot be used."},
		{Name: codeChosen, Meaning: "An agent was chosen where none is named."},
		{Name: codeTemplate, Meaning: "A task names a prompt that does not exist."},
		{Name: codeTemplateKeys, Meaning: "The keys in front of a prompt say something that they cannot."},
		{Name: codeTemplateVariable, Meaning: "A prompt uses a variable that nothing gives."},
		{Name: codeInputUnknown, Meaning: "A run is given an input that its workflow does not declare."},
		{Name: codeInputMissing, Meaning: "A run is not given an input that it needs."},
		{Name: codeInputType, Meaning: "A run is given an input of the wrong type."},
	}
}
