package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/instant"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) atCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "at TIME fleet|sessions|seats|keys",
		Short: "Show what was true at a time: game servers, sessions, seats, keys",
		Long: "Shows the game servers that had not ended at a time, the sessions that were open, the seats that were taken, or the signing keys\n" +
			"as they were. TIME is 2026-11-27T21:03:07Z, with any offset; 2026-11-27 21:03:07 in UTC; 21:03:07, the last one in UTC; or how\n" +
			"long ago, as 10m. A time before history begins is refused with the oldest one that is known.\n\n" +
			"Not known are heartbeats and load, tickets, and parties and rooms of the lobby. Players who were erased are shown by their key.\n" +
			"In SQL: ops.at, ops.fleet_at, ops.sessions_at, ops.seats_at, ops.keys_at, and the view ops.history_starts.",
		Example: "  director at 21:03:07 fleet\n  director at 2026-11-27T21:03:07+01:00 seats --region eu-west -o json\n  director at 90m keys",
		Args:    cli.Exactly(2),
		// The first argument is a time, for which there is nothing to offer.
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 1 {
				return []string{"fleet", "sessions", "seats", "keys"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	region := cmd.Flags().String("region", "", "Only this region")
	limit := addLimit(cmd, "The most rows to show, up to 1000000")
	at := parseFirst(cmd, func(text string) (time.Time, error) {
		// By this machine's clock, which matters only for a TIME without a date, and for how long ago.
		at, err := instant.Parse(text, time.Now())
		if err != nil {
			err = cli.Usage(err)
		}
		return at, err
	})
	checkFirst(cmd, func(args []string) error {
		if pastWriters[args[1]] == nil {
			return cli.Usage(fmt.Errorf("%q is not known: it must be fleet, sessions, seats or keys", args[1]))
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		return pastWriters[args[1]](ctx, op, db.AsOf{Moment: *at, Region: *region, Limit: min(*limit, 1_000_000)})
	})
}

// pastWriter prints the rows that were true at a time.
type pastWriter func(ctx context.Context, op operator, a db.AsOf) error

// pastWriters has the writer of each value of the second argument of `at`.
var pastWriters = map[string]pastWriter{
	"fleet": pastOf((*db.Store).FleetAt, table[db.InstanceAt]{
		titles: []string{"region", "instance", "status", "sessions", "players", "reserved", "capacity", "modes",
			"version", "endpoint", "since"},
		spareTitles: []string{"endpoint", "version", "since"},
		rowCells: func(i db.InstanceAt) []any {
			return []any{i.Region, i.Instance, i.Status, i.Sessions, i.Players, i.ReservedSeats, i.Capacity, i.Modes,
				i.Version, i.Endpoint, i.Since}
		},
	}),
	"sessions": pastOf((*db.Store).SessionsAt, table[db.SessionAt]{
		titles:      []string{"session", "mode", "instance", "players", "connected", "max", "opened at", "closed at"},
		spareTitles: []string{"connected", "closed at"},
		rowCells: func(s db.SessionAt) []any {
			return []any{s.Session, s.Mode, s.Instance, s.Players, s.Connected, s.MaxPlayers, s.OpenedAt, s.ClosedAt}
		},
	}),
	"seats": pastOf((*db.Store).SeatsAt, table[db.SeatAt]{
		titles:      []string{"session", "player", "seat", "mode", "instance", "reserved at", "connected at", "left at"},
		spareTitles: []string{"reserved at", "mode", "left at"},
		rowCells: func(s db.SeatAt) []any {
			return []any{s.Session, s.Player, s.State, s.Mode, s.Instance, s.ReservedAt, s.ConnectedAt, s.LeftAt}
		},
	}),
	"keys": pastOf((*db.Store).KeysAt, table[db.KeyAt]{
		titles:      []string{"kid", "state", "alg", "publish at", "sign from", "sign until", "verify until"},
		spareTitles: []string{"alg", "publish at"},
		rowCells: func(k db.KeyAt) []any {
			return []any{k.KID, k.State, k.Alg, k.PublishAt, k.SignFrom, k.SignUntil, k.VerifyUntil}
		},
	}),
}

// pastOf makes the writer of one kind of row. A read fails for a time before history begins, with the oldest time that
// is known.
func pastOf[T any](read func(*db.Store, context.Context, db.AsOf) ([]T, error), t table[T]) pastWriter {
	return func(ctx context.Context, op operator, a db.AsOf) error {
		found, err := read(op.store, ctx, a)
		if err != nil {
			return err
		}
		return t.write(op.out, found)
	}
}
