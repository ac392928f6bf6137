package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// playerView is what templates/player.html reads.
type playerView struct {
	Record  opsview.Player
	Player  string // empty: nobody is looked for
	Next    string
	Ticket  string                // the latest
	Steps   []opsview.TicketState // of Ticket
	Similar []string              // players whose ids begin with the text that is looked for
	Called  []string              // players with an attribute that has this text, such as a name
	Recent  []opsview.Refusal     // of all players, latest first, while nobody is looked for
	Code    string                // the code of the refusals in Recent; empty: any
}

// Waiting returns how many tickets of the player are in the queue.
func (v playerView) Waiting() (n int) {
	for _, t := range v.Record.Tickets {
		if isWaiting(t.State) {
			n++
		}
	}
	return n
}

// Joined returns how many rooms of the realtime lobby the player is in.
func (v playerView) Joined() (n int) {
	for _, m := range v.Record.Rooms {
		if m.State == "joined" {
			n++
		}
	}
	return n
}

// playerPage looks for a player by the sub of the access token. universe is that of the player's tickets.
func playerPage(universe string) page[playerView] {
	return page[playerView]{routePath: "/players", templateName: "player", readEvery: 3 * time.Second,
		loadData: func(ctx context.Context, s Store, q query) (v playerView, err error) {
			if v, err = v.withRecord(ctx, s, q, universe); err != nil {
				return v, err
			}
			if v.Player == "" {
				return v.withRecent(ctx, s, q)
			}
			if v.Record.HasMorePast {
				v.Next = q.Next("", v.Record.PastSeats[len(v.Record.PastSeats)-1].LeftAt.Format(time.RFC3339Nano))
			}
			// The text may be a name, or the beginning of an id.
			if !v.Record.IsKnown() {
				return v.withSimilar(ctx, s, universe)
			}
			if len(v.Record.Tickets) > 0 {
				// The latest is first.
				v.Ticket = v.Record.Tickets[0].Ticket
				v.Steps, err = ticketStates(ctx, s, universe, v.Ticket)
			}
			return v, err
		}}
}

// withRecord adds what is known of the player who is looked for: first by exactly this text, since spaces around it are
// part of the id that a link has, and then without them, which somebody may have typed.
func (v playerView) withRecord(ctx context.Context, s Store, q query, universe string) (_ playerView, err error) {
	past := opsview.Page{Limit: pageSize}
	_, last := q.lastKey()
	if before, err := time.Parse(time.RFC3339Nano, last); err == nil { // a malformed key is the first page
		past.After = []any{before}
	}
	for _, v.Player = range q.spellings("q") {
		v.Record, err = readViews(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.Player, error) {
			return opsview.ReadPlayer(ctx, r, v.Player, universe, past)
		})
		if err != nil || v.Record.IsKnown() {
			return v, err
		}
	}
	return v, nil
}

// withRecent adds a page of the latest refusals of all players.
func (v playerView) withRecent(ctx context.Context, s Store, q query) (playerView, error) {
	v.Code = q.Get("code")
	// Reading ends after so many refusals, however few of them have the code.
	from := opsview.Page{Limit: pageSize, Scan: maxSearched}
	first, second := q.lastKey()
	if before, err := time.Parse(time.RFC3339Nano, first); err == nil { // a malformed key is the first page
		from.After = []any{before, second}
	}
	found, more, err := listView(ctx, s, opsview.RecentRefusals, opsview.RecentRefusalFilter{Code: v.Code}, from)
	v.Recent = found
	if more {
		last := found[len(found)-1]
		v.Next = q.Next(last.LastAt.UTC().Format(time.RFC3339Nano), last.Player)
	}
	return v, err
}

// withSimilar adds the players whose ids begin with the text that is looked for, or who are called so.
func (v playerView) withSimilar(ctx context.Context, s Store, universe string) (playerView, error) {
	err := s.ReadOps(ctx, func(ctx context.Context, r opsview.Querier) (err error) {
		if v.Similar, err = opsview.PlayersBeginning(ctx, r, v.Player, universe); err != nil {
			return err
		}
		v.Called, err = opsview.PlayersCalled(ctx, r, v.Player, universe)
		return err
	})
	return v, err
}
