package db

import (
	"context"
)

// ActInLobby runs an action in a room, in a transaction with all actions that wait at the same time for rooms of the region. Actions of one room run
// in the order of their calls. An action that fails changes nothing. Errors: the action's [rooms.Error]; rooms.ErrNotFound for a room that
// does not exist, unless Make is set; Superseded if the session has another epoch, is suspended or has ended; Unavailable, in which case the
// action may or may not have been committed.
func (s *Store) ActInLobby(_ context.Context, _ LobbyAction) (LobbyAnswer, error) {
	return LobbyAnswer{}, errNotBuilt
}
