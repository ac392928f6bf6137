package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// sourcesOf returns who vouches for each attribute of each player; nil for a ticket without attributes.
func sourcesOf(t *match.Ticket) map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range t.Players {
		p := &t.Players[i]
		if len(p.Attributes) == 0 {
			continue
		}
		all[p.Sub] = make(map[string]string, len(p.Attributes))
		for name := range p.Attributes {
			all[p.Sub][name] = p.SourceOf(name).String()
		}
	}
	// The document has no empty object.
	if len(all) == 0 {
		return nil
	}
	return all
}

// writeSources writes a line for each source: the attributes that it vouches for, of any player.
func (t Ticket) writeSources(b *strings.Builder) {
	names := map[string][]string{}
	for _, sources := range t.Sources {
		for name, source := range sources {
			names[source] = append(names[source], name)
		}
	}
	// The strongest first.
	for _, source := range []match.Source{match.FromBackend, match.FromClaim, match.FromClient} {
		if all := names[source.String()]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(b, "vouched for by %s: %s\n", sourceWords[source], strings.Join(slices.Compact(all), ", "))
		}
	}
}

var sourceWords = map[match.Source]string{match.FromBackend: "a backend", match.FromClaim: "a claim of the access token",
	match.FromClient: "the player's client"}
