package simulate_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/simulate"
)

// drawn returns the values of an attribute of many players, and requires that each ticket is a candidate.
func drawn(t *testing.T, document, attribute string, change func(*simulate.Options)) (values []match.Value) {
	t.Helper()
	o := simulate.Defaults()
	o.Profile = must.Get(profile.Parse([]byte(document)))(t)
	o.Hours = 0.1
	if change != nil {
		change(&o)
	}
	arrivals := must.Get(simulate.Arrivals(o))(t)
	engine := decide.New(decide.Version{Profile: o.Profile}, 1)
	for a, err := range arrivals {
		require.NoError(t, err)
		ok, why := engine.Candidate(a.Ticket)
		require.True(t, ok, why)
		for _, p := range a.Ticket.Players {
			values = append(values, p.Attributes[attribute])
		}
	}
	return values
}

const teams = "name: p\nteams: [{name: red, players: 2, roles: {tank: 1, healer: 1}}, {name: blue, players: 2, roles: {tank: 1, healer: 1}}]\n"

// A player has a value of the type that the profile declares. Pins profiles whose `role` is a string, of which no
// ticket was a candidate, and pools that exclude the end of a range.
func TestValuesHaveTheirDeclaredType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		document, attribute string
		kind                match.Kind
	}{
		{"attributes: {role: {type: string}}\n", "role", match.Text},
		{"attributes: {role: {type: list}}\n", "role", match.List},
		{"", "role", match.List},
		{"attributes: {map: {type: string}}\nrules: [{same: map}]\n", "map", match.Text},
		{"attributes: {map: {type: number}}\nrules: [{same: map}]\n", "map", match.Number},
		{"attributes: {map: {type: list}}\nrules: [{common: map}]\n", "map", match.List},
		{"attributes: {class: {type: string}}\nrules: [{count: class, any_of: [a, b], min: 1}]\n", "class", match.Text},
		{"attributes: {level: {type: number}}\n", "level", match.Number},
		{"pool: {doubles: {level: {min: 0, exclude: min}}}\nrules: [{near: skill, within: 5}]\n", "skill", match.Number},
		{"pool: {doubles: {level: {min: -9, max: 0, exclude: max}}}\nrules: [{near: skill, within: 5}]\n", "skill", match.Number},
	} {
		for _, v := range drawn(t, teams+c.document, c.attribute, nil)[:100] {
			require.Equal(t, c.kind, v.Kind, c.document)
		}
	}
}

const levels = teams + "attributes: {map: {type: string}}\nrules: [{near: level, within: 10}, {near: skill, within: 100}, {same: map}]\n"

// Numbers and words follow the distribution of their attribute, and members of a party stay alike.
func TestDistributions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		distribution    simulate.Distribution
		low, high, mean float64
	}{
		{simulate.Distribution{Shape: simulate.Whole, A: 1, B: 60}, 1, 60, 30.5},
		{simulate.Distribution{Shape: simulate.Uniform, A: 0, B: 0.5}, 0, 0.5, 0.25},
		{simulate.Distribution{Shape: simulate.Constant, A: 7}, 7, 7, 7},
		{simulate.Distribution{Shape: simulate.Normal, A: 100, B: 10}, 40, 160, 100},
		{simulate.Distribution{Shape: simulate.Bimodal, A: 100, B: 10}, 60, 140, 100},
	} {
		values := drawn(t, levels, "level", func(o *simulate.Options) { o.Numbers = map[string]simulate.Distribution{"level": c.distribution} })
		sum, seen := 0.0, map[float64]bool{}
		for _, v := range values {
			require.True(t, c.low <= v.Number && v.Number <= c.high, v.Number)
			sum += v.Number
			seen[v.Number] = true
		}
		require.InDelta(t, c.mean, sum/float64(len(values)), (c.high-c.low)/50+1e-9)
		if c.distribution.Shape == simulate.Whole {
			require.Len(t, seen, 60, "both ends count")
		}
	}
	words := map[string]int{}
	for _, v := range drawn(t, levels, "map", func(o *simulate.Options) {
		o.Texts = map[string][]simulate.Share{"map": {{Name: "dust", Weight: 3}, {Name: "mirage", Weight: 1}}}
	}) {
		words[v.Text]++
	}
	require.Equal(t, []string{"dust", "mirage"}, slices.Sorted(maps.Keys(words)))
	require.InDelta(t, 3, float64(words["dust"])/float64(words["mirage"]), 0.4)
	tanks, all := 0, drawn(t, teams, "role", func(o *simulate.Options) {
		o.Texts = map[string][]simulate.Share{"role": {{Name: "tank", Weight: 1}, {Name: "healer", Weight: 9}}}
	})
	for _, v := range all {
		if v.List[0] == "tank" {
			tanks++
		}
	}
	require.InDelta(t, 0.1, float64(tanks)/float64(len(all)), 0.03)
}

// A distribution of what tickets do not have is refused, with what they have.
func TestDistributionsOfOtherAttributes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*simulate.Options){
		`number speed: tickets of this profile have no number named "speed"; they have level (number), map (text), skill (number), role (list)`: func(o *simulate.Options) {
			o.Numbers = map[string]simulate.Distribution{"speed": {}}
		},
		`number map: tickets of this profile have no number`: func(o *simulate.Options) { o.Numbers = map[string]simulate.Distribution{"map": {}} },
		`number level: the first number must be at most the second, not 5 and 1`: func(o *simulate.Options) {
			o.Numbers = map[string]simulate.Distribution{"level": {Shape: simulate.Whole, A: 5, B: 1}}
		},
		`number level: a deviation must be at least 0`: func(o *simulate.Options) {
			o.Numbers = map[string]simulate.Distribution{"level": {B: -1}}
		},
		`text level: tickets of this profile have no text or list`: func(o *simulate.Options) {
			o.Texts = map[string][]simulate.Share{"level": {{Name: "a", Weight: 1}}}
		},
		`text role: no team has the role "tonk"; they have healer, tank`: func(o *simulate.Options) {
			o.Texts = map[string][]simulate.Share{"role": {{Name: "tonk", Weight: 1}}}
		},
	} {
		o := simulate.Defaults()
		var err error
		o.Profile, err = profile.Parse([]byte(levels))
		require.NoError(t, err)
		change(&o)
		_, err = simulate.Arrivals(o)
		require.ErrorContains(t, err, want)
	}
}
