// Package parity_test proves that profiles can say what other matchmakers can: testdata holds a profile for each kind
// of rule of FlexMatch, PlayFab, Unity and Nakama, for FlexMatch's public examples and for queues of games, each with
// tickets that must match and tickets that must not. docs/how-to/move-from-other-matchmakers.md explains them.
package parity_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/decide/decidetest"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

// feasibleUpTo is the number of tickets up to which all matches are enumerated as well.
const feasibleUpTo = 7

// Pins a kind of rule of another matchmaker that a profile cannot express, or that is decided otherwise than it says.
func TestParity(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.tickets.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		profileFile := strings.Replace(name, ".tickets", "", 1)
		p, err := profile.Parse(must.Get(os.ReadFile(profileFile))(t))
		require.NoError(t, err, profileFile)
		require.Equal(t, strings.TrimSuffix(filepath.Base(profileFile), ".yaml"), p.Name)
		for _, c := range casesOf(t, name, p.Name) {
			t.Run(p.Name+"/"+c.About, func(t *testing.T) {
				t.Parallel()
				out := decide.Decide(decide.Input{Version: decide.Version{Profile: p, Number: 1}, Tickets: c.tickets, Regions: c.regions(), Now: now})
				matches, sizes := [][]string{}, []int{}
				for _, m := range out.Proposals {
					require.Empty(t, decidetest.Violations(p, m, decidetest.Match(m, c.values()), now))
					matches, sizes = append(matches, slices.Sorted(slices.Values(m.Tickets))), append(sizes, m.Players())
					if c.Region != "" {
						require.NotEmpty(t, m.Regions)
						require.Equal(t, c.Region, m.Regions[0].Name)
					}
					for attribute, value := range c.Chosen {
						require.Equal(t, value, m.Chosen[attribute])
					}
					for _, left := range c.Left {
						require.NotContains(t, m.Tickets, left)
					}
				}
				if c.Sizes == nil {
					require.ElementsMatch(t, c.Matches, matches)
				} else {
					require.Equal(t, c.Sizes, sizes)
				}
				if len(c.tickets) <= feasibleUpTo {
					require.Equal(t, len(out.Proposals) > 0, verify.Feasible(p, c.values(), nil, now))
				}
			})
		}
	}
}

// Pins an example that the page does not name, and one that it names and that is gone.
func TestPageNamesTheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/move-from-other-matchmakers.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:flexmatch|playfab|unity|nakama|overwatch)-[a-z0-9-]+)`").FindAllStringSubmatch(string(page), -1)
	var onPage, there []string
	for _, match := range named {
		onPage = append(onPage, match[1])
	}
	names, err := filepath.Glob("testdata/*.tickets.yaml")
	require.NoError(t, err)
	for _, name := range names {
		there = append(there, strings.TrimSuffix(filepath.Base(name), ".tickets.yaml"))
	}
	slices.Sort(there)
	slices.Sort(onPage)
	require.Equal(t, there, slices.Compact(onPage))
}

func (c *pool) values() (tickets []match.Ticket) {
	for _, t := range c.tickets {
		tickets = append(tickets, *t)
	}
	return tickets
}
