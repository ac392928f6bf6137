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
	for i := range t.results {
		r := &t.results[i]
		for _, player := range r.invited {
			reached, refused := t.reached(r.Lobby, player)
			if refused {
				r.Err = lobby.ErrInviting
			}
			r.Answer = map[string]any{"reached": reached}
		}
	}
}

// cancelled returns the rooms of which a member wants to leave the queue.
func (t *lobbyTurn) cancelled() (rooms []uuid.UUID) {
	for _, c := range t.queue {
		if c.cancels {
			rooms = append(rooms, c.Lobby)
		}
	}
	return rooms
}

// answerCancels tells members who wanted to leave the queue that their match was found before. Their room hears of it
// from a worker. Call it after the commit.
func (t *lobbyTurn) answerCancels() {
	for i := range t.results {
		if r := &t.results[i]; r.cancels && slices.Contains(t.matched, r.Lobby) {
			r.Err = lobby.ErrMatched
		}
	}
}

// reached returns to how many connections an invitation goes. refused: it was not made.
func (t *lobbyTurn) reached(room uuid.UUID, player string) (connections int, refused bool) {
	for _, i := range t.invited {
		if i.Lobby == room && i.Player == player {
			refused = refused || i.Refused
			if i.Connected {
				connections++
			}
		}
	}
	return connections, refused
}
