package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) sessions() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:     "sessions",
		Short:   "List, show and close sessions",
		Long:    "Commands for sessions. The same in SQL: views ops.sessions, ops.seats and ops.session_lifetimes; ops.close_session closes one.",
		Example: "  director sessions list --region eu-west --mode duel\n  director sessions show eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
	}, p.sessionsList(), p.sessionsShow(), p.sessionsClose())
}

// sessionLine is a row of ops.sessions.
type sessionLine struct {
	Region        string    `json:"region"`
	Session       string    `json:"session"`
	Mode          string    `json:"mode"`
	Instance      string    `json:"instance"`
	InstanceAlive bool      `json:"instance_alive"`
	Players       int       `json:"players"`
	Connected     int       `json:"connected"`
	MaxPlayers    int       `json:"max_players"`
	OpenedAt      time.Time `json:"opened_at"`
	Age           float64   `json:"age"` // seconds
}

const sessionColumns = `SELECT region, session, mode, instance, instance_alive, players, connected, max_players, opened_at,
    extract(epoch FROM age)::float8 AS age FROM ops.sessions `

func (p *program) sessionsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open sessions",
		Long:  "Lists open sessions, newest first. Players counts reserved and connected seats, connected only those that the game server has reported.",
		Example: "  director sessions list\n  director sessions list --region eu-west --mode duel\n" +
			"  director sessions list --instance eu-arena-7 -o json",
		Args: cli.Exactly(0),
	}
	region := cmd.Flags().String("region", "", "Only this region")
	mode := cmd.Flags().String("mode", "", "Only this mode")
	instance := cmd.Flags().String("instance", "", "Only those on this game server")
	p.completeFlag(cmd, "region", regionWords)
	p.completeFlag(cmd, "mode", modeWords)
	p.completeFlag(cmd, "instance", instanceWords)
	limit := cmd.Flags().Int("limit", 1000, "The most sessions to list")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 {
			return cli.Usage(fmt.Errorf("--limit %d is not allowed: it must be 1 or more", *limit))
		}
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			open, err := rows[sessionLine](ctx, l.Store, sessionColumns+`WHERE ($1 = '' OR region = $1) AND ($2 = '' OR mode = $2)
				AND ($3 = '' OR instance = $3) ORDER BY opened_at DESC, session LIMIT $4`, *region, *mode, *instance, *limit)
			if err != nil {
				return err
			}
			return writeSessions(l.out, open)
		})
	}
	return cmd
}

func writeSessions(out cli.Output, open []sessionLine) error {
	header := []string{"session", "mode", "instance", "alive", "players", "connected", "max", "opened"}
	return cli.Write(out.Sparing("connected", "alive", "max", "instance"), open, header, func(s sessionLine) []any {
		return []any{s.Session, s.Mode, s.Instance, s.InstanceAlive, s.Players, s.Connected, s.MaxPlayers, ago(&s.Age)}
	})
}

// seatLine is a row of ops.seats.
type seatLine struct {
	Player      string     `json:"player"`
	State       string     `json:"state"`
	Party       string     `json:"party"`
	ReservedBy  string     `json:"reserved_by"`
	ReservedAt  time.Time  `json:"reserved_at"`
	ResolvedAt  *time.Time `json:"resolved_at"`
	ConnectedAt *time.Time `json:"connected_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
}

const selectSeats = `SELECT player, state, party::text AS party, reserved_by, reserved_at, resolved_at, connected_at, expires_at
FROM ops.seats WHERE region = split_part($1, '.', 1) AND session = $1 ORDER BY reserved_at, player`

// closedLine is a row of ops.session_lifetimes.
type closedLine struct {
	Region     string    `json:"region"`
	Session    string    `json:"session"`
	Mode       string    `json:"mode"`
	Instance   string    `json:"instance"`
	OpenedAt   time.Time `json:"opened_at"`
	ClosedAt   time.Time `json:"closed_at"`
	Players    int       `json:"players"`
	MaxPlayers int       `json:"max_players"`
	Reason     string    `json:"reason"`
}

const selectClosed = `SELECT region, session, mode, instance, opened_at, closed_at, players, max_players, reason
FROM ops.session_lifetimes WHERE region = split_part($1, '.', 1) AND session = $1`

// sessionDetails is the output of `sessions show`: an open session with its seats, or a closed session.
type sessionDetails struct {
	State  string       `json:"state"` // open or closed
	Open   *sessionLine `json:"open,omitempty"`
	Seats  []seatLine   `json:"seats,omitempty"`
	Closed *closedLine  `json:"closed,omitempty"`
}

func (p *program) sessionsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show SESSION",
		Short:             "Show a session and its seats",
		Long:              "Shows an open session with its seats, or when and why a session of the last 24 hours closed.",
		Example:           "  director sessions show eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs("SELECT session FROM ops.sessions WHERE starts_with(session, $1) AND cardinality($2::text[]) = 0 ORDER BY opened_at DESC LIMIT 100"),
	}
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			s, err := l.show(ctx, args[0])
			if err != nil {
				return err
			}
			if l.out.JSON {
				return cli.WriteJSON(l.out.Writer, s)
			}
			return s.write(l.out)
		})
	}
	return cmd
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
		Args: cli.AtLeast(1),
		ValidArgsFunction: p.completeArgs("SELECT session FROM ops.sessions WHERE starts_with(session, $1) AND NOT session = ANY ($2)" +
			" ORDER BY opened_at DESC LIMIT 100"),
	}
	reason := cmd.Flags().String("reason", "closed by an operator", "Why, for the event and the history")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, sessions []string) error {
		if strings.TrimSpace(*reason) == "" {
			return cli.Usage(errors.New("--reason is not allowed to be empty: say why the sessions are closed"))
		}
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			return l.changeEach("session", sessions, func(id string) (bool, error) {
				_, err := l.Pool().Exec(ctx, "SELECT ops.close_session($1, $2)", id, *reason)
				return err == nil, err
			})
		})
	}
	return cmd
}

func (l operator) show(ctx context.Context, id string) (s sessionDetails, err error) {
	open, err := rows[sessionLine](ctx, l.Store, sessionColumns+`WHERE region = split_part($1, '.', 1) AND session = $1`, id)
	if err != nil {
		return s, err
	}
	if len(open) == 1 {
		s = sessionDetails{State: "open", Open: &open[0]}
		s.Seats, err = rows[seatLine](ctx, l.Store, selectSeats, id)
		return s, err
	}
	closed, err := rows[closedLine](ctx, l.Store, selectClosed, id)
	if err != nil {
		return s, err
	}
	if len(closed) == 0 {
		return s, fmt.Errorf("there is no session %q, open or closed within the last 24 hours; 'director sessions list' lists the open ones", id)
	}
	return sessionDetails{State: "closed", Closed: &closed[0]}, nil
}

func (s sessionDetails) write(out cli.Output) error {
	if c := s.Closed; c != nil {
		header := []string{"session", "mode", "instance", "opened", "closed", "players", "max", "reason"}
		return cli.Write(out.Sparing("opened", "mode", "max", "players", "instance"), []closedLine{*c}, header, func(c closedLine) []any {
			return []any{c.Session, c.Mode, c.Instance, c.OpenedAt, c.ClosedAt, c.Players, c.MaxPlayers, c.Reason}
		})
	}
	if err := writeSessions(out, []sessionLine{*s.Open}); err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	header := []string{"player", "state", "reserved by", "reserved at", "resolved at", "connected at", "expires at"}
	return cli.Write(out.Sparing("reserved by", "expires at", "resolved at"), s.Seats, header, func(t seatLine) []any {
		return []any{t.Player, t.State, t.ReservedBy, t.ReservedAt, t.ResolvedAt, t.ConnectedAt, t.ExpiresAt}
	})
}
