package db

import (
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/lobby"
)

// invitedBy returns the players whom an action invites.
func invitedBy(effects []lobby.Effect) (players []string) {
	for _, e := range effects {
		if e.Kind == lobby.EffectInvite {
			players = append(players, e.Player)
		}
	}
	return players
}

// answerInvitations tells those that invited how many connections their invitations have reached. Call it after the
// commit.
func (t *lobbyTurn) answerInvitations() {
	for i := range t.stepResults {
		r := &t.stepResults[i]
		for _, player := range r.invitedPlayers {
			reached, refused := t.reached(r.answer.LobbyUID, player)
			if refused {
				r.Err = lobby.ErrInviting
			}
			r.answer.ActionAnswer = map[string]any{"reached": reached}
		}
	}
}

// cancelledRooms returns the rooms of which a member wants to leave the queue.
func (t *lobbyTurn) cancelledRooms() (rooms []uuid.UUID) {
	for _, c := range t.queueChanges {
		if c.isCancelled {
			rooms = append(rooms, c.LobbyUID)
		}
	}
	return rooms
}

// answerCancels tells members who wanted to leave the queue that their match was found before. Their room hears of it
// from a worker. Call it after the commit.
func (t *lobbyTurn) answerCancels() {
	for i := range t.stepResults {
		if r := &t.stepResults[i]; r.cancelsTicket && slices.Contains(t.matchedRooms, r.answer.LobbyUID) {
			r.Err = lobby.ErrMatched
		}
	}
}

// reached returns to how many connections an invitation goes. refused: it was not made.
func (t *lobbyTurn) reached(room uuid.UUID, player string) (connections int, refused bool) {
	for _, i := range t.invitedRows {
		if i.Lobby == room && i.Player == player {
			refused = refused || i.Refused
			if i.Connected {
				connections++
			}
		}
	}
	return connections, refused
}
