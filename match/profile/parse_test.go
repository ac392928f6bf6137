package profile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// duel returns a document of three lines whose rules are those, in flow style.
func duel(rules string) string {
	return "name: duel\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\nrules: [" + rules + "]\n"
}

// duel2 returns a document with teams of 4 and another third line.
func duel2(line string) string {
	return "name: duel\nteams: [{name: red, players: 4, roles: {tank: 2}}, {name: blue, players: 4}]\n" + line + "\n"
}

func steps(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("{after: %ds, within: %d}", i+1, i+10)
	}
	return strings.Join(all, ", ")
}

// rules returns rules of distinct attributes, numbered from the second argument on.
func rules(n int, from ...int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("{same: a%d}", append(from, 0)[0]+i)
	}
	return strings.Join(all, ", ")
}

func long(n int) string { return strings.Repeat("x", n) }

func TestParseRanked(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte(ranked))
	require.NoError(t, err)
	roles := []profile.Role{{Name: "healer", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	require.Equal(t, &profile.Profile{
		Name: "ranked-5v5", Modes: []string{"arena"}, Pool: &match.Pool{Tags: []string{"ranked"}},
		Teams: []profile.Team{{Name: "red", Min: 5, Max: 5, Step: 1, Roles: roles}, {Name: "blue", Min: 5, Max: 5, Step: 1, Roles: roles}},
		Rules: []profile.Rule{
			{ID: "near-skill", Kind: profile.Near, Attribute: "skill", Limits: profile.Limits{Within: 100}, Widen: []profile.Step{
				{AfterWait: 10 * time.Second, Limits: profile.Limits{Within: 200}}, {AfterWait: 30 * time.Second, Limits: profile.Limits{Within: 200, Ended: true}},
			}},
			{ID: "balance-skill", Kind: profile.Balance, Attribute: "skill", Limits: profile.Limits{Within: 30}, Teams: profile.FoldMean},
			{ID: "common-maps", Kind: profile.Common, Attribute: "maps", Limits: profile.Limits{AtLeast: 1}, Party: profile.Intersect},
			{ID: "latency", Kind: profile.Latency, Limits: profile.Limits{Latency: 60 * time.Millisecond, Spread: profile.NoSpread}, Widen: []profile.Step{
				{AfterWait: 15 * time.Second, Limits: profile.Limits{Latency: 120 * time.Millisecond, Spread: profile.NoSpread}},
			}},
			{ID: "avoid-blocked", Kind: profile.Avoid, Attribute: "blocked", Missing: profile.Missing{Pass: true}},
		},
		Fewer:          []profile.Fewer{{AfterWait: 45 * time.Second, Players: map[string]int{"red": 4, "blue": 4}}},
		JoinInProgress: profile.JoinInProgress{When: profile.Prefer},
		Accept:         20 * time.Second, TTL: 10 * time.Minute, Tell: []string{"maps", "skill"},
	}, p)
}

// Pins a document that is accepted, and whose canonical form means something else or is refused.
func TestCanonicalMeansTheSame(t *testing.T) {
	t.Parallel()
	for name, document := range accepted {
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err, name)
		again, err := profile.Parse(p.Canonical())
		require.NoError(t, err, "%s: %s", name, p.Canonical())
		require.Equal(t, p, again, name)
		require.Equal(t, string(p.Canonical()), string(again.Canonical()), name)
	}
}

// Pins two spellings of one profile that would make two versions.
func TestCanonicalIsOfTheMeaning(t *testing.T) {
	t.Parallel()
	canonical := func(document string) string {
		p, err := profile.Parse([]byte(document))
		require.NoError(t, err, document)
		return string(p.Canonical())
	}
	want := canonical(duel("{near: skill, within: 100, widen: {every: 5s, add: 50, until: 180}}"))
	require.Equal(t, want, canonical(`{"teams":[{"name":"red","players":"2..2"},{"players":2,"step":1,"name":"blue"}],"name":"duel","ttl":"600s","age":"oldest",
		"rules":[{"id":"near-skill","within":1e2,"near":"skill","missing":"fail","party":"each","per":"match",
		"widen":[{"after":"5s","within":150},{"after":"10000ms","within":180.0}]}],"order":[],"fewer":[],"attributes":{},"tell":["skill"]}`))
	require.NotEqual(t, want, canonical(duel("{near: skill, within: 100, widen: {every: 5s, add: 50, until: 181}}")))
}

// Pins a team that is filled first, and means something else than the steps of fewer that say the same.
func TestFillIsFewer(t *testing.T) {
	t.Parallel()
	filled, err := profile.Parse([]byte(accepted["fill"]))
	require.NoError(t, err)
	stepped, err := profile.Parse([]byte(`name: filled
teams: [{name: all, players: 16, step: 2}, {name: bots, players: 3, count: 2}]
fewer: [{after: 10s, players: {bots: 1}}, {after: 20s, players: {all: 4}}]
`))
	require.NoError(t, err)
	require.Equal(t, stepped, filled)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range refused {
		p, err := profile.Parse([]byte(c[0]))
		require.Nil(t, p, name)
		var refusal *profile.Error
		require.ErrorAs(t, err, &refusal, name)
		require.NotEmpty(t, refusal.Problems, name)
		if !strings.HasPrefix(refusal.Problems[0].String(), c[1]) {
			t.Errorf("%s:\nwant %s\ngot  %s", name, c[1], refusal)
		}
	}
}

// Pins a document of an earlier release, which ignored missing where a rule has no attribute.
func TestStoredMissingOfNoAttribute(t *testing.T) {
	t.Parallel()
	p, err := profile.ParseStored([]byte(duel("{compare: {take: count}, is: '<', to: 8, missing: pass}")))
	require.NoError(t, err)
	again, err := profile.Parse(p.Canonical())
	require.NoError(t, err)
	require.Equal(t, p, again)
}

// Pins an author who corrects one mistake after the other.
func TestParseReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := profile.Parse([]byte("name: A\nteams: [{name: red, players: 2}]\nttl: 1s\nrules: [{near: skill, within: -1}, {same: a, role: x}]\n"))
	var refusal *profile.Error
	require.ErrorAs(t, err, &refusal)
	var paths []string
	for _, p := range refusal.Problems {
		paths = append(paths, p.Path)
	}
	require.Equal(t, []string{"name", "ttl", "rules[0].within", "rules[1].role"}, paths, err)

	_, err = profile.Parse([]byte("name: a\nteams: [{name: red, players: 2}]\nregions: [" + strings.Repeat("A, ", 20) + "B]\n"))
	require.ErrorAs(t, err, &refusal)
	require.Len(t, refusal.Problems, 16)
}

// Pins too many rules that were reported a second time beside the preferences, which are right.
func TestTooManyRulesAreReportedOnce(t *testing.T) {
	t.Parallel()
	prefer := "prefer: [{rule: {same: z}}]\n"
	inner := ", {or: [" + rules(8, 100) + "]}, {and: [" + rules(8, 200) + "]}"
	for document, want := range map[string]string{
		duel(rules(29)+inner) + prefer: "line 3, column 8: rules: 47 rules are too many",
		duel(rules(33)):                "line 3, column 8: rules: a list of 33 is not allowed",
		duel(rules(33)) + prefer:       "line 3, column 8: rules: a list of 33 is not allowed",
		duel(rules(32)) + prefer:       "line 4, column 9: prefer: 33 rules are too many",
	} {
		_, err := profile.Parse([]byte(document))
		var refusal *profile.Error
		require.ErrorAs(t, err, &refusal)
		require.Len(t, refusal.Problems, 1, refusal)
		require.Contains(t, refusal.Problems[0].String(), want)
	}
}

// Pins documents that cost much more than their size.
func TestParseBoundsItsEffort(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Trim(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	documents := map[string]string{"bomb": bomb, "self": "a: &a [*a]\n"}
	for name, one := range map[string]string{
		"lists": "[", "mappings": "{a: ", "items": "- ", "keys": "? ", "anchors": "&a ", "aliases": "*a ", "tags": "!!str ", "colons": "a: ", "quotes": `"`, "quote": "'",
		"literals": "|\n", "lines": "\n", "tabs": "\t", "documents": "---\n", "commas": ",", "comments": "#\n", "ends": "]", "json": `[{"a":`, "dashes": "-", "values": "a: b\n ", "directives": "%a\n",
	} {
		documents[name] = strings.Repeat(one, profile.MaxBytes/len(one))
		documents["name and "+name] = "name: " + documents[name][:profile.MaxBytes-6]
	}
	deep := ""
	for i := range 340 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	documents["indentation"] = deep
	for name, document := range documents {
		began := time.Now()
		_, err := profile.Parse([]byte(document))
		require.Error(t, err, name)
		require.Less(t, time.Since(began), 5*time.Second, name)
	}
}
