package project

// Codes are the codes of this package's own diagnostics.
var Codes = []string{
	codeConfig,
	codeUser,
	codeLink,
	CodeGenerated,
	codeTrigger,
	codeOwnFiles,
	codeUnknown,
	codeAmbiguous,
	codePromptFile,
	codeChosen,
	codeTemplate,
	codeTemplateKeys,
	codeTemplateVariable,
	codeInputUnknown,
	codeInputMissing,
	codeInputType,
}
