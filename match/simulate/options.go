package simulate

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Options describe the tickets that arrive. Each but Profile has a default; see [Defaults].
type Options struct {
	Profile *profile.Profile
	Seed    uint64
	From    time.Time
	Hours   float64 // how long tickets arrive
	Rate    float64 // tickets a second on average
	// Daily is how much the rate exceeds its average at 20:00 UTC and falls below it at 8:00, as a fraction of Rate, 0
	// to 1.
	Daily   float64
	Skill   Skill                   // the distribution of the numbers that Numbers does not name
	Numbers map[string]Distribution // by attribute
	Texts   map[string][]Share      // the words of a text or a list, by attribute; "role": the role that a player prefers
	Parties []Share                 // the shares of tickets with a number of players
	Regions []Share                 // the shares of tickets whose nearest game region it is; neighbours follow each other
	// Patience is the average time after which players cancel; 0: they stay until the profile's ttl.
	Patience time.Duration
}

// Skill is the distribution of the numbers that the rules compare.
type Skill struct {
	Mean, Deviation float64
	// Bimodal says that half of the players are around Mean+Deviation and half around Mean-Deviation, each with half of
	// Deviation.
	Bimodal bool
}

// Share is a name with its share of the whole, in any unit.
type Share struct {
	Name   string
	Size   int // of a party
	Weight float64
}

// Defaults returns options for 10 tickets a second for an hour, by players whose skill is 1500±300, most of them alone,
// in three regions.
func Defaults() Options {
	return Options{
		Seed: 1, From: time.Date(2026, 1, 5, 18, 0, 0, 0, time.UTC), Hours: 1, Rate: 10,
		Skill:   Skill{Mean: 1500, Deviation: 300},
		Parties: []Share{{Size: 1, Weight: 70}, {Size: 2, Weight: 20}, {Size: 3, Weight: 10}},
		Regions: []Share{{Name: "eu", Weight: 45}, {Name: "us", Weight: 35}, {Name: "ap", Weight: 20}},
	}
}

// The bounds of the options.
const (
	MaxHours   = 24 * 31
	MaxRate    = 10_000
	MaxRegions = 64
)

// checkBounds returns an error for an option that is out of bounds.
func (o *Options) checkBounds() error {
	switch {
	case o.Profile == nil:
		return errors.New("the profile is missing")
	case !(o.Hours > 0 && o.Hours <= MaxHours):
		return fmt.Errorf("hours must be more than 0 and at most %d, not %g", MaxHours, o.Hours)
	case !(o.Rate > 0 && o.Rate <= MaxRate):
		return fmt.Errorf("rate must be more than 0 and at most %d tickets a second, not %g", MaxRate, o.Rate)
	case !(o.Daily >= 0 && o.Daily <= 1):
		return fmt.Errorf("daily must be from 0 to 1, not %g", o.Daily)
	case !(o.Skill.Deviation >= 0) || math.IsInf(o.Skill.Mean+o.Skill.Deviation, 0) || math.IsNaN(o.Skill.Mean):
		return errors.New("skill must have a finite mean, and a deviation of at least 0")
	case o.Patience < 0:
		return errors.New("patience must not be negative")
	case len(o.Regions) > MaxRegions:
		return fmt.Errorf("regions must be at most %d", MaxRegions)
	}
	if len(o.partyShares()) == 0 {
		return fmt.Errorf("parties: none of them fits into a team, of which the largest has %d players",
			o.largestTeam())
	}
	return nil
}

// partyShares returns the sizes that fit into a team.
func (o *Options) partyShares() (fit []Share) {
	for _, p := range o.Parties {
		// Larger parties could never be matched, and would only fill the queue.
		if p.Size >= 1 && p.Size <= o.largestTeam() && p.Weight > 0 {
			fit = append(fit, p)
		}
	}
	return fit
}

func (o *Options) largestTeam() (most int) {
	for _, t := range o.Profile.Teams {
		most = max(most, t.Max)
	}
	return most
}

// PartyMean returns the mean number of players of a ticket.
func (o *Options) PartyMean() float64 {
	players, weight := 0.0, 0.0
	for _, p := range o.partyShares() {
		players += float64(float64(p.Size) * p.Weight)
		weight += p.Weight
	}
	return players / weight
}
