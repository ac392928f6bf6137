package verify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/decide/decidetest"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// scene is a decision with everything that it is about.
type scene struct {
	p       *profile.Profile
	tickets []match.Ticket
	rosters []decide.Roster
	out     decide.Output
}

func (s *scene) decide(seed uint64) {
	in := decide.Input{Version: decide.Version{Profile: s.p, Number: 1}, Rosters: s.rosters, Now: verifytest.Now, Seed: seed}
	for i := range s.tickets {
		in.Tickets = append(in.Tickets, &s.tickets[i])
	}
	for _, name := range []string{"ap", "eu", "us"} {
		in.Regions = append(in.Regions, decide.Region{Name: name, Room: true})
	}
	s.out = decide.Decide(in)
}

func (s *scene) of(m decide.Proposal) []match.Ticket {
	return slices.DeleteFunc(slices.Clone(s.tickets), func(t match.Ticket) bool { return !slices.Contains(m.Tickets, t.ID) })
}

// violations checks a proposal in each region and mode that it offers.
func (s *scene) violations(m decide.Proposal, now time.Time) []verify.Violation {
	checked := decidetest.Match(m, s.tickets)
	checked.Joins = s.session(m.Session)
	return decidetest.Violations(s.p, m, checked, now)
}

// session returns the session that newcomers join as it was before, or nil.
func (s *scene) session(id string) *verify.Session {
	for _, r := range s.rosters {
		if r.Session == id && id != "" {
			session := &verify.Session{Started: r.Opened}
			for i, team := range r.Teams {
				for _, p := range team {
					seat := verify.Seat{Ticket: p.Ticket, Sub: p.Sub, Team: s.p.Teams[i].Name, Role: p.Role}
					session.Roster = append(session.Roster, verify.RosterPlayer{Seat: seat, Attributes: p.Attributes})
				}
			}
			return session
		}
	}
	return nil
}

// Pins a large match, which is filled without a search, that breaks a rule.
func TestLargeMatchesKeepTheRules(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		s := scene{p: verifytest.LargeProfiles().Draw(t, "profile"), tickets: verifytest.LargeQueues().Draw(t, "tickets")}
		s.decide(rapid.Uint64().Draw(t, "seed"))
		for _, m := range s.out.Proposals {
			found++
			require.Empty(t, s.violations(m, verifytest.Now))
			require.NotEmpty(t, m.Regions)
		}
	})
	require.Positive(t, found)
}

// Pins newcomers that an open match cannot have: a match is formed, some of its players leave, and other tickets may
// join it.
func TestJoinsKeepTheRules(t *testing.T) {
	t.Parallel()
	joins := 0
	rapid.Check(t, func(t *rapid.T) {
		s := scene{p: verifytest.Profiles().Draw(t, "profile"), tickets: verifytest.Tickets(12).Draw(t, "tickets")}
		s.decide(1)
		if len(s.out.Proposals) == 0 {
			return
		}
		s.p.JoinInProgress = profile.JoinInProgress{When: profile.Prefer, Within: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "within")}
		first := s.out.Proposals[0] // is an open match that some of its players have left
		age := time.Minute + time.Duration(rapid.IntRange(0, 1).Draw(t, "more than a minute"))
		r := decide.Roster{Session: "open", Region: first.Regions[0].Name, Opened: verifytest.Now.Add(-age)}
		if len(first.Modes) > 0 {
			r.Mode = first.Modes[0]
		}
		has := map[string]match.Attributes{}
		for _, ticket := range s.of(first) {
			for _, p := range ticket.Players {
				has[p.Sub] = p.Attributes
			}
		}
		for _, team := range first.Teams {
			var players []decide.RosterPlayer
			for _, seat := range team.Seats {
				if rapid.IntRange(0, 3).Draw(t, "left") > 0 {
					players = append(players, decide.RosterPlayer{Ticket: seat.Ticket, Sub: seat.Sub, Role: seat.Role, Attributes: has[seat.Sub]})
				}
			}
			r.Teams = append(r.Teams, players)
		}
		s.rosters, s.tickets = []decide.Roster{r}, verifytest.Tickets(6).Draw(t, "newcomers")
		for i := range s.tickets { // under names that no roster has
			for j := range s.tickets[i].Players {
				s.tickets[i].Players[j].Sub = fmt.Sprintf("new-%d-%d", i, j)
			}
			s.tickets[i].ID = "new-" + s.tickets[i].ID
		}
		s.decide(2)
		joined := map[string]int{}
		for _, m := range s.out.Proposals {
			if joined[m.Session]++; m.Session != "" && joined[m.Session] == 1 { // later ones join another roster
				joins++
				require.Empty(t, s.violations(m, verifytest.Now))
			}
		}
	})
	require.Positive(t, joins)
}
