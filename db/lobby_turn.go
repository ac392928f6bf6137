package db

import (
	"context"

	"github.com/google/uuid"
)

// lobbyStep is an action of a transaction. With Session.Epoch 0 the session's epoch is not judged: the transaction has locked the session, or the
// director itself acts.
type lobbyStep struct {
	LobbyAction

	Lobby uuid.UUID // the room; uuid.Nil: it has the id Room in Project
}

// lobbyResult is what a step did, once the transaction is committed.
type lobbyResult struct {
	LobbyAnswer

	Err error // a *rooms.Error, or an *Error of the kind Superseded
}

// lobbyTurn is one transaction on rooms of a region: the rows that it has locked and read, and the changes to write.
type lobbyTurn struct {
	region  string
	results []lobbyResult // of the steps, in their order; they hold after the commit
}

// lockSessions is the error of a transaction that must lock further sessions. The transaction runs again and locks them together with its own,
// since sessions are locked before rooms.
type lockSessions struct{ ids []string }

func (*lockSessions) Error() string { return "further sessions must be locked" }

// actIn runs steps in a transaction, at most once in it: it locks the sessions of steps with an epoch and those of locked, locks and reads the
// rooms, runs the actions in order, and defers the writes to the commit. locked are further sessions whose rows the transaction needs: the
// caller has locked them before, or none of them. Call announce after the commit. Errors: lockSessions, those of statements.
func (s *Store) actIn(_ context.Context, _ *Queries, region string, _ []lobbyStep, _ []string) (*lobbyTurn, error) {
	return &lobbyTurn{region: region}, errNotBuilt
}

// lockingSessions runs a transaction on sessions and rooms, and again with further sessions to lock for as long as it returns lockSessions.
func lockingSessions(run func(further []string) error) error { return run(nil) }

// announce wakes the replicas with members of the rooms that changed, and those of sessions that were invited or removed.
func (s *Store) announce(t *lobbyTurn) { s.notifyRealtime(t.region) }
