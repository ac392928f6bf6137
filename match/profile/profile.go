// Package profile owns profiles, the documents that say how tickets become matches: their types, their strict parser
// for YAML and JSON, whose errors have line and column, and their JSON Schema. Package match/decide applies a profile,
// and db/profile.go stores its versions.
package profile

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/match"
)

// Profile is one version of a profile's document, with all defaults filled in. It is immutable.
type Profile struct {
	Name string
	// Modes are the modes of its sessions, at most 8. A match gets the first mode that all its tickets allow and that a
	// game server with free seats offers. Empty: its matches have no seats.
	Modes []string
	// Pool filters the candidates: tickets that name this profile, and tickets that name none. Nil: all tickets that
	// name this profile, and no others. A range without an end has an infinite one.
	Pool           *match.Pool
	Attributes     map[string]Attribute // what tickets that name the profile must have
	Teams          []Team               // at least one, unless Function is set; names are unique
	Rules          []Rule
	Prefer         []Preference  // what a match should satisfy, and need not
	Fewer          []Fewer       // sorted by AfterWait
	BotsAfter      time.Duration // the waiting time from which bots fill teams, so that players may be fewer; 0: never
	Autofill       time.Duration // the waiting time from which the players of a ticket take any role; 0: they never do
	Age            Age
	Batch          Batch
	Priority       Priority
	Trade          []Trade // what waiting is worth, sorted by key; empty: a match is made at once
	Order          []Order // how a seed orders its candidates; the older of equal ones is first
	JoinInProgress JoinInProgress
	Accept         time.Duration // how long players have to accept a match; 0: they are not asked
	// LatencyJump is how far a latency may be from the one that counted for the player before; 0: as far as it likes.
	LatencyJump time.Duration
	TTL         time.Duration   // after which a ticket leaves the queue
	Data        json.RawMessage // for the game server, with sorted keys; nil: none
	// Tell are the attributes that game servers read in the roster; by default those of the rules, except of avoid.
	Tell     []string
	Regions  []string  // game regions in order of preference, when no latencies decide
	Function *Function // decides instead of teams and rules; nil: these decide
}

// LeastLatencyJump returns the least latency jump of profiles in milliseconds; 0: none of them has one.
func LeastLatencyJump(profiles []*Profile) (milliseconds uint16) {
	for _, p := range profiles {
		jump := uint16(p.LatencyJump.Milliseconds()) // at most 10,000, as a latency
		if jump > 0 && (milliseconds == 0 || jump < milliseconds) {
			milliseconds = jump
		}
	}
	return milliseconds
}

// Pivot returns the attribute of the first near rule, by which tickets are ordered and grouped; "" without such a rule.
func (p *Profile) Pivot() string {
	for _, r := range p.Rules {
		if r.Kind == Near {
			return r.Attribute
		}
	}
	return ""
}

// Preferred returns the rules of the preferences.
func (p *Profile) Preferred() []Rule {
	rules := make([]Rule, len(p.Prefer))
	for i := range p.Prefer {
		rules[i] = p.Prefer[i].Rule
	}
	return rules
}

// Attributes that have a meaning of their own.
const (
	AttributeRole  = "role"  // the roles that a player would take, the preferred one first
	AttributeModes = "modes" // the modes that a player would play; a player without it plays all
)

// Attribute is the type of an attribute, its default, and who must vouch for its values.
type Attribute struct {
	Kind    match.Kind
	Default *match.Value // nil: tickets must have the attribute
	From    match.Source // the weakest source that suffices; a ticket with a value of a weaker one is no candidate
	Claim   []string     // of From claim: the path in the access token, at least one name; else nil
}

// Trusts reports whether a source suffices for the attribute.
func (a Attribute) Trusts(s match.Source) bool { return s >= a.From }

// Weak returns the attribute of a player for which a weaker source vouches than the profile asks for, the first by
// name.
func (p *Profile) Weak(player *match.Player) (attribute string, found bool) {
	for name, declared := range p.Attributes {
		// Any source suffices for an attribute of clients, and of several weak ones the first by name is returned.
		if declared.From == match.FromClient || found && name > attribute {
			continue
		}
		// Only a value that is there has a source; a missing one is judged by the rules.
		if _, has := player.Attributes[name]; has && !declared.Trusts(player.SourceOf(name)) {
			attribute, found = name, true
		}
	}
	return attribute, found
}

// Avoids reports whether a rule reads an attribute as the players to avoid.
func (p *Profile) Avoids(attribute string) bool { return avoidsAttribute(p.Rules, attribute) }

func avoidsAttribute(rules []Rule, attribute string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return r.Kind == Avoid && r.Attribute == attribute || avoidsAttribute(r.Rules, attribute)
	})
}

// ClaimPath names the claim that has an attribute, for people: "game.skill".
func (a Attribute) ClaimPath() string { return strings.Join(a.Claim, ".") }

// Team is a team of a match. A team of the document with a count of n becomes n teams, with "-1" to "-n" appended to
// the name.
type Team struct {
	Name       string
	Min, Max   int    // number of players
	Step       int    // between the allowed numbers of players, from Min on
	Roles      []Role // sorted by name
	AllowSplit bool   // the members of a party may be in different teams
}

// Role limits the number of players of a team with a role. A player has at most one role, from the list in the
// attribute [AttributeRole].
type Role struct {
	Name     string
	Min, Max int
}

// Fewer lowers the minimal sizes of teams after the tickets of a match have waited for a while.
type Fewer struct {
	AfterWait time.Duration
	Players   map[string]int // the least size of every team, by its name, until the next step
}

// Batch selects the order in which seeds are tried.
type Batch struct {
	Attribute string        // the attribute by which neighbours are tried first; "": the oldest first
	For       time.Duration // tickets that have waited for longer are tried first in any case
}

// Priority lets tickets take their turn earlier, as if they had waited for longer.
type Priority struct {
	// Attribute has the seconds; of a party the least counts, and players without the attribute have 0. "": no ticket
	// takes its turn earlier.
	Attribute string
	UpTo      time.Duration // the most that counts: a ticket never overtakes one that came longer before it
}

// Order is one criterion by which a seed orders its candidates.
type Order struct {
	Distance   string // an attribute: the candidates nearest to the seed first. "": Value is set
	Value      string // an attribute: the lowest first
	Descending bool
}

// JoinInProgress says whether tickets may join a running match.
type JoinInProgress struct {
	When   Joining
	Within time.Duration // the highest age of the session; 0: any age
}

// Joining says when joining a running match is tried.
type Joining uint8

// The values of Joining. Never is the default.
const (
	Never  Joining = iota
	Allow          // after new matches
	Prefer         // before new matches
)

// Function is the address of a match function that makes a profile's matches.
type Function struct {
	Host  string
	Port  int
	Type  FunctionType
	Every time.Duration // shortest time between two calls
}

// FunctionType is the protocol of a match function.
type FunctionType uint8

// The protocols of match functions.
const (
	GRPC FunctionType = iota
	REST
)

// Trade says how much of a quality a second of waiting is worth. A match is made when its players have waited, in sum,
// for as long as its quality costs them; the cost of several trades adds up.
type Trade struct {
	Quality   Quality
	Attribute string          // of OfAttribute and OfBalance
	ByRole    []RoleAttribute // of OfBalance: as of a rule
	Teams     Fold            // of OfBalance: how the values of players become a team's
	PerSecond float64         // points of the attribute or, of OfLatency, milliseconds; more than 0
}

// Quality is what a [Trade] measures of each player. Players who lack it cost nothing.
type Quality uint8

// The qualities.
const (
	OfAttribute Quality = iota // how far the player's number is from the mean of the match
	OfLatency                  // how much slower the match's game region is than the player's best
	OfBalance                  // how far the value of the player's team is from the mean of the teams
)

// Key returns the key of the trade in a document: the attribute, "latency" or "balance".
func (t Trade) Key() string {
	switch t.Quality {
	case OfLatency:
		return "latency"
	case OfBalance:
		return "balance"
	default: // OfAttribute
		return t.Attribute
	}
}
