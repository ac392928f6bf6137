package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// hostedSession is an open session of an instance, with its players.
type hostedSession struct {
	Session    string   `json:"session"`
	Mode       string   `json:"mode"`
	Players    int32    `json:"players"`
	Connected  int64    `json:"connected"`
	MaxPlayers int32    `json:"max_players"`
	Age        float64  `json:"age"` // seconds
	Who        []string `json:"who"`
}

// instanceDetails is the output of `fleet show`.
type instanceDetails struct {
	opsview.Instance

	Sessions []hostedSession `json:"sessions"`
}

func (p *program) fleetShow() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "show INSTANCE",
		Short: "Show a game server, its sessions and their players",
		Long: "Shows the director's state of a game server: its lease, its modes and capacity, how much of it is reserved, and its open\n" +
			"sessions with their players.",
		Example:           "  director fleet show eu-arena-7\n  director fleet show eu-arena-7 -o json | jq -r '.sessions[].who[]'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(wordsOf(opsview.Fleet, opsview.FleetFilter{}, "instance"))),
	}, byOperator, func(ctx context.Context, op operator, args []string) error {
		i, err := op.readInstance(ctx, args[0])
		if err != nil {
			return err
		}
		return writeDetails(op.out, i, instanceDetails.writeText)
	})
}

// readInstance reads a game server, also one that has ended, with its open sessions and their players.
func (op operator) readInstance(ctx context.Context, id string) (i instanceDetails, err error) {
	i.Instance, err = opsview.ReadInstance(ctx, op.store.Pool(), id)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, fmt.Errorf("there is no instance %q; 'director fleet list --all' lists all instances", id)
	}
	if err != nil {
		return i, err
	}
	// The filters name the region, with which the primary keys of sessions and seats begin.
	hosted := opsview.SessionFilter{Region: i.Region, Instance: id}
	open, err := opsview.Sessions.Read(ctx, op.store.Pool(), hosted, opsview.Page{Order: opsview.SessionsOldestFirst})
	if err != nil {
		return i, err
	}
	// Not in one snapshot with the sessions: a session that has just opened may show nobody.
	seats, err := opsview.Seats.Read(ctx, op.store.Pool(), opsview.SeatFilter{Region: i.Region, Instance: id},
		opsview.Page{})
	if err != nil {
		return i, err
	}
	players := map[string][]string{}
	for _, s := range seats {
		players[s.Session] = append(players[s.Session], s.Player)
	}
	i.Sessions = make([]hostedSession, len(open))
	for n, s := range open {
		who := append([]string{}, players[s.Session]...) // [] and not null, for scripts
		i.Sessions[n] = hostedSession{s.Session, s.Mode, s.Players, s.Connected, s.MaxPlayers, s.Age, who}
	}
	return i, nil
}

func (i instanceDetails) writeText(out cli.Output) error {
	writeFacts(out, i.factPairs())
	if len(i.Sessions) == 0 {
		return nil
	}
	fmt.Fprintln(out.Writer)
	header := []string{"session", "mode", "players", "connected", "max", "opened", "who"}
	return cli.Write(out.Sparing("connected", "mode", "max", "opened", "players"), i.Sessions, header,
		func(s hostedSession) []any {
			return []any{s.Session, s.Mode, s.Players, s.Connected, s.MaxPlayers, formatAgo(&s.Age), s.Who}
		})
}

// factPairs returns pairs of name and value, for people.
func (i instanceDetails) factPairs() [][2]string {
	lease := "expired"
	switch {
	// Checked first: a server that has ended has no lease, whatever its row says.
	case i.Status == "gone":
		lease = "ended " + readableTime(i.EndedAt)
	case i.Alive:
		lease = "valid"
	}
	if i.LeaseAge != nil {
		lease += ", last heartbeat " + formatAgo(i.LeaseAge)
	}
	reports := "no: unused resolved seats are freed after hours" // by DIRECTOR_UNREPORTED_SEAT_TTL
	if i.ReportsSeats {
		reports = "yes"
	}
	return [][2]string{
		{"instance", i.Instance.Instance},
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

// sessionLimit is "" without a limit: the seats are then the only bound.
func (i instanceDetails) sessionLimit() string {
	if i.MaxSessions == nil {
		return ""
	}
	return fmt.Sprintf(", of %d at most", *i.MaxSessions)
}
