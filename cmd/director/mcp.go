package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/assistant"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/matching/explainer"
)

func (p *program) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an AI assistant read the installation",
		Long: "Answers an AI assistant by the Model Context Protocol over standard input and output; the assistant starts the command. It has\n" +
			"five tools: doctor, waiting_tickets, explain_ticket, capacity and events. All of them read; an answer has at most 48 KiB. They\n" +
			"show what the console shows, with the ids of players: give an assistant no more than you give its provider.\n\n" +
			"The commands need the database role of 'director doctor'; explain_ticket needs the director's own.",
		Example: "  claude mcp add director -- director mcp\n" +
			"  echo '{\"mcpServers\": {\"director\": {\"command\": \"director\", \"args\": [\"mcp\"]}}}' > .mcp.json",
		Args: cli.Exactly(0),
	}
	// Without --output: what is on stdout is the protocol.
	addFlags(cmd.Flags(), byExplained|byDoctor)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// One store for as long as the assistant lives: it calls a tool now and then, and a connection of each call
		// would cost more.
		return p.withStore(cmd, byExplained|byDoctor, func(ctx context.Context, op operator) error {
			checks := op.conf.config.doctorOptions()
			checks.Store = op.store
			return assistant.Serve(ctx, assistant.Options{
				Store: op.store, Doctor: checks, Universe: op.conf.config.Server.Universe, Version: buildVersion().Version,
				Explain: explainer.New(explainer.Options{Store: op.store, Universe: op.conf.config.Server.Universe,
					PlayerArg: op.conf.config.Server.PlayerArg}),
				ErrorText: func(err error) error { return explainDatabaseError(refusalText(err)) },
			}, io.NopCloser(p.stdin), unclosed{p.stdout}) // only the protocol is on stdout; the log is on stderr
		})
	}
	return cmd
}

// unclosed is an output that stays open, for the rest of the program.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
