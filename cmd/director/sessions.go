package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) sessionsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:     "sessions",
		Short:   "List, show and close sessions",
		Long:    "Commands for sessions. The same in SQL: views ops.sessions, ops.seats and ops.session_lifetimes; ops.close_session closes one.",
		Example: "  director sessions list --region eu-west --mode duel\n  director sessions show eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
	}, p.sessionsList(), p.sessionsShow(), p.sessionsClose())
}

func (p *program) sessionsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open sessions",
		Long:  "Lists open sessions, newest first. Players counts reserved and connected seats, connected only those that the game server has reported.",
		Example: "  director sessions list\n  director sessions list --region eu-west --mode duel\n" +
			"  director sessions list --instance eu-arena-7 -o json",
		Args: cli.Exactly(0),
	}
	var f opsview.SessionFilter
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", regionWords},
		filterFlag{"mode", &f.Mode, "Only this mode", modeWords},
		filterFlag{"instance", &f.Instance, "Only those on this game server", instanceWords})
	limit := addLimit(cmd, "The most sessions to list")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		open, err := opsview.Sessions.Read(ctx, op.store.Pool(), f,
			opsview.Page{Order: opsview.SessionsLatestFirst, Limit: *limit}) // --limit leaves out the oldest
		if err != nil {
			return err
		}
		return writeSessions(op.out, open)
	})
}

func writeSessions(out cli.Output, open []opsview.Session) error {
	header := []string{"session", "mode", "instance", "alive", "players", "connected", "max", "opened"}
	return cli.Write(out.Sparing("connected", "alive", "max", "instance"), open, header, func(s opsview.Session) []any {
		return []any{s.Session, s.Mode, s.Instance, s.InstanceAlive, s.Players, s.Connected, s.MaxPlayers,
			formatAgo(&s.Age)}
	})
}

// sessionDetails is the output of `sessions show`: an open session with its seats, or a closed session.
type sessionDetails struct {
	State  string                   `json:"state"` // open or closed
	Open   *opsview.Session         `json:"open,omitempty"`
	Seats  []opsview.Seat           `json:"seats,omitempty"`
	Closed *opsview.SessionLifetime `json:"closed,omitempty"`
}

func (p *program) sessionsShow() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:               "show SESSION",
		Short:             "Show a session and its seats",
		Long:              "Shows an open session with its seats, or when and why a session of the last 24 hours closed.",
		Example:           "  director sessions show eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(sessionWords)),
	}, byOperator, func(ctx context.Context, op operator, args []string) error {
		s, err := op.readSession(ctx, args[0])
		if err != nil {
			return err
		}
		return writeDetails(op.out, s, sessionDetails.writeText)
	})
}

func (p *program) sessionsClose() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "close SESSION…",
		Short: "Close sessions: their players lose their seats",
		Long: "Closes sessions. Their players lose their seats, the game server's capacity is free again, and an event has your database\n" +
			"role and the reason. The game server learns of it from the answer to its next report of the session. All sessions that can\n" +
			"be closed are closed, even if others fail.",
		Example: "  director sessions close eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10 --reason stuck\n" +
			"  director sessions close $(director sessions list --instance eu-arena-7 -o json | jq -r '.[].session') --reason 'host is broken'",
		Args:              cli.AtLeast(1),
		ValidArgsFunction: p.completeArgs(sessionWords),
	}
	reason := requireReason(cmd, "closed by an operator", "Why, for the event and the history")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, sessions []string) error {
		return op.changeEach("session", sessions, func(id string) (bool, error) {
			// A session that was closed before is a conflict, and not changed = false: its history has another reason.
			err := op.store.As("").CloseSession(ctx, id, *reason)
			return err == nil, err
		})
	})
}

// readSession looks for an open session first, and then in the history of the last day.
func (op operator) readSession(ctx context.Context, id string) (s sessionDetails, err error) {
	// 24 hours, as ops.session_lifetimes has them.
	unknown := fmt.Errorf("there is no session %q, open or closed within the last 24 hours; 'director sessions list' lists the open ones", id)
	// The id names the region, with which the key of sessions begins.
	region, room, err := db.ParseSessionID(id)
	if err != nil {
		return s, unknown // a malformed id has the same answer
	}
	open, err := opsview.Sessions.Read(ctx, op.store.Pool(), opsview.SessionFilter{Region: region, ID: &room},
		opsview.Page{Limit: 1})
	if err != nil {
		return s, err
	}
	if len(open) == 1 {
		s = sessionDetails{State: "open", Open: &open[0]}
		s.Seats, err = opsview.Seats.Read(ctx, op.store.Pool(), opsview.SeatFilter{Region: region, SessionID: &room},
			opsview.Page{Order: opsview.ByReservation})
		return s, err
	}
	// Second: a session that closes between the two readings is found here.
	closed, err := opsview.SessionLifetimes.Read(ctx, op.store.Pool(),
		opsview.LifetimeFilter{Region: region, Session: id},
		opsview.Page{Limit: 1})
	if err != nil {
		return s, err
	}
	if len(closed) == 0 {
		return s, unknown
	}
	return sessionDetails{State: "closed", Closed: &closed[0]}, nil
}

func (s sessionDetails) writeText(out cli.Output) error {
	if c := s.Closed; c != nil {
		header := []string{"session", "mode", "instance", "opened", "closed", "players", "max", "reason"}
		return cli.Write(out.Sparing("opened", "mode", "max", "players", "instance"), []opsview.SessionLifetime{*c},
			header, func(c opsview.SessionLifetime) []any {
				return []any{c.Session, c.Mode, c.Instance, c.OpenedAt, c.ClosedAt, c.Players, c.MaxPlayers, c.Reason}
			})
	}
	// Open, since it is not closed: readSession returns one of the two, or an error.
	if err := writeSessions(out, []opsview.Session{*s.Open}); err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	header := []string{"player", "state", "reserved by", "reserved at", "resolved at", "connected at", "expires at"}
	return cli.Write(out.Sparing("reserved by", "expires at", "resolved at"), s.Seats, header,
		func(t opsview.Seat) []any {
			return []any{t.Player, t.State, t.ReservedBy, t.ReservedAt, t.ResolvedAt, t.ConnectedAt, t.ExpiresAt}
		})
}
