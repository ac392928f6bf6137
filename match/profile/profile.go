// Package profile owns the documents that say how tickets become matches: their types, their strict reading from YAML or
// JSON, with line and column in every error, and their JSON Schema. What a profile decides is in match/decide; where its
// versions are kept is in db/profile.go.
package profile

import (
	"encoding/json"
	"time"

	"github.com/lattice-director/director/match"
)

// Profile is one version of a profile's document, with every default filled in. It is never changed after it was read.
type Profile struct {
	Name string
	// Modes are the modes of its sessions, at most 8: a match takes the first that all its tickets allow and that has a host. Empty: its matches
	// have no seats.
	Modes []string
	// Pool holds the tickets that name no profile and are candidates of this one all the same. Those that name it must be in it as well. Nil: only
	// tickets that name the profile are candidates. A range without an end has an infinite one.
	Pool       *match.Pool
	Attributes map[string]Attribute // what tickets that name the profile must have
	Teams      []Team               // at least one, unless Function decides; of equal names none
	Rules      []Rule
	Fewer      []Fewer // by After, ascending
	Age        Age
	Batch      Batch
	Order      []Order // a seed's preference among candidates; then their age
	JoinInProgress
	Accept   time.Duration   // how long players have to accept a match; 0: they are not asked
	TTL      time.Duration   // after which a ticket leaves the queue
	Data     json.RawMessage // for the game server, with sorted keys; nil: none
	Tell     []string        // the attributes that game servers read in the roster; by default those of the rules, except of avoid
	Regions  []string        // game regions in order of preference, when no latencies decide
	Function *Function       // decides instead of teams and rules; nil: they do
}

// Attribute is the type of an attribute and its default.
type Attribute struct {
	Kind    match.Kind
	Default *match.Value // nil: tickets must have it
}

// Team is a team of a match. A document's team with a count of n is n teams here, named with "-1" to "-n" appended.
type Team struct {
	Name       string
	Min, Max   int // players; multiples of Step above Min
	Step       int
	Roles      []Role // by name
	AllowSplit bool   // a party may be in several teams
}

// Role says how many players of a team have a role. A player has one role at most; the attribute "role" lists those that it would take.
type Role struct {
	Name     string
	Min, Max int
}

// Fewer lowers the least size of teams once a match's tickets have waited.
type Fewer struct {
	After   time.Duration
	Players map[string]int // the least size of every team, by its name, until the next step
}

// Age says which ticket's waiting time decides the steps of a match.
type Age uint8

// The choices of Age. Oldest is the default.
const (
	Oldest Age = iota
	Youngest
	Mean
	Each // of a pair, the narrower of its two steps
)

// Batch says which seeds are tried first.
type Batch struct {
	By  string        // neighbours by this number come first; "": the oldest do
	For time.Duration // after which the oldest come first all the same
}

// Order is one criterion of a seed's preference.
type Order struct {
	Distance   string // an attribute: the nearest to the seed first; or
	Value      string // an attribute: the lowest first
	Descending bool
}

// JoinInProgress says whether newcomers may join a match that is playing.
type JoinInProgress struct {
	When   Joining
	Within time.Duration // the session's age up to which they may; 0: any
}

// Joining is when joining a match is tried.
type Joining uint8

// The choices of Joining. Never is the default.
const (
	Never  Joining = iota
	Allow          // after whole matches
	Prefer         // before whole matches
)

// Function is a match function elsewhere that decides for a profile.
type Function struct {
	Host  string
	Port  int
	Type  FunctionType
	Every time.Duration // the shortest time between two calls
}

// FunctionType is the protocol of a match function.
type FunctionType uint8

// The protocols of match functions.
const (
	GRPC FunctionType = iota
	REST
)
