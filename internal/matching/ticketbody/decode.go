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
	t := &match.Ticket{ID: id, Created: created, Fields: FieldsOf(s),
		Profiles: profilesOf(s.GetTags(), details.GetProfiles())}
	t.Fields.Created = match.MomentOf(created)
	if details != nil {
		t.Latencies = latenciesOf(details.GetLatencies())
		// Few tickets have any: an empty map for each of the others would only take memory.
		if claimed := details.GetClaimedLatencies(); len(claimed) > 0 {
			t.ClaimedLatencies = latenciesOf(claimed)
		}
	}
	argPlayer := ""
	if playerArg != "" { // a string_arg may have the empty name
		argPlayer = s.GetStringArgs()[playerArg]
	}
	t.Players = playersOf(attributesOf(s), details, argPlayer)
	return t, nil
}

// FieldsOf returns the fields that pools filter by, without Created. A missing message has no fields. The result shares
// memory with the message.
func FieldsOf(s *openmatch.SearchFields) match.Fields {
	return match.Fields{Doubles: s.GetDoubleArgs(), Strings: s.GetStringArgs(), Tags: s.GetTags()}
}

// detailsIn returns a ticket's extension, nil where the ticket has none. Errors: the extension is invalid.
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

// checkDetails checks what a frontend of Open Match can put into an extension past the checks of our own API.
func checkDetails(d *pb.TicketDetails) error {
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
	// A ready check stores the names of regions and profiles as JSON: one ticket whose names Postgres refuses would fail
	// each match that it is in.
	if slices.ContainsFunc(d.GetProfiles(), isUnstorable) {
		return errors.New("the name of a profile has a zero byte")
	}
	return nil
}

// profilesOf returns the profiles that a ticket's tags name and then those that its extension names, each once.
func profilesOf(tags, inExtension []string) (names []string) {
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag, ProfileTag); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range inExtension {
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

// playersOf returns the players of a ticket's extension, sorted by sub, or without an extension the player that a
// string_arg names, unless that name is no valid sub. Players without attributes of their own share the ticket's.
func playersOf(ticket match.Attributes, d *pb.TicketDetails, argPlayer string) []match.Player {
	// A frontend of Open Match is a backend of the studio: it vouches for all attributes (docs/security.md).
	if d == nil && token.ValidSubject(argPlayer) {
		return []match.Player{{Sub: argPlayer, Attributes: ticket, Source: match.FromBackend}}
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

// sourcesOf returns who vouches for attributes. The client does for those that are not in the result, such as one with
// a source that this release does not know.
func sourcesOf(stored map[string]pb.Source) map[string]match.Source {
	if len(stored) == 0 {
		return nil
	}
	all := make(map[string]match.Source, len(stored))
	for name, s := range stored {
		if s == pb.Source_CLAIM {
			all[name] = match.FromClaim
		}
		if s == pb.Source_BACKEND {
			all[name] = match.FromBackend
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

// attributesOf returns the attributes that the search fields hold. A name that is several counts as a number before a
// text, and as a text before a list.
func attributesOf(s *openmatch.SearchFields) match.Attributes {
	all := make(match.Attributes, len(s.GetDoubleArgs())+len(s.GetStringArgs()))
	for _, tag := range s.GetTags() {
		name, value, isList := strings.Cut(tag, ":")
		if !isList || isUnstorable(tag) || strings.HasPrefix(tag, ProfileTag) {
			continue
		}
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

// isUnstorable reports whether Postgres cannot store a text, because it has a zero byte.
func isUnstorable(text string) bool { return strings.Contains(text, "\x00") }

func isStorable(text string) bool { return !isUnstorable(text) }
