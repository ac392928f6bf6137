package ticketbody

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lattice-director/director/match"
)

// DraftOfFacts returns the draft with which the players subs of a past ticket wait again, from the ticket's [Facts].
// Attributes that all its players had in common become attributes of the ticket, as pools read them. Errors: the JSON
// has another form; it lacks one of subs, as a hashed history does.
func DraftOfFacts(profiles, subs []string, attributes, latencies []byte) (Draft, error) {
	past, err := FromFacts(match.Ticket{Profiles: profiles}, attributes, latencies)
	if err != nil {
		return Draft{}, err
	}
	further, err := parseFurther(attributes)
	if err != nil {
		return Draft{}, err
	}
	if len(past.Players) == 0 {
		return Draft{}, errNoPlayer
	}
	d := Draft{Profiles: profiles, Tags: further.Tags, Attributes: sharedAttributes(past.Players),
		Latencies: past.Latencies}
	sources := further.sourcesByPlayer()
	for _, p := range past.Players {
		if slices.Contains(subs, p.Sub) {
			own := maps.Clone(p.Attributes)
			maps.DeleteFunc(own, func(name string, _ match.Value) bool {
				_, isShared := d.Attributes[name]
				return isShared
			})
			d.Players = append(d.Players, match.Player{Sub: p.Sub, Attributes: own, Sources: sources[p.Sub]})
		}
	}
	// A hashed history has the hashes of players instead of their names.
	if len(d.Players) < len(subs) {
		return Draft{}, errNoPlayer
	}
	return d, nil
}

var errNoPlayer = errors.New("the history of the ticket does not have the player")

// furtherFacts are what [Facts] has beside the attributes of players.
type furtherFacts struct {
	Tags []string `json:"tags"` // that belong to no attribute, which only pools read
	// Sources are the words of sources that vouch for attributes, other than the client, by player and name.
	Sources map[string]map[string]string `json:"sources"`
}

// parseFurther returns the further facts in the attributes of [Facts]; none: they are empty.
func parseFurther(attributes []byte) (f furtherFacts, err error) {
	var players map[string]json.RawMessage
	if err := unmarshalOptional(attributes, &players); err != nil {
		return f, err
	}
	if err := unmarshalOptional(players[""], &f); err != nil {
		return f, fmt.Errorf("tags and sources: %w", err)
	}
	return f, nil
}

// sourcesByPlayer returns the sources of attributes, by player and name. The client vouches for those that are missing,
// such as one whose word this release does not know.
func (f furtherFacts) sourcesByPlayer() map[string]map[string]match.Source {
	all := map[string]map[string]match.Source{}
	for sub, words := range f.Sources {
		all[sub] = map[string]match.Source{}
		for name, word := range words {
			for _, s := range []match.Source{match.FromClaim, match.FromBackend} {
				if word == s.String() {
					all[sub][name] = s
				}
			}
		}
	}
	return all
}
