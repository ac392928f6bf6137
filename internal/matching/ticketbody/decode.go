package ticketbody

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/api/ticket/pb"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/token"
)

// Decode reads the body of a ticket, whatever client made it. Its id and time are those of the ticket's row. The
// players are those of the extension; without one, the player that the string_arg playerArg names; "" names none. A
// ticket of Open Match may therefore have no players.
//
// Numbers that are not finite, and texts with zero bytes, are no attributes, since a report of them could not be
// stored. Errors: the body is no openmatch.Ticket; its extension is invalid.
func Decode(id string, created time.Time, body []byte, playerArg string) (*match.Ticket, error) {
	var m openmatch.Ticket
	if err := proto.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("the body of a ticket: %w", err)
	}
	details, err := detailsIn(&m)
	if err != nil {
		return nil, fmt.Errorf("extension %s: %w", TicketExtension, err)
	}
	s := m.GetSearchFields()
	t := &match.Ticket{
		ID: id, Created: created,
		Fields: match.Fields{Doubles: s.GetDoubleArgs(), Strings: s.GetStringArgs(), Tags: s.GetTags(),
			Created: match.MomentOf(created)},
		Profiles: profilesOf(s.GetTags(), details.GetProfiles()),
	}
	if details != nil {
		t.Latencies = latenciesOf(details.GetLatencies())
		// Few tickets have any: an empty map for each of the others would only take memory.
		if claimed := details.GetClaimedLatencies(); len(claimed) > 0 {
			t.ClaimedLatencies = latenciesOf(claimed)
		}
	}
	player := ""
	if playerArg != "" { // a string_arg may have the empty name
		player = s.GetStringArgs()[playerArg]
	}
	t.Players = playersOf(attributesOf(s), details, player)
	return t, nil
}

// detailsIn returns the extension, nil where the ticket has none. Errors: it is invalid.
func detailsIn(m *openmatch.Ticket) (*pb.TicketDetails, error) {
	packed := m.GetExtensions()[TicketExtension]
	if packed == nil {
		return nil, nil //nolint:nilnil // most tickets of Open Match have none
	}
	details := &pb.TicketDetails{}
	if err := packed.UnmarshalTo(details); err != nil {
		return nil, err
	}
	return details, checkDetails(details)
}

func checkDetails(d *pb.TicketDetails) error {
	// Frontends of Open Match can send any extension, past the checks of our own API.
	if len(d.GetPlayers()) > MaxPlayers || max(len(d.GetLatencies()), len(d.GetClaimedLatencies())) > MaxRegions ||
		len(d.GetProfiles()) > MaxProfiles {
		return fmt.Errorf("a ticket has at most %d players, %d regions and %d profiles", MaxPlayers, MaxRegions,
			MaxProfiles)
	}
	seen := make(map[string]bool, len(d.GetPlayers()))
	for _, p := range d.GetPlayers() {
		if !token.ValidSubject(p.GetSub()) || seen[p.GetSub()] {
			return errors.New("a player's sub is 1 to 255 bytes of UTF-8 without control characters, and is in the " +
				"party once")
		}
		seen[p.GetSub()] = true
	}
	for _, latencies := range []map[string]uint32{d.GetLatencies(), d.GetClaimedLatencies()} {
		for region, ms := range latencies {
			if ms > MaxLatency {
				return fmt.Errorf("the latency of region %q is over %d ms", region, MaxLatency)
			}
			if isUnstorable(region) {
				return fmt.Errorf("the region %q has a zero byte", region)
			}
		}
	}
	// A ready check stores both as JSON: one ticket that Postgres refuses would fail each match that it is in.
	if slices.ContainsFunc(d.GetProfiles(), isUnstorable) {
		return errors.New("the name of a profile has a zero byte")
	}
	return nil
}

// profilesOf returns the names of both places, each once, in their order.
func profilesOf(tags, more []string) (names []string) {
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag, ProfileTag); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func latenciesOf(stored map[string]uint32) map[string]uint16 {
	out := make(map[string]uint16, len(stored))
	for region, ms := range stored {
		out[region] = uint16(ms) // at most MaxLatency: see checkDetails
	}
	return out
}

// playersOf returns the party, sorted. Players without attributes of their own share the ticket's.
func playersOf(ticket match.Attributes, d *pb.TicketDetails, player string) []match.Player {
	// A frontend of Open Match is a backend of the studio: it vouches for all attributes (docs/security.md).
	if d == nil && token.ValidSubject(player) {
		return []match.Player{{Sub: player, Attributes: ticket, Source: match.FromBackend}}
	}
	players := make([]match.Player, 0, len(d.GetPlayers()))
	for _, p := range d.GetPlayers() {
		players = append(players, match.Player{Sub: p.GetSub(),
			Attributes: overlayAttributes(ticket, p.GetAttributes()),
			Sources:    sourcesOf(p.GetSources())})
	}
	slices.SortFunc(players, func(a, b match.Player) int { return cmp.Compare(a.Sub, b.Sub) })
	return players
}

// sourcesOf reads who vouches for attributes. A source that this release does not know is the client's word.
func sourcesOf(stored map[string]pb.Source) map[string]match.Source {
	if len(stored) == 0 {
		return nil
	}
	all := make(map[string]match.Source, len(stored))
	for name, s := range stored {
		switch s {
		case pb.Source_CLAIM:
			all[name] = match.FromClaim
		case pb.Source_BACKEND:
			all[name] = match.FromBackend
		// What is not in the map is the client's word.
		case pb.Source_CLIENT:
		}
	}
	return all
}

// overlayAttributes returns a player's attributes: its own, and of other names the ticket's.
func overlayAttributes(ticket match.Attributes, own map[string]*pb.Value) match.Attributes {
	if len(own) == 0 {
		return ticket // the same map for all, to save memory: a worker keeps hundreds of thousands of tickets
	}
	all := maps.Clone(ticket) // other players share the map
	for name, m := range own {
		if v, ok := attributeValue(m); ok && isStorable(name) {
			all[name] = v
		}
	}
	return all
}

// attributeValue converts a stored value; ok is false for one that this release does not know, or that no report can
// hold.
func attributeValue(m *pb.Value) (v match.Value, ok bool) {
	switch kind := m.GetKind().(type) {
	case *pb.Value_Number:
		return match.Value{Kind: match.Number, Number: kind.Number}, isFinite(kind.Number)
	case *pb.Value_Text:
		return match.Value{Kind: match.Text, Text: kind.Text}, isStorable(kind.Text)
	case *pb.Value_List:
		values := kind.List.GetValues()
		return match.Value{Kind: match.List, List: values}, !slices.ContainsFunc(values, isUnstorable)
	}
	return v, false
}

// attributesOf returns the attributes that the search fields hold. Of a name that is a number and a text, the number
// counts.
func attributesOf(s *openmatch.SearchFields) match.Attributes {
	all := make(match.Attributes, len(s.GetDoubleArgs())+len(s.GetStringArgs()))
	for _, tag := range s.GetTags() {
		name, value, isList := strings.Cut(tag, ":")
		if !isList || isUnstorable(tag) || strings.HasPrefix(tag, ProfileTag) {
			continue
		}
		// Texts and numbers of the same name come after, and replace the list.
		all[name] = match.Value{Kind: match.List, List: append(all[name].List, value)}
	}
	for name, text := range s.GetStringArgs() {
		if isStorable(name) && isStorable(text) {
			all[name] = match.Value{Kind: match.Text, Text: text}
		}
	}
	for name, n := range s.GetDoubleArgs() {
		if isStorable(name) && isFinite(n) {
			all[name] = match.Value{Kind: match.Number, Number: n}
		}
	}
	return all
}

func isFinite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// Postgres stores no zero byte in a text.
func isUnstorable(text string) bool { return strings.Contains(text, "\x00") }

func isStorable(text string) bool { return !isUnstorable(text) }
