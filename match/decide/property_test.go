package decide

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// drawInput draws a valid profile, and tickets that often fit it.
func drawInput(t *rapid.T, most int) Input {
	in := Input{Version: Version{verifytest.Profiles().Draw(t, "profile"), 1}, Now: verifytest.Now,
		Seed: rapid.Uint64().Draw(t, "seed")}
	for _, drawn := range verifytest.Tickets(most).Draw(t, "tickets") {
		in.Tickets = append(in.Tickets, &drawn)
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ap", "eu", "us"}), 0, 3, rapid.ID).Draw(t,
		"regions") {
		in.Regions = append(in.Regions, Region{name, rapid.Bool().Draw(t, "room in "+name)})
	}
	return in
}

// checked is a proposal as the checker sees it, in one of its regions and modes.
func checked(p *Proposal, tickets map[string]*match.Ticket, region, mode string) verify.Match {
	m := verify.Match{Region: region, Mode: mode, Chosen: p.Chosen}
	for _, id := range p.Tickets {
		m.Tickets = append(m.Tickets, *tickets[id])
	}
	for _, team := range p.Teams {
		for _, s := range team.Seats {
			m.Seats = append(m.Seats, verify.Seat{Ticket: s.Ticket, Sub: s.Sub, Team: team.Name, Role: s.Role})
		}
	}
	return m
}

func ticketsByID(tickets []*match.Ticket) map[string]*match.Ticket {
	all := map[string]*match.Ticket{}
	for _, t := range tickets {
		all[t.ID] = t
	}
	return all
}

// requireValid checks a proposal apart from the code that made it, in each region and mode that it offers.
func requireValid(t require.TestingT, in *Input, p *Proposal, tickets map[string]*match.Ticket, now time.Time) {
	regions, modes := []string{""}, []string{""}
	for _, r := range p.Regions {
		regions = append(regions, r.Name)
	}
	if len(in.Version.Profile.Modes) > 0 {
		require.NotEmpty(t, p.Modes)
		modes = p.Modes
	}
	for _, region := range regions {
		for _, mode := range modes {
			require.Empty(t, verify.Check(in.Version.Profile, checked(p, tickets, region, mode), now),
				"in region %q: %+v", region, *p)
		}
	}
}

// Every match is valid, and no ticket is in two.
func TestEveryProposalHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 12)
		taken := map[string]bool{}
		out := Decide(in)
		for i := range out.Proposals {
			requireValid(t, &in, &out.Proposals[i], ticketsByID(in.Tickets), in.Now)
			for _, id := range out.Proposals[i].Tickets {
				require.False(t, taken[id], "ticket %s is in two matches", id)
				taken[id] = true
			}
		}
	})
}

// FuzzDecide looks for a valid profile with which a decision panics or breaks a rule.
func FuzzDecide(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		in := drawInput(t, 12)
		out := Decide(in)
		for i := range out.Proposals {
			requireValid(t, &in, &out.Proposals[i], ticketsByID(in.Tickets), in.Now)
		}
	}))
}

// What a run leaves over has no match, unless the search of one of its tickets ran out of steps. Then the searches that
// repeat it find a match: of few tickets they miss none.
func TestNoMatchIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 6)
		in.Version.Profile.Trade = nil // it leaves over what is not due
		if newPlan(in.Version.Profile).mayLeaveRoles {
			t.Skip("which of the players that may have a role get it is not searched")
		}
		e := New(in.Version, in.Seed)
		e.SetRegions(in.Regions)
		for _, added := range in.Tickets {
			e.Add(added)
		}
		e.Run(in.Now, math.MaxInt)
		missed, ok := verify.Find(in.Version.Profile, waitingTickets(e), regionNames(&in), in.Now)
		if !ok {
			return
		}
		require.True(t, willRepeat(e, missed.Tickets), "missed by searches that tried everything %+v", missed)
		runRepeats(e)
		// At the time of the first run: rules only widen, so that its matches still hold.
		missed, ok = verify.Find(in.Version.Profile, waitingTickets(e), regionNames(&in), in.Now)
		require.False(t, ok, "missed %+v", missed)
	})
}

// waitingTickets returns the tickets that an engine has no match for, oldest first.
func waitingTickets(e *Engine) (waiting []match.Ticket) {
	for _, c := range e.waitingCandidates() {
		waiting = append(waiting, *c.ticket)
	}
	return waiting
}

// willRepeat reports whether the last search of one of the tickets ran out of steps and is to be repeated.
func willRepeat(e *Engine, tickets []match.Ticket) bool {
	return slices.ContainsFunc(tickets, func(t match.Ticket) bool {
		c := e.candidateByID[t.ID]
		return c != nil && c.searchAt > 0
	})
}

// runRepeats runs an engine whenever it asks to be, until it has no search to repeat, and returns what it found.
func runRepeats(e *Engine) (found []Proposal) {
	for willRepeat(e, waitingTickets(e)) {
		next, _ := e.Next()
		more, _ := e.Run(next, math.MaxInt)
		found = append(found, more...)
	}
	return found
}

// An engine that is run whenever it asks to be misses no match either, whatever came in between.
func TestNoMatchIsMissedForLong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 6)
		in.Version.Profile.Trade = nil // it leaves over what is not due
		if newPlan(in.Version.Profile).mayLeaveRoles {
			t.Skip("which of the players that may have a role get it is not searched")
		}
		e := New(in.Version, in.Seed)
		e.SetRegions(in.Regions)
		at := in.Now
		for _, added := range in.Tickets {
			e.Add(added)
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, 20 * time.Second}).Draw(t,
				"pause"))
			e.Run(at, rapid.SampledFrom([]int{0, 1, math.MaxInt}).Draw(t, "effort"))
			if found, _ := e.Run(at, rapid.IntRange(0, 10).Draw(t, "effort")); len(found) > 0 &&
				rapid.Bool().Draw(t, "drop") {
				e.Return(found[0].Tickets...)
			}
		}
		for n, ok := 0, true; ok; n++ {
			e.Run(at, math.MaxInt)
			require.Less(t, n, 10_000, "the engine never rests")
			var next time.Time
			if next, ok = e.Next(); ok && next.After(at) {
				at = next
			}
		}
		missed, ok := verify.Find(in.Version.Profile, waitingTickets(e), regionNames(&in), at)
		require.False(t, ok, "missed %+v", missed)
	})
}

func regionNames(in *Input) []string {
	names := []string{}
	for _, r := range in.Regions {
		names = append(names, r.Name)
	}
	return names
}

// The same input gives the same bytes, in whatever order its tickets come.
func TestDecisionsRepeat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 12)
		first, err := json.Marshal(Decide(in))
		require.NoError(t, err)
		again, err := json.Marshal(Decide(in))
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
		in.Tickets = rapid.Permutation(in.Tickets).Draw(t, "order")
		shuffled, err := json.Marshal(Decide(in))
		require.NoError(t, err)
		require.Equal(t, string(first), string(shuffled))

		// An engine's matches do not depend on the order, either, in which its tickets came.
		e := New(in.Version, in.Seed)
		e.SetRegions(in.Regions)
		for _, added := range in.Tickets {
			e.Add(added)
		}
		for _, r := range in.Rosters {
			e.PutRoster(r)
		}
		proposals, _ := e.Run(in.Now, math.MaxInt)
		require.Equal(t, Decide(in).Proposals, proposals)
	})
}

// An engine that lives through changes never proposes a ticket that it does not have, nor one twice, and each match is
// valid at its time.
func TestEngineLivesThroughChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 16)
		tickets := ticketsByID(in.Tickets)
		e := New(in.Version, in.Seed)
		e.SetRegions(in.Regions)
		waiting := map[string]bool{}
		var proposed []string
		at := in.Now
		pick := func() *match.Ticket { return rapid.SampledFrom(in.Tickets).Draw(t, "ticket") }
		if len(in.Tickets) == 0 {
			return
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				added := pick()
				e.Add(added)
				ok, _ := e.Candidate(added)
				waiting[added.ID] = ok
				proposed = slices.DeleteFunc(proposed, func(id string) bool { return id == added.ID })
			},
			"remove": func(*rapid.T) {
				id := pick().ID
				e.Remove(id)
				delete(waiting, id)
				proposed = slices.DeleteFunc(proposed, func(p string) bool { return p == id })
			},
			"return": func(*rapid.T) {
				e.Return(proposed...)
				for _, id := range proposed {
					waiting[id] = true
				}
				proposed = nil
			},
			"regions": func(t *rapid.T) {
				e.SetRegions(in.Regions[:rapid.IntRange(0, len(in.Regions)).Draw(t, "regions")])
			},
			"run": func(t *rapid.T) {
				at = at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
				found, _ := e.Run(at, rapid.SampledFrom([]int{1, 1000, math.MaxInt}).Draw(t, "effort"))
				for i := range found {
					requireValid(t, &in, &found[i], tickets, at)
					for _, id := range found[i].Tickets {
						require.True(t, waiting[id])
						waiting[id] = false
						proposed = append(proposed, id)
					}
				}
			},
			"": func(t *rapid.T) {
				n := 0
				for _, w := range waiting {
					if w {
						n++
					}
				}
				require.Equal(t, n, e.Len())
			},
		})
	})
}
