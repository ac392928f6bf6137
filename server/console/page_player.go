package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// playerView is what templates/player.html reads.
type playerView struct {
	Known  opsview.Player
	Player string // empty: nobody is looked for
	Next   string
	Ticket string                // the latest
	Steps  []opsview.TicketState // of Ticket
	// Similar are players whose ids begin with the text that is looked for.
	Similar []string
	Recent  []opsview.Refusal // of all players, latest first, while nobody is looked for
	Code    string            // that Recent has; empty: any
}

// IsKnown reports whether anything is known of the player.
func (v playerView) IsKnown() bool {
	k := v.Known
	return len(k.Seats)+len(k.Refusals)+len(k.Tickets)+len(k.Lobby)+len(k.Past) > 0
}

// playerPage looks for a player by the sub of the access token. universe is the region of tickets.
func playerPage(universe string) page[playerView] {
	return page[playerView]{path: "/players", template: "player", every: 3 * time.Second,
		load: func(ctx context.Context, s Store, q query) (v playerView, err error) {
			if v.Player = q.Get("q"); v.Player == "" {
				return v.withRecent(ctx, s, q)
			}
			past := opsview.Page{Limit: pageSize}
			_, last := q.After()
			if before, err := time.Parse(time.RFC3339Nano, last); err == nil { // a malformed one is the first page
				past.After = []any{before}
			}
			v.Known, err = readAll(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.Player, error) {
				return opsview.ReadPlayer(ctx, r, v.Player, universe, past)
			})
			if err != nil {
				return v, err
			}
			if v.Known.PastMore {
				v.Next = q.Next("", v.Known.Past[len(v.Known.Past)-1].LeftAt.Format(time.RFC3339Nano))
			}
			if !v.IsKnown() {
				v.Similar, err = playersBeginning(ctx, s, v.Player, universe)
				return v, err
			}
			if len(v.Known.Tickets) > 0 {
				v.Ticket = v.Known.Tickets[0].Ticket
				v.Steps, err = ticketStates(ctx, s, universe, v.Ticket)
			}
			return v, err
		}}
}

// withRecent adds a page of the latest refusals of all players.
func (v playerView) withRecent(ctx context.Context, s Store, q query) (playerView, error) {
	v.Code = q.Get("code")
	from := opsview.Page{Limit: pageSize, Scan: 5000}
	first, second := q.After()
	if before, err := time.Parse(time.RFC3339Nano, first); err == nil { // a malformed key is the first page
		from.After = []any{before, second}
	}
	found, more, err := list(ctx, s, opsview.RecentRefusals, opsview.RecentRefusalFilter{Code: v.Code}, from)
	if v.Recent = found; more {
		last := found[len(found)-1]
		v.Next = q.Next(last.LastAt.UTC().Format(time.RFC3339Nano), last.Player)
	}
	return v, err
}

// playersBeginning returns players whose ids begin with a text.
func playersBeginning(ctx context.Context, s Store, begun, universe string) ([]string, error) {
	return readAll(ctx, s, func(ctx context.Context, r opsview.Querier) ([]string, error) {
		return opsview.PlayersBeginning(ctx, r, begun, universe)
	})
}
