package main

import (
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// rooms is the experiment about the realtime lobby, by the name of its scenarios.
func (p *program) rooms() *cobra.Command {
	cmd := p.prove()
	cmd.Use, cmd.Short, cmd.Args = "rooms", "Measure the realtime lobby: the same as 'prove rooms'", cli.Exactly(0)
	cmd.Long, cmd.Example, cmd.ValidArgsFunction = "", "", nil
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd, []string{"rooms"}) }
	return cmd
}
