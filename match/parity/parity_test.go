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
		p := read(t, strings.Replace(name, ".tickets", "", 1))
		for _, c := range casesOf(t, name, p.Name) {
			t.Run(p.Name+"/"+c.About, func(t *testing.T) {
				t.Parallel()
				c.run(t, p)
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

func read(t *testing.T, name string) *profile.Profile {
	document := must.Get(os.ReadFile(name))(t)
	p, err := profile.Parse(document)
	require.NoError(t, err, name)
	require.Equal(t, strings.TrimSuffix(filepath.Base(name), ".yaml"), p.Name)
	return p
}

func (c *pool) run(t *testing.T, p *profile.Profile) {
	out := decide.Decide(decide.Input{Version: decide.Version{Profile: p, Number: 1}, Tickets: c.tickets, Regions: c.regions(), Now: now})
	matches, sizes := [][]string{}, []int{}
	for _, m := range out.Proposals {
		require.Empty(t, c.violations(p, m))
		matches, sizes = append(matches, slices.Sorted(slices.Values(m.Tickets))), append(sizes, c.players(m))
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
		require.ElementsMatch(t, c.sorted(), matches)
	} else {
		require.Equal(t, c.Sizes, sizes)
	}
	if len(c.tickets) <= feasibleUpTo {
		require.Equal(t, len(out.Proposals) > 0, verify.Feasible(p, c.values(), nil, now))
	}
}

// violations returns what is wrong with a proposal, in each region and mode that it offers.
func (c *pool) violations(p *profile.Profile, m decide.Proposal) (found []verify.Violation) {
	regions, modes := []string{""}, append([]string{""}, m.Modes...)
	for _, r := range m.Regions {
		regions = append(regions, r.Name)
	}
	checked := verify.Match{Chosen: m.Chosen}
	for _, t := range c.values() {
		if slices.Contains(m.Tickets, t.ID) {
			checked.Tickets = append(checked.Tickets, t)
		}
	}
	for _, team := range m.Teams {
		for _, s := range team.Seats {
			checked.Seats = append(checked.Seats, verify.Seat{Ticket: s.Ticket, Sub: s.Sub, Team: team.Name, Role: s.Role})
		}
	}
	for _, checked.Region = range regions {
		for _, checked.Mode = range modes {
			found = append(found, verify.Check(p, checked, now)...)
		}
	}
	return found
}

func (c *pool) players(m decide.Proposal) (n int) {
	for _, t := range c.tickets {
		if slices.Contains(m.Tickets, t.ID) {
			n += len(t.Players)
		}
	}
	return n
}

func (c *pool) values() (tickets []match.Ticket) {
	for _, t := range c.tickets {
		tickets = append(tickets, *t)
	}
	return tickets
}

// sorted returns the expected matches, each with its tickets in the order of their ids.
func (c *pool) sorted() [][]string {
	sorted := [][]string{}
	for _, m := range c.Matches {
		sorted = append(sorted, slices.Sorted(slices.Values(m)))
	}
	return sorted
}
