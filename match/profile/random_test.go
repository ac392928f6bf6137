package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match/profile"
)

// Pins combinations of keys whose canonical form means something else.
func TestCanonicalOfRandomProfiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := []string{"name: " + rapid.StringMatching(`[a-z][a-z0-9-]{0,20}`).Draw(t, "name")}
		optional := func(line string) {
			if rapid.Bool().Draw(t, line) {
				lines = append(lines, line)
			}
		}
		teams := []string{}
		for i := range rapid.IntRange(2, 4).Draw(t, "teams") {
			least, step := rapid.IntRange(2, 4).Draw(t, "least"), rapid.IntRange(1, 2).Draw(t, "step")
			most := least + step*rapid.IntRange(0, 2).Draw(t, "steps")
			teams = append(teams, fmt.Sprintf("{name: t%d, players: %d..%d, step: %d, roles: {tank: 1..2}, allow_split: %v}", i, least, most, step, rapid.Bool().Draw(t, "split")))
		}
		lines = append(lines, "teams: ["+strings.Join(teams, ", ")+"]")
		var rules []string
		for i := range rapid.IntRange(0, 10).Draw(t, "rules") {
			rules = append(rules, randomRule(t, i, 0))
		}
		lines = append(lines, "rules: ["+strings.Join(rules, ", ")+"]")
		optional("prefer: [{rule: {near: soft, within: 5}}, {rule: {or: [{same: clan, missing: x}, {latency: 30ms}]}, weight: 2.5}]")
		optional("mode: [a, b.c]")
		optional("pool: {tags: [z, y], doubles: {x: {min: -1.5, exclude: both}}}")
		optional("attributes: {declared: {type: list, default: [a, b]}}")
		optional("age: " + rapid.SampledFrom([]string{"oldest", "youngest", "mean", "each"}).Draw(t, "age"))
		optional("batch: {by: skill, for: 90s}")
		optional("priority: {by: ahead, up_to: 1m30s}")
		trades := []string{"latency: 5ms per second"}
		if len(rules) > 0 && strings.HasPrefix(rules[0], "{near") {
			trades = append(trades, "n0: 0.5 per second", "balance: 12.25 per second")
		}
		optional("trade: {" + strings.Join(trades[rapid.IntRange(0, len(trades)-1).Draw(t, "first"):], ", ") + "}")
		optional("order: [{distance: skill, descending: true}, {value: exp}]")
		optional("join_in_progress: {when: prefer, within: 1h30m}")
		optional("accept: {within: 1.5s}")
		optional("data: {b: 1.0, a: [1e5, +3, .5, 007, -0, '1', \"\\u2028\"]}")
		optional("tell: []")
		optional("regions: [eu, us]")
		document := strings.Join(lines, "\n") + "\n"
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err, document)
		again, err := profile.Parse(p.Canonical())
		require.NoError(t, err, "%s\n%s", document, p.Canonical())
		require.Equal(t, p, again, document)
	})
}

func randomRule(t *rapid.T, i, depth int) string {
	limit := rapid.Float64Range(0, 1e6).Draw(t, "limit")
	add := rapid.Float64Range(1e-3, 1e3).Draw(t, "add")
	until := limit + add*rapid.Float64Range(0.5, 250).Draw(t, "widenings")
	widen := rapid.SampledFrom([]string{
		"", fmt.Sprintf(", widen: {every: 700ms, add: %v, until: %v}", add, until), fmt.Sprintf(", widen: [{after: 1s, within: %v}, {after: 2s, within: any}]", limit+add),
	}).Draw(t, "widen")
	missing := rapid.SampledFrom([]string{"", ", missing: pass", ", missing: fail", ", missing: 1.25"}).Draw(t, "missing")
	party := rapid.SampledFrom([]string{"", ", party: min", ", party: mean"}).Draw(t, "party")
	kinds := []string{
		fmt.Sprintf("{near: n%d, within: %v%s%s%s}", i, limit, widen, missing, party),
		fmt.Sprintf("{balance: n%d, within: %v, teams: sum%s%s}", i, limit, widen, missing),
		fmt.Sprintf("{compare: {take: sum, of: n%d, in: t0}, is: '<', to: %v, widen: {every: 1m, add: %v, until: %v}, id: c%d-%d}", i, limit, add, until, i, depth),
		fmt.Sprintf("{count: s%d, any_of: [a, b], max: 3, min: 1, widen: [{after: 1m, min: 0}]}", i),
		fmt.Sprintf("{common: l%d, at_least: 3, widen: {every: 1m, add: -1, until: 1}}", i),
		fmt.Sprintf("{latency: 60ms, widen: {every: 1s, add: %dms, until: 4s}, id: latency-%d-%d}", 20+i, i, depth),
		fmt.Sprintf("{avoid: l%d, role: tank, per: team}", i),
		fmt.Sprintf("{near: n%d, within: %v%s%s%s, by_role: {tank: t%d}}", i, limit, widen, missing, party, i),
		fmt.Sprintf("{compare: {take: max, of: n%d, by_role: {tank: t%d}}, is: '<', to: %v, id: m%d-%d}", i, i, limit, i, depth),
	}
	kinds = append(kinds,
		fmt.Sprintf("{compare: {take: count}, is: '>', to: -%d, id: p%d-%d%s}", i+1, i, depth, party),
		fmt.Sprintf("{compare: {take: count, of: n%d}, is: '>', to: -%d, id: h%d-%d%s%s}", i, i+1, i, depth, missing, party))
	if depth < 3 {
		inner := randomRule(t, i, depth+1)
		kinds = append(kinds, fmt.Sprintf("{or: [%s], id: or%d-%d}", inner, i, depth))
		if !strings.Contains(inner, "widen") && !strings.Contains(inner, "take: count") { // no match would have so few
			kinds = append(kinds, fmt.Sprintf("{not: %s, id: not%d-%d}", inner, i, depth))
		}
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")
}
