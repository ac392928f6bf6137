package ticketbody

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lattice-director/director/match"
)

// DraftOfFacts returns the draft with which some of the players of a past ticket wait again, from its [Facts]. What all
// its players had in common are attributes of the ticket, as pools read them. Errors: the JSON has another form, as
// where the history is hashed; it has none of the players.
func DraftOfFacts(profiles, subs []string, attributes, latencies []byte) (Draft, error) {
	past, err := FromFacts(match.Ticket{Profiles: profiles}, attributes, latencies)
	if err != nil {
		return Draft{}, err
	}
	further, err := furtherInFacts(attributes)
	if err != nil || len(past.Players) == 0 {
		return Draft{}, errors.Join(err, errNoPlayer)
	}
	d := Draft{Profiles: profiles, Tags: further.Tags, Attributes: sharedAttributes(past.Players),
		Latencies: past.Latencies}
	sources := further.sourcesByPlayer()
	for _, p := range past.Players {
		if slices.Contains(subs, p.Sub) {
			own := maps.Clone(p.Attributes)
			maps.DeleteFunc(own, func(name string,
				_ match.Value) bool {
				_, shared := d.Attributes[name]
				return shared
			})
			d.Players = append(d.Players, match.Player{Sub: p.Sub, Attributes: own, Sources: sources[p.Sub]})
		}
	}
	// In a hashed history no player has its name.
	if len(d.Players) < len(subs) {
		return Draft{}, errNoPlayer
	}
	return d, nil
}

var errNoPlayer = errors.New("the history of the ticket does not have the player")

// further is what facts have beside the attributes of players: see furtherFacts.
type further struct {
	Tags    []string                     `json:"tags"`
	Sources map[string]map[string]string `json:"sources"` // words, by player and name
}

func furtherInFacts(attributes []byte) (f further, err error) {
	var players map[string]json.RawMessage
	if err := unmarshalOptional(attributes, &players); err != nil {
		return f, err
	}
	if err := unmarshalOptional(players[""], &f); err != nil {
		return f, fmt.Errorf("tags and sources: %w", err)
	}
	return f, nil
}

// sourcesByPlayer returns what sourceWords has written. A word that this release does not know is the client's.
func (f further) sourcesByPlayer() map[string]map[string]match.Source {
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
