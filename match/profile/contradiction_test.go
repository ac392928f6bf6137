package profile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match/profile"
)

// contradictory are rules of two teams of two players, with what is refused. Rules stand on the lines from 3 on.
var contradictory = map[string][2]string{
	"same and different":               {"{same: s}\n{different: s}", "line 4, column 3: rules[1]: no match can satisfy this: all players have a different s, and by same-s in line 3 all players have the same s"},
	"near and not near":                {"{near: x, within: 5}\n{not: {near: x, within: 10}}", "line 4, column 9: rules[1].not: no match can satisfy this: the greatest and the least x differ by more than 10, and by near-x in line 3 the greatest and the least x differ by at most 5"},
	"not near and near":                {"{not: {near: x, within: 5}}\n{near: x, within: 5}", "line 4, column 3: rules[1]: no match can satisfy this"},
	"three of two":                     {"{compare: {take: count, in: red}, is: '=', to: 3}", "line 3, column 3: rules[0]: no match can satisfy this: number of players in red = 3, and team red has at most 2 players"},
	"five of four":                     {"{compare: {take: count}, is: '>=', to: 5}", "line 3, column 3: rules[0]: no match can satisfy this: number of players >= 5, and a match has at most 4 players"},
	"fewer than there are":             {"{compare: {take: count}, is: '<', to: 4}", "line 3, column 3: rules[0]: no match can satisfy this: number of players < 4, and a match has at least 4 players"},
	"three with a value":               {"{compare: {take: count, of: x}, is: '>', to: 4}", "line 3"},
	"count per team":                   {"{count: s, any_of: [a], min: 3, per: team}", "line 3, column 3: rules[0]: no match can satisfy this: in each team 3 or more players have a in s, and team red has at most 2 players"},
	"count of a role":                  {"{count: s, any_of: [a], min: 2, role: tank}", "line 3, column 3: rules[0]: no match can satisfy this: 2 or more players have a in s among players in the role tank, and a match, of the role tank, has at most 1 player"},
	"count in and":                     {"{and: [{count: s, any_of: [a], min: 3, per: team}]}", "line 3, column 10: rules[0].and[0]: no match can satisfy"},
	"count of some of them":            {"{count: s, any_of: [a, b], max: 1}\n{count: s, any_of: [b], min: 2, id: two}", "line 4"},
	"count in a team and in the match": {"{count: s, any_of: [a], max: 1}\n{count: s, any_of: [a], min: 1, per: team, id: each}\n{count: s, any_of: [a], min: 2, id: two}", "line 5"},
	"count or not":                     {"{count: s, any_of: [a], min: 1, max: 2}\n{not: {count: s, any_of: [a], max: 3}}", "line 4"},
	"a rule and its not":               {"{avoid: b}\n{not: {avoid: b}}", "line 4"},
	"common and its not":               {"{common: m, at_least: 3}\n{not: {common: m, at_least: 2}}", "line 4"},
	"balance and its not":              {"{balance: x, within: 5}\n{not: {balance: x, within: 5}}", "line 4"},
	"parties and the not":              {"{party_sizes: 1}\n{not: {party_sizes: 1}}", "line 4"},
	"different, its not":               {"{different: s}\n{not: {different: s}}", "line 4"},
	"a not of a not":                   {"{same: s}\n{not: {not: {different: s}}}", "line 4"},
	"latency":                          {"{latency: 50ms}\n{not: {latency: 60ms}}", "line 4"},
	"latency of the mean":              {"{latency: 50ms}\n{not: {latency: 60ms, take: mean}}", "line 4"},
	"sizes are even":                   {"{not: {sizes: 0}}", "line 3, column 9: rules[0].not: no match can satisfy this: the sizes of the teams differ by more than 0, and the sizes of two teams differ by at most 0"},
	"a party in a team":                {"{not: {party_sizes: 1}}", "line 3"},
	"no number":                        {"{compare: {of: x}, is: '<', to: 5}\n{compare: {take: max, of: x}, is: '>=', to: 5, id: max}", "line 4, column 3: rules[1]: no match can satisfy this: max of x >= 5, and by compare-x in line 3 each x < 5"},
	"no mean":                          {"{compare: {of: x}, is: '<', to: 5}\n{compare: {take: mean, of: x}, is: '>=', to: 6, id: mean}", "line 4"},
	"two numbers":                      {"{compare: {of: x}, is: '=', to: 5}\n{compare: {take: min, of: x}, is: '=', to: 6, id: min}", "line 4"},
	"not equal":                        {"{compare: {of: x}, is: '=', to: 5}\n{compare: {take: min, of: x}, is: '!=', to: 5, id: min}", "line 4"},
	"not a measure":                    {"{compare: {take: sum, of: x}, is: '<', to: 5}\n{not: {compare: {take: sum, of: x}, is: '<', to: 7}}", "line 4"},
	"less than itself":                 {"{compare: {take: max, of: x}, is: '<', to: {take: max, of: x}}", "line 3"},
	"a circle":                         {"{compare: {take: max, of: x, in: red}, is: '<', to: {take: min, of: x, in: blue}}\n{compare: {take: min, of: x, in: blue}, is: '<', to: {take: min, of: x, in: red}, id: back}", "line 4"},
	"near and numbers":                 {"{near: x, within: 10}\n{compare: {take: min, of: x}, is: '<', to: 100}\n{compare: {take: max, of: x}, is: '>', to: 200, id: max}", "line 5"},
	"near and teams":                   {"{near: x, within: 10}\n{compare: {take: mean, of: x, in: red}, is: '<', to: 100}\n{compare: {take: mean, of: x, in: blue}, is: '>', to: 200, id: blue}", "line 5"},
	"balance and teams":                {"{balance: x, within: 10}\n{compare: {take: mean, of: x, in: red}, is: '<', to: 100}\n{compare: {take: mean, of: x, in: blue}, is: '>', to: 200, id: blue}", "line 5"},
	"near and balance":                 {"{near: x, within: 10}\n{not: {balance: x, within: 11}}", "line 4"},
	"near of a role":                   {"{near: x, within: 10}\n{not: {near: x, within: 10, role: tank}}", "line 4"},
	"near of a team":                   {"{near: x, within: 10}\n{not: {near: x, within: 10, per: team}}", "line 4"},
	"near by role":                     {"{near: x, within: 5, by_role: {tank: y}}\n{not: {near: x, within: 10, by_role: {tank: y}, id: far}}", "line 4, column 9: rules[1].not: no match can satisfy this: the greatest and the least x by role differ by more than 10"},
	"near from the mean":               {"{near: x, within: 5, from: mean}\n{not: {near: x, within: 11, id: far}}", "line 4"},
	"numbers in a role":                {"{compare: {of: x}, is: '>', to: 5}\n{compare: {of: x}, is: '<=', to: 5, role: tank, id: tanks}", "line 4"},
	"same and near":                    {"{same: x}\n{not: {near: x, within: 0}}", "line 4"},
	"in every or":                      {"{same: s}\n{or: [{different: s}, {not: {same: s}}]}", "line 4, column 9: rules[1].or[0]: no match can satisfy"},
	"or within not":                    {"{same: s}\n{not: {or: [{same: s}, {same: r}]}}", "line 4"},
	"after all steps":                  {"{near: x, within: 5, widen: [{after: 10s, within: 9}]}\n{not: {near: x, within: 9}}", "line 4"},
	"linear":                           {"{near: x, within: 5, widen: {every: 1s, add: 1, until: 200}}\n{not: {near: x, within: 200}}", "line 4"},
	"what stands in":                   {"{same: s, missing: a}\n{different: s, missing: a}", "line 4"},
	"what is declared":                 {"{same: d}\n{different: d, missing: pass}", "line 4"},
}

func contradictoryDocument(rules string) string {
	lines := strings.Split(rules, "\n")
	return "{name: duel, teams: [{name: red, players: 2, roles: {tank: 1}}, {name: blue, players: 2}], attributes: {d: {type: string, default: none}},\nrules: [\n  " +
		strings.Join(lines, ",\n  ") + "\n]}\n"
}

// Pins rules that no match can satisfy, and that were accepted: their tickets waited until they expired.
func TestParseRefusesContradictions(t *testing.T) {
	t.Parallel()
	for name, c := range contradictory {
		document := contradictoryDocument(c[0])
		_, err := profile.Parse([]byte(document))
		refusal, refused := errors.AsType[*profile.Error](err)
		if !refused {
			t.Errorf("%s: accepted", name)
			continue
		}
		if got := refusal.Problems[0].String(); !strings.HasPrefix(got, c[1]) || !strings.Contains(got, "no match can satisfy") {
			t.Errorf("%s:\nwant %s\ngot  %s", name, c[1], got)
		}
		_, err = profile.ParseStored([]byte(document))
		require.NoError(t, err, "%s was accepted by an earlier release", name)
	}
}

// satisfiable are rules that look like a contradiction, or are one only for some matches.
var satisfiable = map[string]string{
	"until a step":          "{same: s, widen: [{after: 10s, same: any}]}\n{different: s}",
	"until a step of not":   "{near: x, within: 5}\n{not: {near: x, within: 10}, widen: [{after: 10s, not: any}]}",
	"at the widest":         "{near: x, within: 5, widen: [{after: 10s, within: 11}]}\n{not: {near: x, within: 10}}",
	"of different players":  "{same: s, role: tank}\n{different: s, id: all}",
	"of one player":         "{same: s, role: tank}\n{different: s, role: tank}",
	"without players":       "{same: s, missing: pass}\n{different: s, missing: pass}",
	"another stand-in":      "{same: s, missing: 1}\n{different: s, missing: '1'}",
	"of those who have one": "{same: s, missing: a}\n{different: s, missing: pass}",
	"another value":         "{compare: {of: x}, is: '<', to: 1, missing: pass}\n{compare: {take: max, of: x}, is: '>', to: 1, missing: pass, id: max}",
	"in one branch":         "{same: s}\n{or: [{different: s}, {same: r}]}",
	"in each team":          "{same: s, per: team}\n{not: {same: s, id: no}}",
	"two teams":             "{compare: {take: mean, of: x, in: red}, is: '<', to: 1}\n{compare: {take: mean, of: x, in: blue}, is: '>', to: 2, id: b}\n{not: {balance: x, within: 1}}",
	"at the limit":          "{near: x, within: 10}\n{compare: {take: min, of: x}, is: '<=', to: 100}\n{compare: {take: max, of: x}, is: '>=', to: 110, id: max}",
	"rounding":              "{near: x, within: 0.3}\n{compare: {take: min, of: x}, is: '<=', to: 0.1}\n{compare: {take: max, of: x}, is: '>=', to: 0.4, id: max}",
	"of a mean":             "{compare: {of: x}, is: '<=', to: 0.1}\n{compare: {take: mean, of: x}, is: '>', to: 0.1, id: mean}",
	"from the mean":         "{near: x, within: 5, from: mean}\n{not: {near: x, within: 9, id: far}}",
	"of roles":              "{near: x, within: 5, by_role: {tank: y}}\n{not: {near: x, within: 10, id: far}}",
	"of parties":            "{near: x, within: 5, party: mean}\n{not: {near: x, within: 10, id: far}}",
	"a farther region":      "{latency: 50ms, spread: 10ms}\n{not: {latency: 60ms, spread: 9ms}}",
	"lower than the rule":   "{latency: 60ms}\n{not: {latency: 50ms}}",
	"a large party":         "{not: {party_sizes: 0}}",
	"all of a match":        "{count: s, any_of: [a], min: 4}\n{compare: {take: count}, is: '=', to: 4}",
	"one of two texts":      "{count: s, any_of: [a], max: 1}\n{count: s, any_of: [a, b], min: 4, id: both}",
	"common of none":        "{common: m, at_least: 3, missing: pass}\n{not: {common: m, at_least: 4, missing: pass}}",
}

// Pins a profile that is refused although matches exist.
func TestParseAcceptsWhatCanBeSatisfied(t *testing.T) {
	t.Parallel()
	for name, rules := range satisfiable {
		_, err := profile.Parse([]byte(contradictoryDocument(rules)))
		require.NoError(t, err, name)
	}
}

// Pins rules that would take much longer to check than to read.
func TestContradictionsBoundTheirEffort(t *testing.T) {
	t.Parallel()
	var rules []string
	for i := range 8 {
		rules = append(rules, fmt.Sprintf("{or: [{not: {near: x%d, within: 1, per: team}}, {not: {same: x%d, per: team}}, {count: s%d, any_of: [a], min: 3}], id: r%d}", i, i, i, i))
	}
	rules = append(rules, "{same: x}", "{different: x}")
	document := "{name: many, teams: [{name: t, players: 2, count: 16}], rules: [" + strings.Join(rules, ",\n") + "]}"
	began := time.Now()
	_, err := profile.Parse([]byte(document))
	_ = err // accepted or not
	require.Less(t, time.Since(began), 5*time.Second)
}
