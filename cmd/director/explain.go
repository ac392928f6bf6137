package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/matching/explainer"
)

func (p *program) explainCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "explain",
		Short: "Say why a ticket waits, or why a match was made",
		Long: "Commands that explain the decisions of the director loop. They compute the answer from the database, without the worker that\n" +
			"decides, and lock nothing.\n\n" +
			"The commands need the director's database role, as 'keys rotate' does. Operators without it use /ops/explain.",
		Example: "  director explain ticket d4k0q2v8e5s0c1p6f3a0\n  director explain match 0c3a5c0e-6f5e-4f59-9c57-1d8c7b1c9a10 -o json",
	}, p.explainTicket(), p.explainMatch())
}

// byExplained are the settings of commands that explain.
const byExplained = byProfile | byExplain

// explanation is a document for --output json, which can also be printed as text.
type explanation interface{ Text() string }

func (p *program) explainTicket() *cobra.Command {
	return p.explainWith(&cobra.Command{
		Use:   "ticket ID",
		Short: "Say why a ticket waits for a match",
		Long: "Compares a ticket with the other tickets of the queue, and prints for each of its profiles: whether it is a candidate, and if\n" +
			"not, why; how far each rule has widened; how many others satisfy it in a pair with this ticket; the largest set that the search\n" +
			"found, and what it lacks; the nearest ticket that cannot play with it; which change of a single rule would give a match; and in\n" +
			"which game regions there is a server. For a ticket that has left the queue it prints the outcome, as long as the history has it.\n\n" +
			"It reads at most 200,000 other tickets, and prints a line if there are more.",
		Example: "  director explain ticket d4k0q2v8e5s0c1p6f3a0\n" +
			"  director explain ticket d4k0q2v8e5s0c1p6f3a0 -o json | jq '.profiles[].would_match'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(ticketWords)),
	}, func(ctx context.Context, r *explainer.Reader, id string) (explanation, error) {
		return r.Ticket(ctx, id)
	})
}

func (p *program) explainMatch() *cobra.Command {
	return p.explainWith(&cobra.Command{
		Use:   "match ID",
		Short: "Say why a match was made",
		Long: "Prints the profile and version that made a match, the ticket that the search started with, the value and limit of each rule,\n" +
			"which candidates were passed over and why, the session, and the outcome of each ticket. A match is known during its ready\n" +
			"check, while it plays, and for DIRECTOR_MATCH_HISTORY after its commit. Its id is in the events match.committed, in ops.matches\n" +
			"and in the claim mid of session tokens.",
		Example: "  director explain match 0c3a5c0e-6f5e-4f59-9c57-1d8c7b1c9a10\n" +
			"  director explain match 0c3a5c0e-6f5e-4f59-9c57-1d8c7b1c9a10 -o json | jq '.passed_over'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(wordsOf(opsview.Matches, opsview.MatchFilter{}, "match"))),
	}, func(ctx context.Context, r *explainer.Reader, arg string) (explanation, error) {
		id, err := uuid.Parse(arg)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("%q is no id of a match: it must be a UUID", arg))
		}
		return r.Match(ctx, id)
	})
}

// explainWith completes a command that prints an explanation: as text, or as the document.
func (p *program) explainWith(cmd *cobra.Command,
	explain func(ctx context.Context, r *explainer.Reader, id string) (explanation, error)) *cobra.Command {
	return p.onDatabase(cmd, byExplained, func(ctx context.Context, op operator, args []string) error {
		// The name of the player argument, as the workers have it: with another one, the tickets would have other
		// players.
		answer, err := explain(ctx, explainer.New(explainer.Options{Store: op.store, Universe: op.conf.config.Server.Universe,
			PlayerArg: op.conf.config.Server.PlayerArg}), args[0])
		if err != nil {
			return refusalText(err)
		}
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, answer)
		}
		_, err = fmt.Fprint(op.out.Writer, answer.Text())
		return err
	})
}
