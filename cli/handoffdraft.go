package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
)

func (a *app) handoffDraftVerb() *cobra.Command {
	var agent, file, replies string
	cmd := &cobra.Command{
		Use:   "draft TOPIC [FLAGS]",
		Short: "Have an agent write a handoff",
		Long: `Have an agent write a handoff about a topic. The answer is checked and repaired. If it
is invalid, the agent gets one chance to correct it. The handoff is printed, or written
to a new file, for you to review; it is never sent. Use - to read the topic from standard
input. Each question to the agent is a run.`,
		Example: `  hocket handoff draft "Validate Grafana"
  hocket handoff draft "Find out why the build is slow" --agent claude -o build.md`,
		Args: argsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.draftHandoff(cmd.Context(), args[0], agent, file, replies)
		},
	}
	cmd.Flags().StringVarP(&agent, "agent", "a", "", "the `NAME` of the agent that writes it")
	complete(cmd, "agent", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeAgent(cmd, nil, typed)
	})
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	cmd.Flags().StringVar(&replies, "replies", "", "read the agent's answers from a YAML `FILE`, under the keys draft and correct")
	return cmd
}

func (a *app) draftHandoff(ctx context.Context, topic, agent, file, repliesFile string) error {
	topic, err := a.promptText("topic", topic, `hocket handoff draft "Validate Grafana"`)
	if err != nil {
		return err
	}
	replies, err := a.readReplies(repliesFile)
	if err != nil {
		return err
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	text, found, err := handoff.Draft(ctx, p, handoff.DraftOptions{Topic: topic, Agent: agent, Replies: replies, Began: func(run *hocket.Run) {
		a.note("run " + run.ID() + "\n")
		for _, note := range run.Notes {
			a.note(note + "\n")
		}
	}})
	if err != nil {
		return err
	}
	a.note(a.showDiagnostics(found, a.errStyle))
	return a.putNew(string(text), file)
}
