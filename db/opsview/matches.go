package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Match is a match that plays, or whose players are asked or wait for a server.
type Match struct {
	// Region is that of the session for a match that plays, and the universe for other matches.
	Region    string     `db:"region" json:"region"`
	Match     uuid.UUID  `db:"match" json:"match"`
	Universe  string     `db:"universe" json:"universe"`
	Profile   string     `db:"profile" json:"profile"`
	Version   int32      `db:"version" json:"version"`
	State     string     `db:"state" json:"state"`                                 // proposed, accepted or playing
	Session   string     `db:"session" sql:"coalesce(session, '')" json:"session"` // region.uuid; "": it has none yet
	Mode      string     `db:"mode" sql:"coalesce(mode, '')" json:"mode"`
	Tickets   int32      `db:"tickets" json:"tickets"`
	Players   int32      `db:"players" json:"players"`
	Connected int64      `db:"connected" json:"connected"`
	DecidedAt time.Time  `db:"decided_at" json:"decided_at"`
	Deadline  *time.Time `db:"deadline" json:"deadline"` // nil while it plays
}

// Matches are the latest of each profile.
var Matches = View[Match, MatchFilter]{name: "matches", order: Order{"-decided_at", "match"}, each: group{
	from: "ops.profiles g", on: "v.universe = g.region AND v.profile = g.profile",
}}

// MatchFilter selects the matches of a profile of a universe; an empty Profile selects those of all.
type MatchFilter struct{ Universe, Profile string }

func (f MatchFilter) selectRows(w *where) {
	w.addGroup("region", f.Universe)
	w.addGroup("profile", f.Profile)
}

// PastMatch is a committed match.
type PastMatch struct {
	Region      string     `db:"region" json:"region"` // the universe
	Match       uuid.UUID  `db:"match" json:"match"`
	Profile     string     `db:"profile" json:"profile"`
	Version     int32      `db:"version" json:"version"`
	Joined      bool       `db:"joined" json:"joined"` // newcomers joined a match that was already playing
	GameRegion  string     `db:"game_region" sql:"coalesce(game_region, '')" json:"game_region"`
	Mode        string     `db:"mode" sql:"coalesce(mode, '')" json:"mode"`
	Session     string     `db:"session" sql:"coalesce(session, '')" json:"session"` // region.uuid; "": it has none
	Tickets     int32      `db:"tickets" json:"tickets"`
	Players     int32      `db:"players" json:"players"`
	DecidedAt   time.Time  `db:"decided_at" json:"decided_at"`
	CommittedAt time.Time  `db:"committed_at" json:"committed_at"`
	SessionID   *uuid.UUID `db:"session_id" json:"session_id"`
}

// PastMatches are the latest of each profile, which an index finds. The index has the default collation, and names of
// profiles have "C".
var PastMatches = View[PastMatch, PastMatchFilter]{name: "past_matches", order: Order{"-committed_at", "-match"},
	each: group{
		from: "ops.profiles g", on: `v.region = g.region AND v.profile = g.profile COLLATE "default"`,
	}}

// PastMatchFilter selects the matches of a profile of a universe; an empty Profile selects those of all.
type PastMatchFilter struct {
	Universe, Profile string
	// Until leaves out matches that were committed later; zero: none. A page after a row needs the time of that row here,
	// so that the index finds the page.
	Until time.Time
}

func (f PastMatchFilter) selectRows(w *where) {
	w.addGroup("region", f.Universe)
	w.addGroup("profile", f.Profile)
	if !f.Until.IsZero() {
		w.add("committed_at <= ?", f.Until)
	}
}

// MatchMinute is a measure of the matches of a minute.
type MatchMinute struct {
	Minute  time.Time `db:"minute" json:"minute"` // its beginning
	Region  string    `db:"region" json:"region"` // the universe
	Profile string    `db:"profile" json:"profile"`
	Version int32     `db:"version" json:"version"`
	Measure string    `db:"measure" json:"measure"` // players, latency_ms, or the word rule and the id of a rule
	Matches int64     `db:"matches" json:"matches"` // of those that were read
	Mean    float64   `db:"mean" json:"mean"`
	Highest float64   `db:"highest" json:"highest"`
}

// MatchMinutes are measures of some matches of each minute of the last hour, so that their cost is bounded.
var MatchMinutes = View[MatchMinute, MinuteFilter]{name: "match_minutes",
	order: Order{"measure", "profile", "version", "minute"}}
