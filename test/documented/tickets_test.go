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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
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

// shown returns the parts of the documentation that an expression finds.
func shown(t *testing.T, part *regexp.Regexp) (found []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, match := range part.FindAllSubmatch(text, -1) {
				found = append(found, string(match[1]))
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// ticket is the body of POST /tickets, as far as copies of it differ.
type ticket struct {
	Profiles []string                  `json:"profiles"`
	Party    []string                  `json:"party"`
	Players  map[string]rigtest.Fields `json:"players"`
}

// copyOf returns a ticket as other players post it, of whom each would play the role.
func copyOf(t *testing.T, body string, players int, name, role string) (sub string, posted rigtest.Fields) {
	t.Helper()
	var own ticket
	require.NoError(t, json.Unmarshal([]byte(body), &posted))
	require.NoError(t, json.Unmarshal([]byte(body), &own))
	party, of := []string{}, rigtest.Fields{}
	for _, member := range own.Party[:min(players, len(own.Party))] {
		attributes := map[string]any{}
		if shown, ok := own.Players[member]["attributes"].(map[string]any); ok {
			maps.Copy(attributes, shown)
		}
		attributes["role"] = role
		party = append(party, name+member)
		of[name+member] = rigtest.Fields{"attributes": attributes}
	}
	posted["party"], posted["players"] = party, of
	return party[0], posted
}

// Pins documentation whose tickets no profile of it matches. Every profile of the documentation is applied, and copies
// of the tickets that ask for it, with the roles that profiles of teams need, are posted until one is assigned.
func TestTheTicketsShownAreMatched(t *testing.T) {
	t.Parallel()
	r := rigtest.New(t, clitest.BuildDirector(t))
	r.Serve("--work")
	tickets := slices.DeleteFunc(shown(t, shownTicket), func(body string) bool {
		var own ticket
		// the members of a lobby queue over its WebSocket, in tests of its own
		return json.Unmarshal([]byte(body), &own) != nil || len(own.Party) == 0
	})
	require.NotEmpty(t, tickets)
	matched := 0
	for i, document := range shown(t, shownProfile) {
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err, document)
		if p.Function != nil {
			continue // docs/how-to/match-functions.md has a test with its server
		}
		r.ApplyProfile(document)
		for j, body := range tickets {
			var own ticket
			require.NoError(t, json.Unmarshal([]byte(body), &own))
			if slices.Contains(own.Profiles, p.Name) {
				requireMatched(t, r, p, body, fmt.Sprintf("%d-%d-", i, j))
				matched++
			}
		}
	}
	require.Positive(t, matched)
}

// requireMatched posts copies of a ticket beside a game server with room, until one is assigned: after a minute, where
// rules widen until then.
func requireMatched(t *testing.T, r *rigtest.Rig, p *profile.Profile, body, name string) {
	t.Helper()
	register := func() {
		status, answer, err := r.Fleet("/fleet/register", rigtest.Fields{
			"instance_id": "game", "endpoint": "203.0.113.7:7777", "region": "eu", "modes": p.Modes, "capacity": 1000,
		})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, answer)
	}
	register()
	parties := map[string][]string{} // by ticket
	for i, role := range []string{"tank", "tank", "healer", "healer"} {
		for players := range 2 {
			sub, copied := copyOf(t, body, players+1, fmt.Sprint(name, i, players, "-"), role)
			status, answer, err := r.Play(sub, "/tickets", copied)
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, status, "%v: %s", answer, body)
			parties[answer["ticket_id"].(string)] = copied["party"].([]string)
		}
	}
	require.Eventually(t, func() bool {
		register()
		for id, party := range parties {
			if stateOf(t, r, id, party) == "assigned" {
				return true
			}
		}
		return false
	}, 2*time.Minute, time.Second, "no match of %s: %s", p.Name, body)
}

// stateOf returns the state of a ticket, after its players have accepted the match that asks them.
func stateOf(t *testing.T, r *rigtest.Rig, id string, party []string) string {
	t.Helper()
	header := func(sub string) http.Header { return http.Header{"Authorization": {"Bearer " + r.AccessToken(sub)}} }
	status, answer, err := r.Call(t.Context(), http.MethodGet, r.NextReplica()+"/tickets/"+id, header(party[0]), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, answer)
	if answer["state"] == "accepting" {
		for _, sub := range party {
			_, _, err := r.Post(r.NextReplica(), "/tickets/"+id+"/accept", header(sub), rigtest.Fields{"match_id": answer["match_id"]})
			require.NoError(t, err)
		}
	}
	return answer["state"].(string)
}
