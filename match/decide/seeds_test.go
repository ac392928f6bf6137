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

// Arrivals that fit each other better cannot keep a match from the oldest ticket: the first one in its window is its.
func TestOldestIsNotStarved(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), nearSkill(10, step(30*time.Second, profile.Limits{Within: 100})))
	e := New(Version{p, 1}, 1)
	e.Add(ticket("old", skill(0)))
	at := now
	for i := range 100 {
		at = at.Add(time.Second)
		for j := range 2 {
			e.Add(ticket(fmt.Sprintf("new-%d-%d", i, j), skill(50), func(t *match.Ticket) { t.Created = at }))
		}
		found, _ := e.Run(at, math.MaxInt)
		require.NotEmpty(t, found)
		if found[0].Anchor == "old" {
			require.Equal(t, 29, i)
			return
		}
	}
	t.Fatal("the oldest ticket was never matched")
}

// Stuck seeds and those beyond the 32 that a newcomer makes dirty are tried within a sweep.
func TestSweepFindsWhatNewcomersDoNot(t *testing.T) {
	t.Parallel()
	// Only players of different classes meet, and a newcomer's own window is narrow: the far seed's is wide.
	p := with(game(1, 1), nearSkill(1, step(time.Second, profile.Limits{Ended: true})),
		on(profile.Different, "class", profile.Limits{}))
	e := New(Version{p, 1}, 1)
	for i := range 600 {
		e.Add(ticket(fmt.Sprintf("t%04d", i), skill(float64(10*i)), textOf("class", "x"),
			func(t *match.Ticket) { t.Created = now.Add(time.Duration(i)) }))
	}
	at := now.Add(10 * time.Second)
	for range 100 {
		at = at.Add(time.Second)
		found, done := e.Run(at, math.MaxInt)
		require.Empty(t, found)
		require.True(t, done)
	}
	for range 100 {
		at = at.Add(time.Second)
		found, _ := e.Run(at, math.MaxInt)
		require.Empty(t, found)
	}
	_, ok := e.Next()
	require.False(t, ok, "nothing changes")
	for _, c := range e.waitingCandidates() {
		for c.failedSearches < stuckAfter {
			e.restFailed(c)
		}
	}
	e.Add(ticket("y", skill(-500), textOf("class", "y"), func(t *match.Ticket) { t.Created = at }))
	found, _ := e.Run(at, math.MaxInt)
	require.Empty(t, found, "the newcomer's window holds nobody")
	next, ok := e.Next()
	require.True(t, ok)
	for len(found) == 0 {
		require.False(t, next.After(at.Add(time.Second)))
		found, _ = e.Run(next, math.MaxInt)
		next, _ = e.Next()
	}
	require.Equal(t, []string{"t0000", "y"}, found[0].Tickets, "the sweep goes from the oldest on")
}

// A run whose effort is spent goes on where it stopped, and finds the same.
func TestEffort(t *testing.T) {
	t.Parallel()
	p := with(game(5, 5), nearSkill(100))
	tickets := crowd(500, 5)
	at := begin.Add(time.Minute)
	whole := New(Version{p, 1}, 1)
	pieces := New(Version{p, 1}, 1)
	for _, t := range tickets {
		whole.Add(t)
		pieces.Add(t)
	}
	want, done := whole.Run(at, math.MaxInt)
	require.True(t, done)
	var got []Proposal
	for done = false; !done; {
		var some []Proposal
		some, done = pieces.Run(at, 10)
		got = append(got, some...)
	}
	require.Equal(t, want, got)
}

func TestReturnedTicketsAreCandidatesAgain(t *testing.T) {
	t.Parallel()
	e := New(Version{game(1, 1), 1}, 1)
	e.Add(ticket("a", waited(time.Second)))
	e.Add(ticket("b"))
	found, _ := e.Run(now, 100)
	require.Len(t, found, 1)
	require.Zero(t, e.Len())
	e.Remove("b")
	e.Return("a", "b", "c")
	require.Equal(t, 1, e.Len())
	e.Add(ticket("c"))
	found, _ = e.Run(now, 100)
	require.Equal(t, []string{"a", "c"}, found[0].Tickets)
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	p := with(game(1, 1), on(profile.Same, "platform", profile.Limits{}), nearSkill(100))
	e := New(Version{p, 1}, 1)
	for i, platform := range []string{"pc", "console", "pc", "console"} {
		e.Add(ticket(fmt.Sprintf("t%d", i), skill(1), textOf("platform", platform)))
	}
	require.Len(t, e.buckets, 2)
	found, _ := e.Run(now, 1000)
	require.Len(t, found, 2)
	require.Equal(t, RuleValue{ID: "rule-1", Text: "pc"}, found[0].Rules[0])
	require.Empty(t, e.buckets)
}
