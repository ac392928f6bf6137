package play

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/rest"
)

var (
	profileName = rest.Format{
		Description: "1 to 64 characters of a-z 0-9 -",
		Valid: func(s string) bool {
			return len(s) <= 64 && s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
		},
	}
	attributeName = rest.Mode // the same alphabet and length
	lobbyID       = rest.Format{Description: "1 to 128 bytes of UTF-8 without spaces and control characters",
		Valid: lobby.ValidID}
)

// ticketRequest asks for a ticket. Values of attributes are numbers, texts or lists of texts.
type ticketRequest struct {
	Profiles   []string                   `json:"profiles"`
	Party      []string                   `json:"party"` // nil means the caller alone
	Attributes map[string]json.RawMessage `json:"attributes"`
	Players    map[string]*ticketPlayer   `json:"players"`
	Latencies  map[string]*float64        `json:"latencies"`
	Lobby      *ticketLobby               `json:"lobby"` // its members are the party; nil: none
}

// ticketLobby is a room of the realtime lobby.
type ticketLobby struct {
	Project string `json:"project"`
	Room    string `json:"room"`
}

type ticketPlayer struct {
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// Validate implements rest.Validator.
func (r *ticketRequest) Validate(c *rest.Check) {
	c.Count("profiles", len(r.Profiles), 0, ticketbody.MaxProfiles)
	c.Each("profiles", r.Profiles, profileName)
	c.Unique("profiles", r.Profiles)
	if r.Party != nil {
		c.Count("party", len(r.Party), 1, ticketbody.MaxPlayers)
		c.Each("party", r.Party, rest.Sub)
		c.Unique("party", r.Party)
	}
	if r.Lobby != nil {
		c.That(r.Party == nil, "party", "must be absent: the party is the members of the lobby")
		c.Match("lobby.project", r.Lobby.Project, lobbyID)
		c.Match("lobby.room", r.Lobby.Room, lobbyID)
	}
	c.Count("players", len(r.Players), 0, ticketbody.MaxPlayers)
	c.Count("latencies", len(r.Latencies), 0, ticketbody.MaxRegions)
	for _, region := range slices.Sorted(maps.Keys(r.Latencies)) {
		c.That(rest.Region.Valid(region), "latencies."+region, "the name must be "+rest.Region.Description)
		// The client could not measure a region that is null, which is left out.
		if ms := r.Latencies[region]; ms != nil {
			_, ok := match.LatencyOf(*ms)
			c.That(ok, "latencies."+region,
				fmt.Sprintf("must be a whole number of milliseconds from 0 to %d", match.MaxLatency))
		}
	}
}

// draftFor translates the request. members are those of its lobby. It checks the rules that involve the caller, and the
// values of attributes.
func (r *ticketRequest) draftFor(caller, key string, members []string) (d ticketbody.Draft, err error) {
	var c rest.Check
	if key != "" {
		c.Match("Idempotency-Key", key, idempotencyKey)
	}
	party := r.partyFor(caller, members)
	c.That(slices.Contains(party, caller), "party", "must contain the caller")
	d.Profiles = slices.Sorted(slices.Values(r.Profiles))
	d.Attributes = attributesOf(&c, "attributes", r.Attributes)
	size := d.Attributes.Bytes()
	// A misspelt name, if it were ignored, would queue the player without its attributes.
	for _, sub := range slices.Sorted(maps.Keys(r.Players)) {
		c.That(slices.Contains(party, sub), "players."+sub, "must be a member of the party")
	}
	for _, sub := range party {
		p := match.Player{Sub: sub}
		if own := r.Players[sub]; own != nil {
			p.Attributes = attributesOf(&c, "players."+sub+".attributes", own.Attributes)
			size += p.Attributes.Bytes()
		}
		d.Players = append(d.Players, p)
	}
	c.That(size <= match.MaxAttributeBytes, "attributes",
		fmt.Sprintf("must not be larger than %d bytes, with those of players", match.MaxAttributeBytes))
	d.Latencies = r.measuredLatencies()
	return d, c.Err()
}

// partyFor returns the players of the request, sorted, so that requests of all members of a party mean the same.
func (r *ticketRequest) partyFor(caller string, members []string) []string {
	switch {
	case r.Lobby != nil:
		return members // the store sorts them
	case r.Party == nil:
		return []string{caller}
	}
	return slices.Sorted(slices.Values(r.Party))
}

// measuredLatencies returns the latencies in milliseconds, by region, without those that the client could not measure.
func (r *ticketRequest) measuredLatencies() map[string]uint16 {
	measured := make(map[string]uint16, len(r.Latencies))
	for region, ms := range r.Latencies {
		if ms != nil {
			measured[region], _ = match.LatencyOf(*ms) // checked by Validate
		}
	}
	return measured
}

// attributesOf checks and converts attributes; null is absent.
func attributesOf(c *rest.Check, field string, values map[string]json.RawMessage) match.Attributes {
	c.Count(field, len(values), 0, match.MaxAttributes)
	out := make(match.Attributes, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v, problem := match.ParseAttribute(name, values[name])
		if v.Kind == 0 && problem == "" {
			continue
		}
		at := field + "." + name
		c.That(attributeName.Valid(name), at, "the name must be "+attributeName.Description)
		c.That(problem == "", at, problem)
		out[name] = v
	}
	return out
}

// hashOf returns the same value for requests that mean the same, whichever member of the party sends them. Another
// version of this code may serve a retry, so a field that is added must not change the hash when it is absent.
func hashOf(d ticketbody.Draft, lobby *ticketLobby, isBackend bool) []byte {
	type player struct {
		Sub        string           `json:"sub"`
		Attributes match.Attributes `json:"attributes,omitempty"`
	}
	canonical := struct {
		Profiles   []string          `json:"profiles"`
		Players    []player          `json:"players"`
		Attributes match.Attributes  `json:"attributes,omitempty"`
		Latencies  map[string]uint16 `json:"latencies,omitempty"`
		Lobby      *ticketLobby      `json:"lobby,omitempty"`
		IsBackend  bool              `json:"backend,omitempty"`
	}{Profiles: d.Profiles, Attributes: d.Attributes, Latencies: d.Latencies, Lobby: lobby, IsBackend: isBackend}
	for _, p := range d.Players {
		canonical.Players = append(canonical.Players, player{p.Sub, p.Attributes})
	}
	slices.SortFunc(canonical.Players, func(a, b player) int { return cmp.Compare(a.Sub, b.Sub) })
	text, _ := json.Marshal(canonical) // finite numbers and texts always encode; maps are sorted
	sum := sha256.Sum256(text)
	return sum[:]
}
