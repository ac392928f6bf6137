package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) evacuationsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:     "evacuations",
		Short:   "List the evacuations, and show who went where",
		Long:    "Reports of 'director evacuate'. They are kept for a week. The same in SQL: views ops.evacuations and ops.evacuated_players.",
		Example: "  director evacuations list\n  director evacuations show 7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
	}, p.evacuationsList(), p.evacuationsShow())
}

func (p *program) evacuationsList() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List the evacuations of the last week",
		Long:    "Lists the evacuations, the latest first, with what became of the players.",
		Example: "  director evacuations list\n  director evacuations list -o json | jq -r '.[] | select(.state == \"running\") | .evacuation'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Evacuations, opsview.EvacuationFilter{},
			opsview.Page{}, table[opsview.Evacuation]{
				titles: []string{
					"evacuation", "target", "value", "state", "servers", "players", "waiting", "queued", "seated",
					"nothing", "begun at", "actor", "reason",
				},
				spareTitles: []string{"reason", "actor", "servers"},
				rowCells: func(e opsview.Evacuation) []any {
					return []any{
						e.ID, e.Target, e.Value, e.State, e.Servers, e.Players, e.Waiting, e.Queued, e.Seated,
						e.Nothing, readableTime(&e.BegunAt), e.Actor, e.Reason,
					}
				},
			})
	})
}

// evacuationReport is the output of 'evacuations show'.
type evacuationReport struct {
	opsview.Evacuation

	Movements []opsview.EvacuatedPlayer `json:"movements"`
}

func (p *program) evacuationsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show EVACUATION",
		Short: "Show an evacuation: who went where",
		Long: "Shows an evacuation, and for each player from which game server it was taken, and its next ticket or session, or why it has none:\n" +
			"no_history (nothing is known of the ticket, since the history is off or hashed), refused (the ticket cannot be made again, or the\n" +
			"player holds too many seats), no_region (its region goes or has moved, and --seats-in names no other), no_capacity, party_conflict,\n" +
			"not_asked (without --requeue); queued_already and seated_already say that the player was faster.",
		Example: "  director evacuations show 7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10 --outcome nothing\n" +
			"  director evacuations show 7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10 --limit 100000 -o json | jq -r '.movements[] | [.player, .next_ticket] | @tsv'",
		Args: cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(wordsOf(opsview.Evacuations, opsview.EvacuationFilter{},
			"evacuation"))),
	}
	f := opsview.EvacuatedPlayerFilter{Evacuation: parseFirst(cmd, parseEvacuationID)}
	addChoice(cmd, &f.Outcome, "outcome", "Only players with this outcome: waiting, queued, seated or nothing",
		"waiting", "queued", "seated", "nothing")
	cmd.Flags().StringVar(&f.Player, "player", "", "Only this player")
	limit := addLimit(cmd, "The most players to show")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		report, err := op.readEvacuation(ctx, f, *limit)
		if err != nil {
			return err
		}
		return writeDetails(op.out, report, writeEvacuationReport)
	})
}

// parseEvacuationID returns a usage error for what is no UUID: it is mistyped, whatever the database has.
func parseEvacuationID(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return id, cli.Usage(fmt.Errorf("%q is no evacuation: 'director evacuations list' lists them", arg))
	}
	return id, nil
}

// readEvacuation reads an evacuation, and up to limit of its players.
func (op operator) readEvacuation(ctx context.Context, f opsview.EvacuatedPlayerFilter,
	limit int) (r evacuationReport, err error) {
	r.Evacuation, err = opsview.Evacuations.One(ctx, op.store.Pool(), opsview.EvacuationFilter{ID: f.Evacuation})
	// The evacuation may have existed: reports are kept for a week.
	if errors.Is(err, opsview.ErrNoRow) {
		return r, fmt.Errorf("there is no evacuation %s; 'director evacuations list' lists them", f.Evacuation)
	}
	if err != nil {
		return r, err
	}
	// Not in one snapshot with the counts, which may be older while the evacuation runs.
	r.Movements, err = opsview.EvacuatedPlayers.Read(ctx, op.store.Pool(), f, opsview.Page{Limit: limit})
	return r, err
}

func writeEvacuationReport(r evacuationReport, out cli.Output) error {
	// Without players there is no table: the counts of the evacuation say so.
	if err := writeEvacuation(r.Evacuation, out); err != nil || len(r.Movements) == 0 {
		return err
	}
	fmt.Fprintln(out.Writer)
	header := []string{"player", "from", "session", "outcome", "why", "waited", "next ticket", "next session"}
	return cli.Write(out.Sparing("session", "waited"), r.Movements, header, func(m opsview.EvacuatedPlayer) []any {
		return []any{m.Player, m.Instance, m.Session, m.Outcome, m.Why, waitedText(m.Waited), orBlank(m.NextTicket),
			orBlank(m.NextSession)}
	})
}

// waitedText is how long a player waited, in whole seconds; "" for nil: the player did not wait.
func waitedText(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return briefDuration(d.Round(time.Second))
}

func writeEvacuation(e opsview.Evacuation, out cli.Output) error {
	lines := [][2]any{
		{"evacuation", e.ID}, {"state", e.State}, {e.Target, e.Value}, {"region", e.Region}, {"requeue", e.Requeue},
		{"dead", e.Dead}, {"seats in", e.SeatsIn}, {"game servers", e.Servers}, {"with sessions", e.ServersLeft},
		{"ended", e.ServersEnded}, {"players", e.Players}, {"waiting", e.Waiting}, {"queued", e.Queued},
		{"seated", e.Seated}, {"nothing", e.Nothing}, {"begun at", readableTime(&e.BegunAt)},
		{"took", e.Took.Round(time.Millisecond)}, {"actor", e.Actor}, {"reason", e.Reason},
	}
	return writeFields(out, lines)
}
