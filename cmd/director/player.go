package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// playerDetails is the output of `players show`.
type playerDetails struct {
	Player   string                 `json:"player"`
	Seats    []heldSeat             `json:"seats"`
	Tickets  []opsview.PlayerTicket `json:"tickets"`
	Rooms    []opsview.LobbyMember  `json:"rooms"`
	Refusals []opsview.Refusal      `json:"refusals"` // of the last 7 days
	Stored   *opsview.StoredPlayer  `json:"stored"`   // null: no backend has stored anything
	LastSeat *opsview.PastSeat      `json:"last_seat"`
}

// heldSeat is a seat with its session.
type heldSeat struct {
	opsview.Seat

	Session  string `json:"session"`
	Instance string `json:"instance"`
	Mode     string `json:"mode"`
}

// playerWords completes players with a seat, a ticket or a refusal.
func playerWords(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
	found, err := opsview.PlayersBeginning(ctx, op.store.Pool(), begun, op.conf.config.Server.Universe)
	return matchingWords(found, begun, given), err
}

// readPlayer returns an error for a player of whom nothing is known: an empty answer would look like one about a
// mistyped id.
func (op operator) readPlayer(ctx context.Context, id string) (d playerDetails, err error) {
	// One past seat is enough: the last one is shown.
	known, err := opsview.ReadPlayer(ctx, op.store.Pool(), id, op.conf.config.Server.Universe, opsview.Page{Limit: 1})
	if err != nil {
		return d, err
	}
	if !known.IsKnown() {
		return d, op.unknownPlayer(ctx, id)
	}
	// Empty lists and not null, for scripts.
	d = playerDetails{
		Player: id, Seats: []heldSeat{}, Tickets: append([]opsview.PlayerTicket{}, known.Tickets...),
		Rooms:    append([]opsview.LobbyMember{}, known.Rooms...),
		Refusals: append([]opsview.Refusal{}, known.Refusals...), Stored: known.StoredFacts,
	}
	for _, s := range known.Seats {
		d.Seats = append(d.Seats, heldSeat{s, s.Session, s.Instance, s.Mode})
	}
	if len(known.PastSeats) > 0 {
		d.LastSeat = &known.PastSeats[0]
	}
	return d, nil
}

// unknownPlayer is the error for a player of whom nothing is known, with those who may be meant.
func (op operator) unknownPlayer(ctx context.Context, text string) error {
	unknown := fmt.Sprintf("nothing is known of player %q: no seat, no ticket, and no refusal in the last 7 days", text)
	// The text may be the beginning of an id, or the name of a player, which is an attribute.
	begin, err := opsview.PlayersBeginning(ctx, op.store.Pool(), text, op.conf.config.Server.Universe)
	if err != nil {
		return err
	}
	called, err := opsview.PlayersCalled(ctx, op.store.Pool(), text, op.conf.config.Server.Universe)
	if err != nil {
		return err
	}
	if len(begin) > 0 {
		unknown += "\nthese begin so: " + strings.Join(begin, ", ")
	}
	if len(called) > 0 {
		unknown += "\nthese have an attribute with this text: " + strings.Join(called, ", ")
	}
	return errors.New(unknown)
}

func (d playerDetails) writeText(out cli.Output) error {
	writeFacts(out, d.factPairs())
	// A table without rows is left out: the facts above count them.
	return errors.Join(seatTable.writeBelow(out, d.Seats), ticketTable.writeBelow(out, d.Tickets),
		memberTable.writeBelow(out, d.Rooms), refusalTable.writeBelow(out, d.Refusals))
}

// factPairs returns pairs of name and value, for people.
func (d playerDetails) factPairs() [][2]string {
	last := "none that is remembered"
	if s := d.LastSeat; s != nil {
		last = s.Session + ", left " + readableTime(&s.LeftAt) + ": " + s.Reason
	}
	facts := [][2]string{
		{"player", d.Player}, {"seats", fmt.Sprint(len(d.Seats))}, {"tickets", fmt.Sprint(len(d.Tickets))},
		{"rooms", fmt.Sprint(len(d.Rooms))}, {"refusals", fmt.Sprintf("%d kinds in the last 7 days", len(d.Refusals))},
		{"last seat", last},
	}
	if d.Stored != nil {
		facts = append(facts, [2]string{"stored", string(d.Stored.Attributes)})
	}
	return facts
}

// The tables below the facts of a player.
var (
	seatTable = table[heldSeat]{
		titles:      []string{"session", "seat", "mode", "instance", "reserved at", "connected at"},
		spareTitles: []string{"reserved at", "mode"},
		rowCells: func(s heldSeat) []any {
			return []any{s.Session, s.State, s.Mode, s.Instance, s.ReservedAt, s.ConnectedAt}
		},
	}
	ticketTable = table[opsview.PlayerTicket]{
		titles:      []string{"ticket", "state", "profile", "reason", "queued at", "state since"},
		spareTitles: []string{"queued at", "reason"},
		rowCells: func(t opsview.PlayerTicket) []any {
			return []any{t.Ticket, t.State, t.Profile, t.Reason, t.JoinedAt, t.ChangedAt}
		},
	}
	memberTable = table[opsview.LobbyMember]{
		titles:      []string{"room", "type", "state", "away", "project"},
		spareTitles: []string{"away"},
		rowCells:    func(m opsview.LobbyMember) []any { return []any{m.Room, m.Type, m.State, m.Away, m.Project} },
	}
	refusalTable = table[opsview.Refusal]{
		titles:      []string{"last refused", "call", "code", "times", "region", "mode", "detail"},
		spareTitles: []string{"region", "mode", "times"},
		rowCells: func(r opsview.Refusal) []any {
			return []any{r.LastAt, r.Call, r.Code, r.Times, r.Region, r.Mode, r.Detail}
		},
	}
)
