package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// placing is one transaction of placement.
type placing struct {
	store       *Store
	q           *query.Queries
	region      string
	pooledModes map[regionMode]bool // modes that pools serve

	avoidedPlayers *avoidance
	commandSenders *[]uuid.UUID // to notify after the commit; see opening

	waitsForRows bool // false: it skips rows that are locked
	lastResort   bool // see placeAsLastResort
}

// vacatedSession is a session in which seats were given up.
type vacatedSession struct {
	id         uuid.UUID
	instanceID string
	isEmpty    bool
}

func vacatedIDs(sessions []vacatedSession) []uuid.UUID {
	ids := make([]uuid.UUID, len(sessions))
	for i, r := range sessions {
		ids[i] = r.id
	}
	return ids
}
