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
	shown := Limits{Rule: id}
	if l.Ended {
		shown.Any = true
		return shown
	}
	switch kind {
	case profile.Near, profile.Balance, profile.Sizes, profile.PartySizes:
		shown.Within = finiteNumber(l.Within)
	case profile.Comparison:
		shown.To = finiteNumber(l.Number)
	case profile.Common:
		shown.AtLeast = &l.AtLeast
	case profile.Count:
		shown.Min = &l.Min
		// NoMax and NoSpread are no limits to show.
		if l.Max != profile.NoMax {
			shown.Max = &l.Max
		}
	case profile.Latency:
		shown.LatencyMS = inMilliseconds(l.Latency)
		if l.Spread != profile.NoSpread {
			shown.SpreadMS = inMilliseconds(l.Spread)
		}
	default: // the other kinds have no limits
	}
	return shown
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

// stepsOf returns how far the rules that widen have widened for a ticket, and the steps that belong to no rule.
func stepsOf(p *profile.Profile, t *match.Ticket, now time.Time) []Step {
	var steps []Step
	for _, r := range p.Rules {
		if len(r.Widen) == 0 {
			continue
		}
		limits, next := r.Limits, (*time.Time)(nil)
		// Steps ascend: the last that has come counts, and next is when the first comes that has not.
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

// fewerOf returns how few players are enough by the steps of fewer.
func fewerOf(p *profile.Profile, t *match.Ticket, now time.Time) Step {
	players, next := leastPlayers(p, p.Fewer, t, now)
	return Step{Limits{Rule: stepFewer, Players: &players}, next}
}

// botsOf returns how few players are enough with bots, and when bots fill the teams. Until then, Players is the number
// by fewer.
func botsOf(p *profile.Profile, t *match.Ticket, now time.Time) Step {
	players, _ := leastPlayers(p, p.LeastSteps(), t, now)
	return Step{Limits{Rule: stepFill, Players: &players}, effectiveAt(t, p.BotsAfter, now)}
}

// leastPlayers returns how many players a match needs by the steps that hold for a ticket, and when the next one does.
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
	return max(players, 1), next // bots may fill every place but that of the ticket
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
