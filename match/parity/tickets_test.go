package parity_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pool is the tickets that wait, and what becomes of them.
type pool struct {
	About string `yaml:"about"`
	// Matches are the ids of each match's tickets, or Sizes its players; with neither, nothing matches.
	Matches [][]string        `yaml:"matches"`
	Sizes   []int             `yaml:"sizes"`
	Region  string            `yaml:"region"` // the best region of each match
	Chosen  map[string]string `yaml:"chosen"`
	Left    []string          `yaml:"left"` // the tickets that are in no match
	Tickets []row             `yaml:"tickets"`

	tickets []*match.Ticket
}

// row is a ticket, or several that differ only in their names.
type row struct {
	ID        string             `yaml:"id"` // "t1", "t2" and so on by default; its players are "t1-1", "t1-2" …
	Count     int                `yaml:"count"`
	Waited    string             `yaml:"waited"`
	Unnamed   bool               `yaml:"unnamed"` // it does not ask for the profile by name
	Tags      []string           `yaml:"tags"`
	Strings   map[string]string  `yaml:"strings"`
	Doubles   map[string]float64 `yaml:"doubles"`
	Latencies map[string]uint16  `yaml:"latencies"`
	Players   []map[string]any   `yaml:"players"`
}

func (r row) ticket(t *testing.T, id, profileName string) *match.Ticket {
	waited := time.Duration(0)
	if r.Waited != "" {
		waited = must.Get(time.ParseDuration(r.Waited))(t)
	}
	ticket := &match.Ticket{ID: id, Created: now.Add(-waited), Profiles: []string{profileName}, Latencies: r.Latencies}
	if r.Unnamed {
		ticket.Profiles = nil
	}
	ticket.Fields = match.Fields{Tags: r.Tags, Strings: r.Strings, Doubles: r.Doubles, Created: match.MomentOf(ticket.Created)}
	for i, has := range r.Players {
		p := match.Player{Sub: fmt.Sprintf("%s-%d", id, i+1), Attributes: match.Attributes{}}
		for name, v := range has {
			p.Attributes[name] = valueOf(t, v)
		}
		ticket.Players = append(ticket.Players, p)
	}
	return ticket
}

func valueOf(t *testing.T, v any) match.Value {
	switch v := v.(type) {
	case string:
		return match.Value{Kind: match.Text, Text: v}
	case uint64:
		return match.Value{Kind: match.Number, Number: float64(v)}
	case float64:
		return match.Value{Kind: match.Number, Number: v}
	case []any:
		list := match.Value{Kind: match.List}
		for _, text := range v {
			list.List = append(list.List, fmt.Sprint(text))
		}
		return list
	}
	require.Failf(t, "no value of an attribute", "%T", v)
	return match.Value{}
}

// regions returns the regions that tickets measured, all with room.
func (c *pool) regions() (regions []decide.Region) {
	names := map[string]bool{}
	for _, t := range c.tickets {
		for name := range t.Latencies {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		regions = append(regions, decide.Region{Name: name, Room: true})
	}
	return regions
}

// casesOf reads the cases of a file.
func casesOf(t *testing.T, name, profileName string) (cases []pool) {
	require.NoError(t, yaml.UnmarshalWithOptions(must.Get(os.ReadFile(name))(t), &cases, yaml.Strict()), name)
	matching := 0
	for i := range cases {
		c := &cases[i]
		for _, m := range c.Matches {
			slices.Sort(m)
		}
		for _, r := range c.Tickets {
			for range max(r.Count, 1) {
				id := cmp.Or(r.ID, fmt.Sprintf("t%d", len(c.tickets)+1))
				c.tickets = append(c.tickets, r.ticket(t, id, profileName))
			}
		}
		if c.Matches != nil || c.Sizes != nil {
			matching++
		}
	}
	require.Positive(t, matching, "%s needs tickets that match", name)
	require.Less(t, matching, len(cases), "%s needs tickets that do not match", name)
	return cases
}
