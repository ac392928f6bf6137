package loop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const pairs = `name: pairs
attributes: {skill: {type: number}}
teams: [{name: red, players: 1..2}, {name: blue, players: 1..2}]
rules: [{near: skill, within: 50, widen: [{after: 300ms, within: 100}, {after: 2s, within: 300}]}]
`

func newPairs(t require.TestingT) *decider {
	p := must.Get(profile.Parse([]byte(pairs)))(t)
	return newDecider(decide.Version{Profile: p, Number: 1}, 7)
}

// waitsSince is the ticket of a player who has waited since a moment.
func waitsSince(t require.TestingT, n int, skill float64, since time.Time) *entry {
	body := must.Get(ticketbody.Encode("", since, ticketbody.Draft{
		Profiles: []string{"pairs"}, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}},
		Players: []match.Player{{Sub: fmt.Sprint("player-", n)}},
	}))(t)
	return newEntry(db.Candidate{TicketID: fmt.Sprintf("t%05d", n), CreatedAt: since, Body: body}, since, "")
}

// drain runs turns until the decider has nothing to do by now, and returns what they decided.
func drain(d *decider, now time.Time, template turn) (all []string) {
	for turns := 0; d.mayFind(now) && turns < 100_000; turns++ {
		one := template
		one.beganAt = now
		t := d.prepareTurn(&one)
		t.runSteps()
		d.endTurn(t)
		for _, f := range t.decidedMatches {
			all = append(all, fmt.Sprint(f.decidedAt.Sub(start), " ", slices.Sorted(slices.Values(f.proposal.Tickets))))
		}
	}
	return all
}

var whole = turn{mayDecide: true, maxTime: time.Hour, maxLate: time.Hour, searchEffort: turnEffort,
	maxMatches: turnMatches}

// Pins decisions that depend on how busy a worker is: in one turn, or in many that end after each piece of work and of
// which some begin when more has changed already, a profile makes the same matches at the same moments.
func TestDecisionsDoNotDependOnTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quiet, busy := newPairs(t), newPairs(t)
		var calm, divided []string
		short := whole
		short.maxTime = 0
		now := start
		for n := range rapid.IntRange(1, 40).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "pause")) * time.Millisecond)
			c := change{moment: now, kind: candidatesCame}
			for k := range rapid.IntRange(1, 4).Draw(t, "tickets") {
				c.entries = append(c.entries,
					waitsSince(t, 10*n+k, float64(rapid.IntRange(0, 600).Draw(t, "skill")), now))
			}
			if rapid.IntRange(0, 4).Draw(t, "leaves") == 0 {
				c = change{moment: now, kind: candidatesLeft,
					ticketIDs: []string{fmt.Sprintf("t%05d", 10*rapid.IntRange(0, n).Draw(t, "which"))}}
			}
			quiet.putChange(c)
			busy.putChange(c)
			calm = append(calm, drain(quiet, now, whole)...)
			if rapid.Bool().Draw(t, "a turn is free") {
				divided = append(divided, drain(busy, now, short)...)
			}
		}
		now = now.Add(10 * time.Second)
		require.Equal(t, append(calm, drain(quiet, now, whole)...), append(divided, drain(busy, now, short)...))
	})
}

// Pins changes that wait for ever behind a search that does not end: they are applied once they are late.
func TestLateChangesDoNotWaitForADecision(t *testing.T) {
	t.Parallel()
	d := newPairs(t)
	one := whole
	one.maxTime, one.maxLate, one.beganAt = 0, time.Second, start
	d.search.scheduleDecision(start) // it still has something to search for
	d.putChange(change{moment: start.Add(time.Millisecond), kind: candidatesCame,
		entries: []*entry{waitsSince(t, 1, 1, start)}})
	next := d.prepareTurn(&one)
	require.False(t, next.mustApplyNext(d.search))
	next.beganAt = start.Add(2 * time.Second)
	require.True(t, next.mustApplyNext(d.search))
}

// A profile that may not decide learns of changes all the same, so that they do not pile up, and decides about all of
// them afterwards.
func TestAPausedProfileLearnsOfChanges(t *testing.T) {
	t.Parallel()
	d := newPairs(t)
	paused := whole
	paused.mayDecide, paused.beganAt = false, start
	for n := range 6 {
		d.putChange(change{moment: start.Add(time.Duration(n) * time.Second), kind: candidatesCame,
			entries: []*entry{waitsSince(t, n, 1, start)}})
		applied := paused
		turn := d.prepareTurn(&applied)
		turn.runSteps()
		d.endTurn(turn)
		require.Empty(t, turn.decidedMatches)
		require.Empty(t, d.queuedChanges)
		require.Equal(t, n+1, d.candidateCount)
	}
	require.Len(t, drain(d, start.Add(time.Minute), whole), 2, "two against two, and one against one")
}

// Two deciders that learn of the same newcomers do not share the list that they append to.
func TestDecidersDoNotShareNewcomers(t *testing.T) {
	t.Parallel()
	live, shadow := newPairs(t), newPairs(t)
	entries := make([]*entry, 1, 8)
	entries[0] = waitsSince(t, 0, 1, start)
	for _, d := range []*decider{live, shadow} {
		d.putChange(change{moment: start, kind: candidatesCame, entries: entries})
	}
	live.putChange(change{moment: start, kind: candidatesCame, entries: []*entry{waitsSince(t, 1, 1, start)}})
	shadow.putChange(change{moment: start, kind: candidatesCame, entries: []*entry{waitsSince(t, 2, 1, start)}})
	require.Equal(t, "t00001", live.queuedChanges[0].entries[1].id)
	require.Equal(t, "t00002", shadow.queuedChanges[0].entries[1].id)
}

// Pins a turn of a profile with as many ready checks as it may have: it applied one part of its changes and ended.
func TestATurnThatMayNotDecideAppliesAllChanges(t *testing.T) {
	t.Parallel()
	d := newPairs(t)
	for i := range 3 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		d.putChange(change{moment: at, kind: candidatesCame, entries: []*entry{waitsSince(t, i, 1, at)}})
	}
	one := whole
	one.mayDecide, one.maxMatches = false, 0
	turn := d.prepareTurn(&one)
	turn.runSteps()
	require.Empty(t, turn.changes)
	require.Equal(t, 3, turn.candidateCount)
}

// turnOf is a turn that runs until it is released.
func turnOf(t *testing.T, hot bool) *turn {
	t.Helper()
	one := whole
	turn := newPairs(t).prepareTurn(&one)
	turn.isHot = hot
	return turn
}

// Hot profiles leave a goroutine to the others, and have one however many others there are.
func TestTurnsAreSharedFairly(t *testing.T) {
	t.Parallel()
	q := newTurns(3, nil)
	q.runningCount = 3 // nothing runs by itself
	hot := []*turn{turnOf(t, true), turnOf(t, true), turnOf(t, true)}
	for _, h := range hot {
		q.queueTurn(h)
	}
	first, second := q.exchangeTurn(nil), q.exchangeTurn(nil)
	require.Same(t, hot[0], first)
	require.Same(t, hot[1], second)
	require.Nil(t, q.exchangeTurn(nil), "the last goroutine is for others")
	require.Equal(t, 2, q.runningCount)
	for range 5 {
		q.light = append(q.light, turnOf(t, false))
	}
	light := q.light[0]
	require.Same(t, light, q.exchangeTurn(nil), "which begin at once")
	require.NotSame(t, hot[2], q.exchangeTurn(first), "while one hot turn runs, others come first")
	require.Same(t, hot[2], q.exchangeTurn(second), "else a hot one")
	require.Len(t, q.takeEnded(), 2)
	require.Empty(t, q.takeEnded())
}

// A turn that panics ends with an error, and the others go on.
func TestATurnThatPanics(t *testing.T) {
	t.Parallel()
	q := newTurns(2, panics.New(nil, nil))
	broken, fine := turnOf(t, false), turnOf(t, false)
	broken.decider = &decider{search: &searchState{}} // without an engine
	q.queueTurn(broken)
	q.queueTurn(fine)
	q.goroutines.Wait()
	require.Len(t, q.takeEnded(), 2)
	require.ErrorIs(t, broken.err, panics.ErrInternal)
	require.NoError(t, fine.err)
}
