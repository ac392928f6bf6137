package decide

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// overtaken runs two minutes in which one tank a second comes, and two others that want to be first for ever. It
// returns when those others came that were matched before one who came at the beginning, and whether that one was.
func overtaken(upTo time.Duration) (others []time.Duration, matched bool) {
	p := game(2)
	p.Teams[0].Roles = []profile.Role{{Name: "damage", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	p.Priority = profile.Priority{Attribute: "ahead", UpTo: upTo}
	e := New(Version{p, 1}, 1)
	arrived := map[string]time.Duration{}
	arrive := func(id string, at time.Duration, options ...option) {
		t := ticket(id, options...)
		t.Created = now.Add(at)
		arrived[id] = at
		e.Add(t)
	}
	arrive("patient", 0, textOf("role", "damage"))
	for second := range 120 {
		at := time.Duration(second) * time.Second
		for i := range 2 {
			arrive(fmt.Sprintf("first-%03d-%d", second, i), at, textOf("role", "damage"), number("ahead", 1e6))
		}
		arrive(fmt.Sprintf("tank-%03d", second), at, textOf("role", "tank"))
		found, _ := e.Run(now.Add(at), math.MaxInt)
		for _, m := range found {
			for _, s := range m.Teams[0].Seats {
				if s.Ticket == "patient" {
					return others, true
				}
				if s.Role == "damage" {
					others = append(others, arrived[s.Ticket])
				}
			}
		}
	}
	return others, false
}

// Pins tickets without priority that wait for ever, because others with one keep coming: the greatest head start bounds
// who overtakes them.
func TestPriorityStarvesNobody(t *testing.T) {
	t.Parallel()
	others, matched := overtaken(20 * time.Second)
	require.True(t, matched)
	require.NotEmpty(t, others)
	for _, at := range others {
		require.Less(t, at, 20*time.Second)
	}
	_, matched = overtaken(time.Hour)
	require.False(t, matched, "the bound is what lets it have its turn")
}

// Pins what a head start is: the seconds of the member with the fewest, from 0 to the bound.
func TestHeadStart(t *testing.T) {
	t.Parallel()
	p := with(game(2, 2))
	p.Priority = profile.Priority{Attribute: "ahead", UpTo: time.Minute}
	of := func(options ...option) time.Duration {
		q, lacks := Inquire(Version{p, 1}, ticket("a", options...), nil, now)
		require.Empty(t, lacks)
		return q.Findings(1).HeadStart
	}
	require.Equal(t, 1500*time.Millisecond, of(number("ahead", 1.5)))
	require.Equal(t, time.Minute, of(number("ahead", math.MaxFloat64)))
	require.Zero(t, of(number("ahead", -5)))
	require.Zero(t, of(textOf("ahead", "5")))
	require.Zero(t, of())
	duo := party(2)
	require.Equal(t, 20*time.Second, of(number("ahead", 20), duo))
	require.Equal(t, 5*time.Second, of(number("ahead", 20), duo, func(t *match.Ticket) {
		t.Players[1].Attributes = match.Attributes{"ahead": {Kind: match.Number, Number: 5}}
	}))
	require.Zero(t, of(number("ahead", 20), duo, func(t *match.Ticket) { t.Players[1].Attributes = nil }))
	p.Priority = profile.Priority{}
	require.Zero(t, of(number("ahead", 20)))
}

// Pins a head start that no longer counts once there is a batch.
func TestPriorityGoesBeforeABatch(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1))
	p.Priority = profile.Priority{Attribute: "ahead", UpTo: time.Minute}
	p.Batch = profile.Batch{Attribute: "skill", For: 30 * time.Second}
	found := decide(p, ticket("a", skill(1), waited(9*time.Second)), ticket("b", skill(2), waited(8*time.Second)), ticket("c", skill(3), number("ahead", 40)))
	require.Len(t, found, 1)
	require.Equal(t, "c", found[0].Anchor)
}
