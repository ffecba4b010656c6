package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/schema"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) schemaVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a file type",
		Long: `Print the JSON Schema of a file type, for completion and checks in an editor:
` + strings.Join(schema.Names(), ", ") + `.
Without a name, list them.`,
		Example: `  hocket schema
  hocket schema workflow > workflow.schema.json

  # Then add this as the first line of a workflow:
  # yaml-language-server: $schema=workflow.schema.json`,
		Args:      argsBetween(0, 1),
		ValidArgs: schema.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listSchemas()
			}
			text, err := schema.JSON(args[0])
			if err != nil {
				hint := workflow.DidYouMean(args[0], schema.Names())
				if hint == "" {
					hint = "expected one of: " + strings.Join(schema.Names(), ", ")
				}
				return usagef(hint, "unknown schema %q", args[0])
			}
			return a.print(endLine(string(text)))
		},
	}
}

func (a *app) listSchemas() error {
	if a.json {
		return a.printJSON(schema.Names())
	}
	return a.print(strings.Join(schema.Names(), "\n") + "\n")
}
