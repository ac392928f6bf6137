package ticketbody

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// Facts returns what history keeps of a ticket, as JSON, each nil where the ticket has none:
//   - the attributes of each player, as {"ada": {"skill": 1500, "maps": ["dust"]}}. Beside the players, under the name
//     "", which no player has, are the [furtherFacts]: {"": {"tags": ["ranked"], "sources": {"ada": {"skill": "claim"}}}}
//   - the latencies in milliseconds, by region
func Facts(t *match.Ticket) (attributes, latencies []byte) {
	players := make(map[string]map[string]any, len(t.Players))
	for _, p := range t.Players {
		values := make(map[string]any, len(p.Attributes))
		for name, v := range p.Attributes {
			values[name] = v.Plain()
		}
		players[p.Sub] = values
	}
	if len(players) > 0 {
		if further := furtherValues(t); len(further) > 0 {
			players[""] = further
		}
		attributes, _ = json.Marshal(players) // finite numbers and texts always encode
	}
	if len(t.Latencies) > 0 {
		latencies, _ = json.Marshal(t.Latencies)
	}
	return attributes, latencies
}

// furtherValues returns the [furtherFacts] of a ticket, without those that are empty.
func furtherValues(t *match.Ticket) map[string]any {
	further := map[string]any{}
	if tags := plainTags(t.Fields.Tags); len(tags) > 0 {
		further["tags"] = tags
	}
	if sources := sourceWords(t.Players); len(sources) > 0 {
		further["sources"] = sources
	}
	return further
}

// plainTags returns the tags that are no value of a list.
func plainTags(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags),
		func(tag string) bool { return strings.Contains(tag, ":") || isUnstorable(tag) })
}

// FromFacts makes a ticket from the result of [Facts]; t has the ticket's id, creation and profiles. The result's
// Fields, by which pools filter, are the tags, and the attributes that all players share. Errors: the JSON has another
// form.
func FromFacts(t match.Ticket, attributes, latencies []byte) (*match.Ticket, error) {
	var players map[string]map[string]any
	if err := unmarshalOptional(attributes, &players); err != nil {
		return nil, fmt.Errorf("the attributes of ticket %s: %w", t.ID, err)
	}
	if err := unmarshalOptional(latencies, &t.Latencies); err != nil {
		return nil, fmt.Errorf("the latencies of ticket %s: %w", t.ID, err)
	}
	tags := match.ValueOf(players[""]["tags"]).List
	delete(players, "")
	for _, sub := range slices.Sorted(maps.Keys(players)) {
		// A replay takes every value as vouched for, whatever sources the history has: histories of earlier releases, and
		// hashed ones, have none. DraftOfFacts restores the sources.
		p := match.Player{Sub: sub, Attributes: match.Attributes{}, Source: match.FromBackend}
		for name, v := range players[sub] {
			if value := match.ValueOf(v); value.Kind != 0 {
				p.Attributes[name] = value
			}
		}
		t.Players = append(t.Players, p)
	}
	t.Fields = sharedFields(t.Players)
	t.Fields.Tags = append(t.Fields.Tags, tags...)
	t.Fields.Created = match.MomentOf(t.Created)
	return &t, nil
}

// unmarshalOptional decodes JSON. Without any, as in a history that has no such facts, the target stays as it is.
func unmarshalOptional(text []byte, to any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, to)
}

// sharedFields returns the search fields of the attributes that all players have in common, none without players.
func sharedFields(players []match.Player) match.Fields {
	if len(players) == 0 {
		return match.Fields{}
	}
	return Fields(Draft{Attributes: sharedAttributes(players)})
}

// sharedAttributes returns the attributes that all players have in common. There must be at least one player.
func sharedAttributes(players []match.Player) match.Attributes {
	shared := maps.Clone(players[0].Attributes)
	for _, p := range players[1:] {
		maps.DeleteFunc(shared, func(name string, v match.Value) bool {
			return !reflect.DeepEqual(p.Attributes[name], v)
		})
	}
	return shared
}

// sourceWords returns the sources of players' attributes as words, by player and name. Attributes that only the client
// vouches for are left out.
func sourceWords(players []match.Player) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, p := range players {
		for name := range p.Attributes {
			s := p.SourceOf(name)
			if s == match.FromClient {
				continue
			}
			if all[p.Sub] == nil {
				all[p.Sub] = map[string]string{}
			}
			all[p.Sub][name] = s.String()
		}
	}
	return all
}
