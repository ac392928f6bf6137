package profile

import "time"

// Bounds of the parts of a profile.
const (
	maxTeams      = 64 // 150 players in teams of three are 50; each is tried for each party
	maxPlayers    = 1024
	maxRoles      = 16 // over all teams
	maxRules      = 32 // those within or, and, not included
	maxID         = 256
	maxSteps      = 16  // that a document lists one by one; linear widening may have more
	maxExpanded   = 256 // steps of linear widening: each is a moment at which a waiting ticket is searched for again
	maxPrefer     = 5   // every set of them may be searched for
	maxAttributes = 64
	maxModes      = 8 // a candidate has a bit for each, in one byte
	maxData       = 4 << 10
	maxClaimPath  = 8
	maxWait       = 24 * time.Hour // the longest a ticket waits
)
