// Package documented plays what the documentation shows, against real processes.
package documented

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/test/rigtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}

var (
	shownTicket  = regexp.MustCompile(`(?s)localhost:8080/tickets .*? -d '(\{.*?\})'`)
	shownProfile = regexp.MustCompile("(?s)```yaml\n(name: .*?)```")
)

// findShown returns the parts of the documentation that an expression finds.
func findShown(t *testing.T, part *regexp.Regexp) (found []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names := must.Get(filepath.Glob(filepath.Join("../..", pattern)))(t)
		for _, name := range names {
			text := must.Get(os.ReadFile(name))(t)
			for _, match := range part.FindAllSubmatch(text, -1) {
				found = append(found, string(match[1]))
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// shownTickets returns the tickets of players that the documentation shows.
func shownTickets(t *testing.T) (tickets []ticket) {
	t.Helper()
	for _, body := range findShown(t, shownTicket) {
		own := ticket{body: body}
		// Others are of members of a lobby, who queue over its WebSocket: tests of the lobby have them.
		if json.Unmarshal([]byte(body), &own) == nil && len(own.Party) > 0 {
			tickets = append(tickets, own)
		}
	}
	return tickets
}

// ticket is the body of a shown POST /tickets, with the fields in which copies of it differ.
type ticket struct {
	body     string
	Profiles []string                  `json:"profiles"`
	Party    []string                  `json:"party"`
	Players  map[string]rigtest.Fields `json:"players"`
}

// copyFor returns a copy of the ticket for one profile, and its party: other players, of whom each would play the role.
func (own ticket) copyFor(t *testing.T, profile string, players int, name, role string) (party []string,
	posted rigtest.Fields) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(own.body), &posted))
	playersOf := rigtest.Fields{}
	for _, member := range own.Party[:min(players, len(own.Party))] {
		attributes := map[string]any{}
		if shown, ok := own.Players[member]["attributes"].(map[string]any); ok {
			maps.Copy(attributes, shown)
		}
		attributes["role"] = role
		party = append(party, name+member)
		playersOf[name+member] = rigtest.Fields{"attributes": attributes}
	}
	posted["profiles"], posted["party"], posted["players"] = []string{profile}, party, playersOf
	return party, posted
}

// Pins documentation whose tickets no profile of it matches. Every profile of the documentation is applied, and copies
// of the tickets that ask for it, with the roles that profiles of teams need, are posted until one is assigned: after a
// minute, where rules widen until then. All wait side by side, so each profile has a name of its own.
func TestTheTicketsShownAreMatched(t *testing.T) {
	t.Parallel()
	r := rigtest.NewRig(t, clitest.BuildDirector(t))
	r.ServeReplica("--work")
	tickets := shownTickets(t)
	var waiting []shownMatch
	var modes []string
	for i, document := range findShown(t, shownProfile) {
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err, document)
		if p.Function != nil {
			continue // docs/how-to/match-functions.md has a test with its server
		}
		name := fmt.Sprint("shown-", i)
		r.ApplyProfile(strings.Replace(document, "name: "+p.Name, "name: "+name, 1))
		modes = slices.Compact(slices.Sorted(slices.Values(append(modes, p.Modes...))))
		register(r, modes)
		for j, own := range tickets {
			if slices.Contains(own.Profiles, p.Name) {
				waiting = append(waiting, postCopies(r, name, own, fmt.Sprintf("%d-%d-", i, j)))
			}
		}
	}
	require.NotEmpty(t, waiting)
	require.Eventually(t, func() bool {
		register(r, modes)
		waiting = slices.DeleteFunc(waiting, func(m shownMatch) bool { return m.isMade(r) })
		return len(waiting) == 0
	}, 2*time.Minute, time.Second, "no match of %v", &waiting)
}

// register registers a game server with room for all. A further call renews its lease.
func register(r *rigtest.Rig, modes []string) {
	r.T.Helper()
	r.RequireOK(r.PostFleet("/fleet/register", rigtest.Fields{
		"instance_id": "game", "endpoint": "203.0.113.7:7777", "region": "eu", "modes": modes, "capacity": 1000,
	}))
}

// shownMatch is a match that is to be made of copies of a ticket.
type shownMatch struct {
	body    string
	parties map[string][]string // by ticket
}

// postCopies posts copies of a ticket for a profile: alone and as two, twice for each of two roles.
func postCopies(r *rigtest.Rig, profile string, own ticket, name string) shownMatch {
	r.T.Helper()
	m := shownMatch{body: own.body, parties: map[string][]string{}}
	for i, role := range []string{"tank", "tank", "healer", "healer"} {
		for _, players := range []int{1, 2} {
			party, copied := own.copyFor(r.T, profile, players, fmt.Sprint(name, i, players, "-"), role)
			answer := r.RequireStatus(http.StatusCreated)(r.PostPlay(party[0], "/tickets", copied))
			m.parties[answer["ticket_id"].(string)] = party
		}
	}
	return m
}

// isMade reports whether one of the tickets is assigned. Players accept the match that asks them.
func (m shownMatch) isMade(r *rigtest.Rig) bool {
	r.T.Helper()
	for id, party := range m.parties {
		answer := r.RequireOK(r.CallJSON(r.T.Context(), http.MethodGet, r.NextReplica()+"/tickets/"+id,
			r.HeaderOf(party[0]), nil))
		switch answer["state"] {
		case "assigned":
			return true
		case "accepting":
			for _, sub := range party {
				_, _, err := r.PostPlay(sub, "/tickets/"+id+"/accept", rigtest.Fields{"match_id": answer["match_id"]})
				require.NoError(r.T, err)
			}
		}
	}
	return false
}
