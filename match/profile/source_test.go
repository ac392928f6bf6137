package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

func TestSourcesOfAttributes(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte(accepted["sources"]))
	require.NoError(t, err)
	bronze := &match.Value{Kind: match.Text, Text: "bronze"}
	require.Equal(t, map[string]profile.Attribute{
		"skill":   {Kind: match.Number, From: match.FromClaim, Claim: []string{"game", "skill"}},
		"league":  {Kind: match.Text, Default: bronze, From: match.FromClaim, Claim: []string{"league"}},
		"rank":    {Kind: match.Number, From: match.FromClaim, Claim: []string{"https://studio.example/game", "rank"}},
		"blocked": {Kind: match.List, From: match.FromBackend},
		"maps":    {Kind: match.List},
	}, p.Attributes)
	require.Empty(t, profile.ClientsWord([]byte(accepted["sources"])))
	require.Empty(t, profile.Warnings([]byte(accepted["sources"])))
	require.NotContains(t, string(p.Canonical()), "client", "earlier releases read profiles that use the default")
}

// A stronger source is enough for what asks for a weaker one, and no other.
func TestWeak(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{Attributes: map[string]profile.Attribute{
		"a": {Kind: match.Number, From: match.FromBackend}, "b": {Kind: match.Number, From: match.FromClaim}, "c": {Kind: match.Number},
	}}
	one := match.Value{Kind: match.Number, Number: 1}
	for _, c := range []struct {
		has     []string
		sources map[string]match.Source
		rest    match.Source
		weak    string
	}{
		{[]string{"a", "b", "c"}, nil, match.FromClient, "a"},
		{[]string{"b", "c"}, nil, match.FromClient, "b"},
		{[]string{"c", "undeclared"}, nil, match.FromClient, ""},
		{[]string{"a", "b"}, map[string]match.Source{"a": match.FromClaim, "b": match.FromClaim}, match.FromClient, "a"},
		{[]string{"a", "b"}, map[string]match.Source{"a": match.FromBackend, "b": match.FromBackend}, match.FromClient, ""},
		{[]string{"a", "b"}, nil, match.FromBackend, ""},
		{[]string{"a", "b"}, map[string]match.Source{"b": match.FromClient}, match.FromBackend, "b"},
	} {
		player := match.Player{Attributes: match.Attributes{}, Sources: c.sources, Source: c.rest}
		for _, name := range c.has {
			player.Attributes[name] = one
		}
		weak, found := p.Weak(&player)
		require.Equal(t, c.weak, weak, "%+v", c)
		require.Equal(t, c.weak != "", found)
	}
}

// Every part of a profile that reads an attribute on the client's word is named once, where it is.
func TestClientsWord(t *testing.T) {
	t.Parallel()
	document := []byte(`name: a
pool: {tags: [ranked, "league:gold"], strings: {mode: duel}, doubles: {skill: {min: 5}}}
attributes: {skill: {type: number}, clan: {type: string, from: client}}
teams: [{name: all, players: 2}]
rules: [{near: skill, within: 5}, {same: clan}, {or: [{same: platform}, {same: clan, id: x}]}]
priority: {by: ahead, up_to: 5m}
`)
	var at []string
	for _, p := range profile.ClientsWord(document) {
		at = append(at, p.String())
	}
	const say = ", which only the player's client vouches for: add attributes: {"
	require.Len(t, at, 5)
	for i, want := range []string{
		"line 2, column 23: pool.tags[1]: pool takes the attribute league" + say + "league: {from: claim}}",
		"line 2, column 49: pool.strings.mode: pool takes the attribute mode" + say, "line 2, column 72: pool.doubles.skill: pool takes the attribute skill" + say,
		"line 5, column 62: rules[2].or[0].same: same takes the attribute platform" + say, "line 6, column 16: priority.by: priority takes the attribute ahead" + say,
	} {
		require.Contains(t, at[i], want)
	}
	var warnings []string
	for _, p := range profile.Warnings(document) {
		warnings = append(warnings, p.String())
	}
	require.Len(t, warnings, 5, "one for each attribute: %q", warnings)
	require.Contains(t, warnings[2], "pool takes the attribute skill")
	require.Contains(t, warnings[3], "the attribute platform is not declared")
	require.Empty(t, profile.ClientsWord([]byte("name: 1")))
}
