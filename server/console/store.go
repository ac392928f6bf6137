package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// Store is the part of db.Store that the console calls. Each page declares what it reads.
type Store interface {
	serverStores
	playerStores

	// As returns what a person may change, whom events name.
	As(actor string) db.Act

	EndLogin(ctx context.Context, login []byte, until time.Time) error
	LoginHasEnded(ctx context.Context, login []byte) (bool, error)
}

// serverStores are what the pages of servers and of the director read.
type serverStores interface {
	healthStore
	fleetStore
	instanceStore
	sessionStore
	capacityStore
	keyStore
	agentStore
	roomStore
	deploymentStore
	eventStore
}

// playerStores are what the pages of players, tickets and matches read.
type playerStores interface {
	playerStore
	queueStore
	matchStore
}
