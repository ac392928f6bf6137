package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// playerParam is the parameter of the query that names the player in addresses of actions.
const playerParam = "player"

// fromParam with fromPlayer says that an action was asked for on the page of the player.
const (
	fromParam  = "from"
	fromPlayer = "player"
)

// isFromPlayer reports whether an action was asked for on the page of the player.
func isFromPlayer(q query) bool { return q.Get(fromParam) == fromPlayer }

// backToPlayer returns where an action leads: to the page of the player if it was asked for there, else to otherwise.
func backToPlayer(q query, otherwise string) string {
	if isFromPlayer(q) {
		return playerPath(q.Exactly(playerParam))
	}
	return otherwise
}

// SeatPath is the action that frees a seat of the player, and comes back to the player.
func (playerView) SeatPath(seat opsview.Seat) string {
	return query{escapedPath: sessionPath(seat.Session) + "/free",
		values: url.Values{playerParam: {seat.Player}, fromParam: {fromPlayer}}}.URL()
}

// SeatPath is the action that frees a seat of the session.
func (sessionView) SeatPath(seat opsview.Seat) string {
	return query{escapedPath: sessionPath(seat.Session) + "/free"}.With(playerParam, seat.Player)
}

// TicketPath is the action that cancels a ticket of the player, and comes back to the player.
func (v playerView) TicketPath(ticket string) string {
	return query{escapedPath: ticketPath(ticket) + "/cancel",
		values: url.Values{playerParam: {v.Player}, fromParam: {fromPlayer}}}.URL()
}

// RoomPath is the action that takes the player out of a room of the realtime lobby, and comes back to the player.
func (playerView) RoomPath(m opsview.LobbyMember) string {
	return query{escapedPath: "/lobby/kick", values: url.Values{"project": {m.Project}, "room": {m.Room},
		playerParam: {m.Player}, fromParam: {fromPlayer}}}.URL()
}

// freeSeatAction frees a seat of a session for other players.
var freeSeatAction = action{
	routePath: "/sessions/:id/free",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		player := q.Exactly(playerParam)
		v, err := loadSession(ctx, s, q)
		if err != nil {
			return question{}, err
		}
		i := slices.IndexFunc(v.History.Seats, func(seat opsview.Seat) bool { return seat.Player == player })
		effects := []string{"The player has no seat in this session any more: nothing would change."}
		if i >= 0 {
			effects = freeSeatEffects(v, v.History.Seats[i])
		}
		return question{Title: "Free the seat of " + player + "?", Button: "Free the seat", Danger: true,
			RequiresReason: true, Back: backToPlayer(q, sessionPath(v.ID)), Effects: effects}, nil
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).FreeSeat(ctx, q.Param("id"), q.Exactly(playerParam), d.Reason)
		return outcomeText(changed, "The seat is free: "+d.Reason, "The player left before: nothing changed."), err
	},
}

// freeSeatEffects says what becomes of the seat, the session and the player's connection.
func freeSeatEffects(v sessionView, seat opsview.Seat) []string {
	effects := []string{fmt.Sprintf("The %s seat in %s on %s is free for others.", seat.State, v.Mode, v.Instance)}
	if v.Players == 1 {
		effects = append(effects, "Nobody else has a seat in the session: it closes.")
	}
	if seat.State == "connected" {
		effects = append(effects,
			"The game server sees that the player has no seat; whether it disconnects the player is up to it.")
	}
	return append(effects, "A session token that was fetched before admits the player again until it expires, if there is room.")
}

// cancelTicketAction takes a ticket of a universe out of the queue.
func cancelTicketAction(universe string) action {
	return action{
		routePath: "/tickets/:id/cancel",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			id := q.Param("id")
			if !db.IssuedHere(universe, db.TicketID, id) {
				return question{}, &fault.Error{Kind: fault.NotFound, Code: "ticket_unknown",
					Detail: "there is no ticket " + id}
			}
			waiting, _, err := listView(ctx, s, opsview.WaitingTickets,
				opsview.WaitingTicketFilter{Universe: universe, Ticket: id}, opsview.Page{Limit: 1})
			effects := []string{"The ticket has left the queue: nothing would change."}
			if len(waiting) > 0 {
				effects = []string{
					fmt.Sprintf("%s of it lose their place in the queue.",
						pluralText(len(waiting[0].Players), "player", "players")),
					"They are told that an operator took it out of the queue, and may queue again.",
				}
			}
			return question{Title: "Cancel ticket " + shortID(id) + "?", Button: "Cancel the ticket", Danger: true,
				RequiresReason: true, Back: backToPlayer(q, ticketPath(id)), Effects: effects}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			changed, err := s.As(d.Actor).CancelTicket(ctx, universe, q.Param("id"), d.Reason)
			return outcomeText(changed, "The ticket has left the queue: "+d.Reason,
				"The ticket left the queue before: nothing changed."), err
		},
	}
}
