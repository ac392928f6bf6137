package console

import "github.com/lattice-director/director/db"

// Store is the part of db.Store that the console calls. Each page declares what it reads.
type Store interface {
	healthStore
	fleetStore
	instanceStore
	sessionStore
	playerStore
	capacityStore
	keyStore
	queueStore
	matchStore
	agentStore
	roomStore
	deploymentStore
	eventStore

	// As returns what a person may change, whom events name.
	As(actor string) db.Act
}
