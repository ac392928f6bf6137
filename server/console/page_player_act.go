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

// playerParam names the player in addresses of actions. It is a parameter, as in playerPath.
const playerParam = "player"

// fromParam with fromPlayer says that an action was asked for on the page of the player.
const (
	fromParam  = "from"
	fromPlayer = "player"
)

// isFromPlayer reports whether an action was asked for on the page of the player, which is shown again then.
func isFromPlayer(q query) bool { return q.Get(fromParam) == fromPlayer }

// backToPlayer is the page of the player of an action that was asked for there, or otherwise.
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

// TicketPath is the action that cancels a ticket of the player.
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
		at := slices.IndexFunc(v.History.Seats, func(seat opsview.Seat) bool { return seat.Player == player })
		says := []string{"The player has no seat in this session any more: nothing would change."}
		if at >= 0 {
			says = freedSeatSays(v, v.History.Seats[at])
		}
		return question{Title: "Free the seat of " + player + "?", Button: "Free the seat", Danger: true,
			RequiresReason: true, Back: backToPlayer(q, sessionPath(v.ID)), Effects: says}, nil
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).FreeSeat(ctx, q.Param("id"), q.Exactly(playerParam), d.Reason)
		return outcomeText(changed, "The seat is free: "+d.Reason, "The player left before: nothing changed."), err
	},
}

// freedSeatSays says what becomes of the seat, the session and the player's connection.
func freedSeatSays(v sessionView, seat opsview.Seat) []string {
	says := []string{fmt.Sprintf("The %s seat in %s on %s is free for others.", seat.State, v.Mode, v.Instance)}
	if v.Players == 1 {
		says = append(says, "Nobody else has a seat in the session: it closes.")
	}
	if seat.State == "connected" {
		says = append(says, "The game server sees that the player has no seat; whether it disconnects the player is up to it.")
	}
	return append(says, "A session token that was fetched before admits the player again until it expires, if there is room.")
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
			says := []string{"The ticket has left the queue: nothing would change."}
			if len(waiting) > 0 {
				says = []string{
					fmt.Sprintf("%s of it lose their place in the queue.",
						pluralText(len(waiting[0].Players), "player", "players")),
					"They are told that an operator took it out of the queue, and may queue again.",
				}
			}
			return question{Title: "Cancel ticket " + shortID(id) + "?", Button: "Cancel the ticket", Danger: true,
				RequiresReason: true, Back: backToPlayer(q, ticketPath(id)), Effects: says}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			changed, err := s.As(d.Actor).CancelTicket(ctx, universe, q.Param("id"), d.Reason)
			return outcomeText(changed, "The ticket has left the queue: "+d.Reason,
				"The ticket left the queue before: nothing changed."), err
		},
	}
}
