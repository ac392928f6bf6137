package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// hostedLine is an open session of an instance, with its players.
type hostedLine struct {
	Session    string   `json:"session"`
	Mode       string   `json:"mode"`
	Players    int      `json:"players"`
	Connected  int      `json:"connected"`
	MaxPlayers int      `json:"max_players"`
	Age        float64  `json:"age"` // seconds
	Who        []string `json:"who"`
}

const selectHosted = `SELECT session, mode, players, connected, max_players, extract(epoch FROM age)::float8 AS age,
    ARRAY(SELECT t.player FROM ops.seats t WHERE t.region = s.region AND t.session = s.session ORDER BY t.player) AS who
FROM ops.sessions s WHERE region = $1 AND instance = $2 ORDER BY opened_at, session`

// instanceDetails is the output of `fleet show`.
type instanceDetails struct {
	instanceLine

	Sessions []hostedLine `json:"sessions"`
}

func (p *program) fleetShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show a game server, its sessions and their players",
		Long: "Shows the director's state of a game server: its lease, its modes and capacity, how much of it is reserved, and its open\n" +
			"sessions with their players.",
		Example: "  director fleet show eu-arena-7\n  director fleet show eu-arena-7 -o json | jq -r '.sessions[].who[]'",
		Args:    cli.Exactly(1),
		ValidArgsFunction: p.completeArgs("SELECT instance FROM ops.fleet WHERE starts_with(instance, $1) AND cardinality($2::text[]) = 0 " +
			"ORDER BY instance LIMIT 100"),
	}
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			i, err := l.instance(ctx, args[0])
			if err != nil {
				return err
			}
			if l.out.JSON {
				return cli.WriteJSON(l.out.Writer, i)
			}
			return i.write(l.out)
		})
	}
	return cmd
}

func (l operator) instance(ctx context.Context, id string) (i instanceDetails, err error) {
	found, err := rows[instanceLine](ctx, l.Store, fleetColumns+"WHERE instance = $1", id)
	if err != nil {
		return i, err
	}
	if len(found) == 0 {
		return i, fmt.Errorf("there is no instance %q; 'director fleet list --all' lists all instances", id)
	}
	i.instanceLine = found[0]
	i.Sessions, err = rows[hostedLine](ctx, l.Store, selectHosted, i.Region, id)
	return i, err
}

func (i instanceDetails) write(out cli.Output) error {
	for _, fact := range i.facts() {
		fmt.Fprintf(out.Writer, "%-14s %s\n", fact[0], fact[1])
	}
	if len(i.Sessions) == 0 {
		return nil
	}
	fmt.Fprintln(out.Writer)
	header := []string{"session", "mode", "players", "connected", "max", "opened", "who"}
	return cli.Write(out.Sparing("connected", "mode", "max", "opened", "players"), i.Sessions, header, func(s hostedLine) []any {
		return []any{s.Session, s.Mode, s.Players, s.Connected, s.MaxPlayers, ago(&s.Age), s.Who}
	})
}

// facts returns pairs of name and value, for people.
func (i instanceDetails) facts() [][2]string {
	lease := "expired"
	switch {
	case i.Status == "gone":
		lease = "ended " + readableTime(i.EndedAt)
	case i.Alive:
		lease = "valid"
	}
	if i.LeaseAge != nil {
		lease += ", last heartbeat " + ago(i.LeaseAge)
	}
	reports := "no: unused resolved seats are freed after hours"
	if i.ReportsSeats {
		reports = "yes"
	}
	return [][2]string{
		{"instance", i.Instance},
		{"region", i.Region},
		{"endpoint", i.Endpoint},
		{"status", i.Status},
		{"lease", lease},
		{"modes", strings.Join(i.Modes, ", ")},
		{"version", fmt.Sprint(orBlank(i.Version))},
		{"load", fmt.Sprint(orBlank(i.Load))},
		{"seats", fmt.Sprintf("%d of %d reserved by sessions, %d free", i.ReservedSeats, i.Capacity, i.Available)},
		{"players", fmt.Sprint(i.Players)},
		{"sessions", fmt.Sprintf("%d open%s", i.OpenSessions, i.sessionLimit())},
		{"reports seats", reports},
		{"registered", readableTime(&i.RegisteredAt)},
	}
}

func (i instanceDetails) sessionLimit() string {
	if i.MaxSessions == nil {
		return ""
	}
	return fmt.Sprintf(", of %d at most", *i.MaxSessions)
}
