package explain

import (
	"maps"
	"math"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// limitsOf returns the limits that a rule of the kind has.
func limitsOf(id string, kind profile.RuleKind, l profile.Limits) Limits {
	of := Limits{Rule: id}
	if l.Ended {
		of.Any = true
		return of
	}
	switch kind {
	case profile.Near, profile.Balance, profile.Sizes, profile.PartySizes:
		of.Within = finiteNumber(l.Within)
	case profile.Comparison:
		of.To = finiteNumber(l.Number)
	case profile.Common:
		of.AtLeast = &l.AtLeast
	case profile.Count:
		of.Min = &l.Min
		// NoMax and NoSpread are no limits to show.
		if l.Max != profile.NoMax {
			of.Max = &l.Max
		}
	case profile.Latency:
		of.LatencyMS = inMilliseconds(l.Latency)
		if l.Spread != profile.NoSpread {
			of.SpreadMS = inMilliseconds(l.Spread)
		}
	case profile.Same, profile.Different, profile.Avoid, profile.Or, profile.And, profile.Not:
	}
	return of
}

// finiteNumber replaces infinities, which JSON does not have, by the largest numbers.
func finiteNumber(x float64) *float64 {
	x = min(max(x, -math.MaxFloat64), math.MaxFloat64)
	return &x
}

func inMilliseconds(d time.Duration) *float64 {
	return finiteNumber(float64(d) / float64(time.Millisecond))
}

// The steps that belong to no rule, by their name in [Limits.Rule]: that of their key in a profile.
const (
	stepFewer    = "fewer"    // Players is the least number of players of a match
	stepFill     = "fill"     // Players is the least number of players of a match that bots fill
	stepAutofill = "autofill" // with Any, the ticket's players take any role
)

// stepsOf returns how far the rules that widen have widened for a ticket, and the least size of a match where it
// shrinks.
func stepsOf(p *profile.Profile, t *match.Ticket, now time.Time) []Step {
	var steps []Step
	for _, r := range p.Rules {
		if len(r.Widen) == 0 {
			continue
		}
		limits, next := r.Limits, (*time.Time)(nil)
		// Up to the first step that has not come yet, since steps ascend.
		for _, s := range r.Widen {
			if next = effectiveAt(t, s.AfterWait, now); next != nil {
				break
			}
			limits = s.Limits
		}
		steps = append(steps, Step{limitsOf(r.ID, r.Kind, limits), next})
	}
	if len(p.Fewer) > 0 {
		steps = append(steps, fewerOf(p, t, now))
	}
	if p.BotsAfter > 0 {
		steps = append(steps, botsOf(p, t, now))
	}
	if p.Autofill > 0 {
		next := effectiveAt(t, p.Autofill, now)
		steps = append(steps, Step{Limits{Rule: stepAutofill, Any: next == nil}, next})
	}
	return steps
}

func fewerOf(p *profile.Profile, t *match.Ticket, now time.Time) Step {
	players, next := leastPlayers(p, p.Fewer, t, now)
	return Step{Limits{Rule: stepFewer, Players: &players}, next}
}

// botsOf says how few players are enough once bots fill the teams, and when that is.
func botsOf(p *profile.Profile, t *match.Ticket, now time.Time) Step {
	// Before bots fill the teams this is the size by fewer: the step of the bots has not come yet.
	players, _ := leastPlayers(p, p.LeastSteps(), t, now)
	return Step{Limits{Rule: stepFill, Players: &players}, effectiveAt(t, p.BotsAfter, now)}
}

// leastPlayers is how many players a match needs by the steps that hold for a ticket, and when the next one does.
func leastPlayers(p *profile.Profile, steps []profile.Fewer, t *match.Ticket,
	now time.Time) (players int, next *time.Time) {
	least := map[string]int{}
	for _, team := range p.Teams {
		least[team.Name] = team.Min
	}
	for _, f := range steps {
		if next = effectiveAt(t, f.AfterWait, now); next != nil {
			break
		}
		maps.Copy(least, f.Players)
	}
	for _, n := range least {
		players += n
	}
	// Bots may fill every place but that of the ticket.
	return max(players, 1), next
}

// effectiveAt returns when a step takes effect; nil: it already has.
func effectiveAt(t *match.Ticket, after time.Duration, now time.Time) *time.Time {
	at := t.Created.Add(after).UTC()
	if !at.After(now) {
		return nil
	}
	return &at
}

func relaxationsOf(found []decide.Relaxation) []Limits {
	var all []Limits
	for _, r := range found {
		all = append(all, limitsOf(r.ID, r.Kind, r.Limits))
	}
	return all
}
