package opsview

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Refusal is how often a call of a player was refused in an hour, with one code.
type Refusal struct {
	Player    string    `db:"player" json:"player"`
	Call      string    `db:"call" json:"call"`
	Code      string    `db:"code" json:"code"`
	Detail    string    `db:"detail" json:"detail"`
	Region    string    `db:"region" sql:"coalesce(region, '')" json:"region"` // "": none
	Mode      string    `db:"mode" sql:"coalesce(mode, '')" json:"mode"`       // "": none
	Times     int64     `db:"times" json:"times"`
	FirstAt   time.Time `db:"first_at" json:"first_at"`
	LastAt    time.Time `db:"last_at" json:"last_at"`
	RequestID string    `db:"request_id" sql:"coalesce(request_id, '')" json:"request_id"` // "": none
	Hour      time.Time `db:"hour" json:"hour"`
}

// Refusals are read latest first.
var Refusals = View[Refusal, RefusalFilter]{name: "refusals", order: Order{"-last_at"}}

// RefusalFilter selects the refusals of a player.
type RefusalFilter struct{ Player string }

func (f RefusalFilter) selectRows(w *where) { w.addExact("player", f.Player) }

// RecentRefusals are those of all players, latest first, found by an index.
var RecentRefusals = View[Refusal, RecentRefusalFilter]{name: "refusals", order: Order{"-last_at", "-player"}}

// RecentRefusalFilter selects refusals with a code, and of a call; empty fields select all. Read them with Page.Scan.
type RecentRefusalFilter struct{ Code, Call string }

func (f RecentRefusalFilter) selectRows(w *where) {
	w.addEqual("code", f.Code)
	w.addEqual("call", f.Call)
}

// PlayerTicket is the latest ticket of a player for a profile.
type PlayerTicket struct {
	Region   string    `db:"region" json:"region"` // the universe
	Player   string    `db:"player" json:"player"`
	Profile  string    `db:"profile" json:"profile"` // empty for a ticket that names none
	Ticket   string    `db:"ticket" json:"ticket"`
	JoinedAt time.Time `db:"joined_at" json:"joined_at"`
	// SeenAt is when the player first read the ticket; nil: never.
	SeenAt    *time.Time `db:"seen_at" json:"seen_at"`
	State     string     `db:"state" sql:"coalesce(state, '')" json:"state"`    // "": no longer known
	Reason    string     `db:"reason" sql:"coalesce(reason, '')" json:"reason"` // "": none
	Match     *uuid.UUID `db:"match" json:"match"`                              // nil: none
	ChangedAt time.Time  `db:"changed_at" sql:"coalesce(changed_at, joined_at)" json:"changed_at"`
}

// PlayerTickets are read latest first.
var PlayerTickets = View[PlayerTicket, PlayerTicketFilter]{name: "player_tickets", order: Order{"-joined_at"}}

// PlayerTicketFilter selects the tickets of a player in a universe.
type PlayerTicketFilter struct{ Universe, Player string }

func (f PlayerTicketFilter) selectRows(w *where) {
	w.addExact("region", f.Universe)
	w.addExact("player", f.Player)
}

// QueuedPlayers are the tickets of all players of a universe, by player.
var QueuedPlayers = View[PlayerTicket, QueueFilter]{name: "player_tickets", order: Order{"player"}}

// TicketState is a state that a ticket had.
type TicketState struct {
	Region string     `db:"region" json:"region"` // the universe
	Ticket string     `db:"ticket" json:"ticket"`
	N      int32      `db:"n" json:"n"` // from 1
	At     time.Time  `db:"at" json:"at"`
	State  string     `db:"state" json:"state"`
	Reason string     `db:"reason" sql:"coalesce(reason, '')" json:"reason"`
	Match  *uuid.UUID `db:"match" json:"match"` // nil: none
}

// TicketStates are read in their order.
var TicketStates = View[TicketState, TicketFilter]{name: "ticket_states", order: Order{"n", "at"}}

// TicketFilter selects a ticket of a universe.
type TicketFilter struct{ Universe, Ticket string }

func (f TicketFilter) selectRows(w *where) {
	w.addExact("region", f.Universe)
	w.addExact("ticket", f.Ticket)
}

// StoredPlayer is what backends have stored of a player.
type StoredPlayer struct {
	Region       string          `db:"region" json:"region"` // the universe
	Player       string          `db:"player" json:"player"`
	Attributes   json.RawMessage `db:"attributes" json:"attributes"` // an object
	Avoid        []string        `db:"avoid" json:"avoid"`
	MayPartyWith []string        `db:"may_party_with" json:"may_party_with"`
	UpdatedAt    time.Time       `db:"updated_at" json:"updated_at"`
	UpdatedBy    string          `db:"updated_by" json:"updated_by"`
}

// StoredPlayers are read in the order of players.
var StoredPlayers = View[StoredPlayer, StoredPlayerFilter]{name: "stored_players", order: Order{"region", "player"}}

// StoredPlayerFilter selects players of a universe. Empty fields select all.
type StoredPlayerFilter struct {
	Universe, Player string
	Value            string // the text of any of their attributes, such as a name; an index finds it
}

func (f StoredPlayerFilter) selectRows(w *where) {
	w.addEqual("region", f.Universe)
	w.addEqual("player", f.Player)
	if f.Value != "" {
		quoted, _ := json.Marshal(f.Value) // a text always encodes, and a path quotes as JSON does
		w.add("attributes @@ ?::jsonpath", "$.* == "+string(quoted))
	}
}

// PlayersCalled returns the players of a universe with an attribute that has exactly this text, sorted, at most 100.
func PlayersCalled(ctx context.Context, q Querier, text, universe string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	found, err := StoredPlayers.Read(ctx, q, StoredPlayerFilter{Universe: universe, Value: text}, Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	players := make([]string, len(found))
	for i, p := range found {
		players[i] = p.Player
	}
	return players, nil
}

// Player is what is known of a player: where they are, where they were, and why they were refused.
type Player struct {
	Seats       []Seat         // latest first, at most 100
	Refusals    []Refusal      // latest first, at most 100
	Tickets     []PlayerTicket // the latest for each profile, latest first, at most 100
	Lobby       []LobbySession // sessions of the realtime lobby, latest first, at most 100
	Rooms       []LobbyMember  // of these sessions, at most 100
	StoredFacts *StoredPlayer  // nil: no backend has stored anything
	PastSeats   []PastSeat     // a page, latest first
	HasMorePast bool           // further past seats follow
}

// IsKnown reports whether anything is known of the player.
func (p Player) IsKnown() bool {
	return len(p.Seats)+len(p.Refusals)+len(p.Tickets)+len(p.Lobby)+len(p.PastSeats) > 0 || p.StoredFacts != nil
}

// PlayersBeginning returns the players whose ids begin with a text and who have a seat, a ticket in the universe, or a
// refusal of the last week, sorted, at most 100.
func PlayersBeginning(ctx context.Context, q Querier, begun, universe string) ([]string, error) {
	seated, err := Seats.Words(ctx, q, SeatFilter{}, "player", begun, nil)
	if err != nil {
		return nil, err
	}
	queued, err := QueuedPlayers.Words(ctx, q, QueueFilter{universe}, "player", begun, nil)
	if err != nil {
		return nil, err
	}
	refused, err := RecentRefusals.Words(ctx, q, RecentRefusalFilter{}, "player", begun, nil)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(seated, queued, refused)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), 100)], nil
}

// ReadPlayer returns what is known of a player, whose tickets are in a universe; p is the page of past seats. A player
// of whom nothing is known has an empty history.
func ReadPlayer(ctx context.Context, q Querier, player, universe string, p Page) (found Player, err error) {
	if player == "" {
		return found, nil
	}
	first := Page{Limit: 100}
	if found.Seats, err = SeatsOfPlayer.Read(ctx, q, SeatFilter{Player: player}, first); err != nil {
		return found, err
	}
	if found.Tickets, err = PlayerTickets.Read(ctx, q, PlayerTicketFilter{universe, player}, first); err != nil {
		return found, err
	}
	if found.Lobby, err = LobbySessionsOfPlayer.Read(ctx, q, LobbySessionFilter{player}, first); err != nil {
		return found, err
	}
	if found.Rooms, err = membersOf(ctx, q, found.Lobby); err != nil {
		return found, err
	}
	stored, err := StoredPlayers.Read(ctx, q, StoredPlayerFilter{Universe: universe, Player: player}, Page{Limit: 1})
	if err != nil {
		return found, err
	}
	if len(stored) > 0 {
		found.StoredFacts = &stored[0]
	}
	if found.Refusals, err = Refusals.Read(ctx, q, RefusalFilter{player}, first); err != nil {
		return found, err
	}
	found.PastSeats, found.HasMorePast, err = PastSeats.List(ctx, q, PastSeatFilter{Player: player}, p)
	return found, err
}
