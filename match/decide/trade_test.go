package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

const tradedDuel = "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nattributes: {skill: {type: number}}\ntrade: {skill: 10 per second}\n"

var tradeBegin = time.Date(2026, 1, 5, 18, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return tradeBegin.Add(time.Duration(seconds * float64(time.Second)))
}

func skilled(id string, created, skill float64) *match.Ticket {
	return &match.Ticket{ID: id, Created: after(created), Profiles: []string{"duel"}, Players: []match.Player{
		{Sub: id, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}}},
	}}
}

func traded(t *testing.T, document string) *Engine {
	t.Helper()
	p := must.Get(profile.Parse([]byte(document)))(t)
	return New(Version{p, 1}, 1)
}

// runAt runs the engine and returns the tickets of the matches it made.
func runAt(e *Engine, seconds float64) (found [][]string) {
	proposals, _ := e.Run(after(seconds), 1<<20)
	for _, p := range proposals {
		found = append(found, p.Tickets)
	}
	return found
}

// wakesAt is when the engine has something to do, apart from the rounds of its sweep.
func wakesAt(t *testing.T, e *Engine) float64 {
	t.Helper()
	require.Positive(t, e.momentTimers.len())
	return time.Unix(0, e.momentTimers.items[0].sortKey).Sub(tradeBegin).Seconds()
}

// Two players who differ by 100 points are matched when they have waited for 10 s together, at 10 points a second.
func TestAPairIsMadeWhenItHasWaitedForItsDifference(t *testing.T) {
	t.Parallel()
	e := traded(t, tradedDuel)
	e.Add(skilled("ada", 0, 1000))
	require.Empty(t, runAt(e, 0))
	e.Add(skilled("bo", 2, 1100))
	require.Empty(t, runAt(e, 2))
	require.InDelta(t, 6, wakesAt(t, e), 1e-6)
	require.Empty(t, runAt(e, 5.999))
	require.Equal(t, [][]string{{"ada", "bo"}}, runAt(e, 6.000001))
}

// A newcomer is preferred by how near it is and how long it has waited, and the ticket that it leaves waits for the
// next best.
// Pins a cost beyond what a number of nanoseconds holds, which made a match due in the past.
func TestAPairThatCostsTooMuchIsNotDue(t *testing.T) {
	t.Parallel()
	e := traded(t, strings.ReplaceAll(tradedDuel, "10 per second", "0.001 per second"))
	e.Add(skilled("ada", 0, 0))
	e.Add(skilled("bo", 0, 1e8))
	require.Empty(t, runAt(e, 1))
}

func TestATicketLeavesItsPartnerForABetterOne(t *testing.T) {
	t.Parallel()
	e := traded(t, tradedDuel)
	e.Add(skilled("ada", 0, 1000))
	e.Add(skilled("bo", 0, 1400))
	require.Empty(t, runAt(e, 0))
	require.InDelta(t, 20, wakesAt(t, e), 1e-6)
	e.Add(skilled("cy", 10, 1080)) // its 80 points are less than the 100 that ada has waited for
	require.Equal(t, [][]string{{"ada", "cy"}}, runAt(e, 10))
	require.Empty(t, runAt(e, 20), "bo has nobody")
	e.Add(skilled("di", 21, 1650))
	require.Empty(t, runAt(e, 21))
	require.InDelta(t, 23, wakesAt(t, e), 1e-6)
	require.Equal(t, [][]string{{"bo", "di"}}, runAt(e, 23.000001))
}

// No ticket expires beside a match that the rules allow, whatever the match costs.
func TestATradeEndsBeforeTheTicketDoes(t *testing.T) {
	t.Parallel()
	e := traded(t, tradedDuel+"ttl: 10s\n")
	e.Add(skilled("ada", 0, 0))
	e.Add(skilled("bo", 1, 1e9))
	require.Empty(t, runAt(e, 8.999))
	require.Equal(t, [][]string{{"ada", "bo"}}, runAt(e, 9))
}

// The cost of a match of many is summed over its players: the distances from its mean, the teams' from theirs, and the
// detour of each to its game region.
func TestCostsOfLargerMatches(t *testing.T) {
	t.Parallel()
	e := traded(t, `
name: duel
teams: [{name: red, players: 2}, {name: blue, players: 2}]
rules: [{near: skill, within: 1000}]
trade: {skill: 10 per second, balance: 20 per second, latency: 5ms per second}
`)
	e.SetRegions([]Region{{"eu", true}, {"us", true}})
	for i, skill := range []float64{1000, 1100, 1300, 1400} {
		ticket := skilled(fmt.Sprint("t", i), 0, skill)
		ticket.Latencies = map[string]uint16{"eu": 20, "us": 60}
		if i == 0 {
			ticket.Latencies = map[string]uint16{"eu": 40, "us": 20}
		}
		e.Add(ticket)
	}
	require.Empty(t, runAt(e, 0))
	at := wakesAt(t, e)
	proposals, _ := e.Run(after(at), 1<<20)
	require.Len(t, proposals, 1)
	byKey, seconds := map[string]float64{}, 0.0
	for _, p := range proposals[0].Traded {
		byKey[p.Of] = p.Value
		seconds += p.Value / p.PerSecond
	}
	require.InDelta(t, (200+100+100+200)/4.0, byKey["skill"], 1e-9)
	require.InDelta(t, 20/4.0, byKey["latency"], 1e-9, "only t0 has a better region")
	require.InDelta(t, seconds, at, 1e-6, "all have waited for as long, each for its share")
}

// Pins timers that stop: whatever arrives and leaves, a pair that the rules allow is made before its older ticket has
// waited for nine tenths of its life, at the moments that the engine announces.
func TestEveryPairIsMadeInTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		e := traded(t, tradedDuel+"ttl: 1m\n")
		now, waiting := 0.0, map[string]float64{}
		step := func(to float64) {
			for {
				next, ok := e.Next()
				if !ok || next.After(after(to)) {
					break
				}
				now = max(now, next.Add(time.Microsecond).Sub(tradeBegin).Seconds())
				for _, pair := range runAt(e, now) {
					for _, id := range pair {
						require.LessOrEqual(t, now-waiting[id], 54+1e-6)
						delete(waiting, id)
						e.Remove(id)
					}
				}
			}
			now = to
		}
		for n := range 100 {
			id := fmt.Sprint("t", n)
			waiting[id] = now
			e.Add(skilled(id, now, 1500+300*random.NormFloat64()))
			for _, pair := range runAt(e, now) {
				for _, id := range pair {
					delete(waiting, id)
					e.Remove(id)
				}
			}
			if random.IntN(10) == 0 && waiting[id] > 0 {
				delete(waiting, id)
				e.Remove(id)
			}
			step(now + random.ExpFloat64())
		}
		step(now + 60)
		require.LessOrEqual(t, len(waiting), 1)
	}
}
