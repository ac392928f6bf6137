package orchestrator

import (
	"context"
	"net/http"

	"github.com/lattice-director/director/db"
)

// Commander sends commands to agents, whichever replica they are connected to, and waits for their acks. actor is the
// fingerprint of the caller's key. If the caller disconnects, the wait ends; the command continues. [command.Caller]
// implements it.
type Commander interface {
	Create(ctx context.Context, r db.NewRoom) (db.CommandAnswer, error)
	Destroy(ctx context.Context, roomID, actor string) (db.CommandAnswer, error)
	Drain(ctx context.Context, agentID, actor string, keep bool) (db.CommandAnswer, error)
	Undrain(ctx context.Context, agentID, actor string) (db.CommandAnswer, error)
}

func ackAnswer(a db.CommandAnswer, err error) (answer, error) {
	if err := commandError(a, err); err != nil {
		return answer{}, err
	}
	return answerDone, nil
}

// commandError returns the error with which callers see the outcome of a command; nil: the command was done.
func commandError(a db.CommandAnswer, err error) error {
	if err != nil {
		return err
	}
	switch a.FinalState {
	case db.CommandDone, db.CommandDoneLate:
		return nil
	// The agent has a room of this id already.
	case db.CommandExists:
		return rejection{http.StatusConflict, db.CodeRoomExists}
	case db.CommandFailed:
		return errCommandFailed
	case db.CommandDisconnected:
		return rejection{http.StatusBadGateway, db.CodeInstanceDisconnected}
	// The agent may still carry the command out, after the deadline.
	default:
		return errCommandTimeout
	}
}
