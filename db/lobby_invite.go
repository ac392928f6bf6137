package db

import (
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

// answerInvitations sets the answers of actions that invite: how many connections the invitation has reached. Call it
// after the commit.
func (t *lobbyTurn) answerInvitations() {
	for i := range t.stepResults {
		r := &t.stepResults[i]
		for _, player := range r.invitedPlayers {
			reached, refused := t.invitedConnections(r.answer.LobbyUID, player)
			if refused {
				r.err = lobby.ErrInviting
			}
			r.answer.ActionAnswer = map[string]any{"reached": reached}
		}
	}
}

// invitedConnections returns how many connections an invitation has reached. refused: the invitation was not made.
func (t *lobbyTurn) invitedConnections(room uuid.UUID, player string) (connections int, refused bool) {
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
