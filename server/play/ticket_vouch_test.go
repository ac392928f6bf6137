package play_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/play"
)

// vouched are profiles that take skill from a claim.
func vouched(t require.TestingT) known {
	const duel = "\nteams: [{name: red, players: 3}, {name: blue, players: 3}]\nrules: [{near: skill, within: 100}]\nattributes: "
	return parsed(t,
		"name: ranked"+duel+"{skill: {type: number, from: claim, claim: game.skill}}\npool: {doubles: {skill: {min: 1000}}}",
		"name: other"+duel+"{skill: {type: number, from: claim, claim: mmr}}",
		"name: casual"+duel+"{skill: {type: number, default: 0}}",
		"name: banned"+duel+"{skill: {type: number, from: claim, claim: game.skill, default: 0}, karma: {type: number, from: backend, default: 100}}",
	)
}

// postWith posts a ticket as alice, with an access token of these claims.
func postWith(t *testing.T, profiles play.Profiles, claims, body string) (*httptest.ResponseRecorder, *ticketSink) {
	e, s := ticketEngine(t, profiles)
	return postAs(e, "eyJhbGciOiJFZERTQSJ9."+base64.RawURLEncoding.EncodeToString([]byte(claims))+".e30", body), s
}

func stored(t require.TestingT, s *ticketSink) *match.Ticket {
	at := time.Unix(0, 0)
	return must.Get(ticketbody.Decode("id", at, s.last.EncodeBody("id", at), ""))(t)
}

const game1500 = `{"game":{"skill":1500}}`

// A claim fills what the client leaves out and replaces what it says, for rules and for pools.
func TestAClaimReplacesTheClientsWord(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"profiles":["ranked"]}`, `{"profiles":["ranked"],"attributes":{"skill":400}}`, `{"profiles":["ranked"],"players":{"alice":{"attributes":{"skill":400}}}}`,
		`{"profiles":["ranked"],"attributes":{"skill":"x"},"players":{"alice":{"attributes":{"skill":[]}}}}`, `{"profiles":["casual","ranked"],"attributes":{"skill":400}}`,
		`{"attributes":{"skill":400}}`,
	} {
		w, s := postWith(t, vouched(t), game1500, body)
		require.Equal(t, http.StatusCreated, w.Code, "%s: %s", body, w.Body)
		ticket := stored(t, s)
		require.Equal(t, 1500.0, ticket.Players[0].Attributes["skill"].Number, body)
		require.Equal(t, match.FromClaim, ticket.Players[0].SourceOf("skill"))
		require.Equal(t, 1500.0, ticket.Fields.Doubles["skill"])
		require.Empty(t, ticket.Fields.Strings)
		require.Equal(t, ticket.Fields.Row(), s.last.SearchFields.Row(), "the row that pools are asked of")
	}
	w, s := postWith(t, vouched(t), game1500, `{"profiles":["casual"],"attributes":{"skill":400}}`)
	require.Equal(t, http.StatusCreated, w.Code)
	require.Equal(t, 400.0, stored(t, s).Players[0].Attributes["skill"].Number,
		"a profile that asks nobody else takes the client's word")
}

// What nobody vouches for is refused, and the answer says what is needed.
func TestAWeakerWordIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ claims, body, field, detail string }{
		{`{}`, `{"profiles":["ranked"],"attributes":{"skill":400}}`, "attributes.skill",
			`is the word of the player's client: profile \"ranked\" takes it from the claim game.skill of the access token, which has none`},
		{`{}`, `{"profiles":["ranked"]}`, "attributes.skill", `is required and must be a number: profile \"ranked\" takes it from the claim game.skill`},
		{`{"game":{"skill":null}}`, `{"profiles":["banned"],"attributes":{"skill":400}}`, "attributes.skill", "is the word of the player's client"},
		{game1500, `{"profiles":["banned"],"attributes":{"karma":100}}`, "attributes.karma", `profile \"banned\" takes it from a backend only`},
		{`{"game":{"skill":"1500"}}`, `{"profiles":["ranked"]}`, "attributes.skill", "the claim game.skill of the access token, which the profile reads, must be a number"},
		{`{"game":{"skill":{"value":1500}}}`, `{"profiles":["ranked"]}`, "attributes.skill", "which the profile reads, must be a number, a text or a list of texts"},
		{`{"game":{"skill":1e999}}`, `{"profiles":["ranked"]}`, "attributes.skill", "which the profile reads, must"},
		{`{"game":{"skill":1500,"skill":3000}}`, `{"profiles":["ranked"]}`, "attributes.skill", "is there twice, or is not in an object"},
		{`{"game":1500}`, `{"profiles":["ranked"]}`, "attributes.skill", "is there twice, or is not in an object"},
		{`{"game":{"skill":1500},"mmr":9}`, `{"profiles":["other","ranked"]}`, "profiles", "they read the attribute skill from two claims"},
		{game1500, `{"profiles":["ranked"],"party":["alice","bob"],"players":{"bob":{"attributes":{"skill":1500}}}}`, "players.bob.attributes.skill",
			"takes it from a backend, which has stored none: the claims of other players than the caller are not known"},
		{game1500, `{"profiles":["ranked"],"party":["alice","bob"],"attributes":{"skill":1500}}`, "players.bob.attributes.skill", "is the word of the player's client"},
		{game1500, `{"profiles":["ranked"],"party":["alice","bob"]}`, "attributes.skill", "is required and must be a number"},
	} {
		w, _ := postWith(t, vouched(t), c.claims, c.body)
		require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", c.body, w.Body)
		require.Contains(t, w.Body.String(), `{"field":"`+c.field+`","detail":"`, c.body)
		require.Contains(t, w.Body.String(), c.detail, c.body)
	}
}

// Pins a body with which a client moves a rule that asks for more than its word: in whatever form it says a skill, the
// ticket is refused, or has the skill of the claim.
func TestForgedBodiesMoveNoRule(t *testing.T) {
	t.Parallel()
	profiles := vouched(t)
	accepted, refused := 0, 0
	for i := range 400 {
		body := rapid.Custom(forgedBody).Example(i)
		claims := rapid.SampledFrom([]string{game1500, `{}`, `{"skill":9}`, `{"game":{"skill":1500,"skill":9}}`, `{"game":[9]}`, `{"Game":{"skill":9}}`}).Example(i)
		w, s := postWith(t, profiles, claims, body)
		require.Less(t, w.Code, 500, body)
		if w.Code != http.StatusCreated {
			refused++
			continue
		}
		accepted++
		ticket := stored(t, s)
		for _, name := range ticket.Profiles {
			weak, found := profiles[name].Weak(&ticket.Players[0])
			require.False(t, found, "%s: %s", weak, body)
		}
		if !slices.Equal(ticket.Profiles, []string{"casual"}) && claims == game1500 {
			require.Equal(t, 1500.0, ticket.Players[0].Attributes["skill"].Number, body)
			require.Equal(t, 1500.0, ticket.Fields.Doubles["skill"], body)
		}
	}
	require.Greater(t, accepted, 20)
	require.Greater(t, refused, 100)
}

// forgedBody says a skill in some of the places where a client may write something.
func forgedBody(t *rapid.T) string {
	skill := rapid.SampledFrom([]string{"400", "9e9", `"400"`, `["400"]`, `{"number":400}`, "null", "true", "-0", "1e999"})
	sources := rapid.SampledFrom([]string{"", `,"sources":{"skill":"claim"}`, `,"source":"backend"`, `,"sources":{"skill":2}`, `,"sources":["backend"]`})
	member := func(name string) string {
		return rapid.SampledFrom([]string{
			"", fmt.Sprintf(`,%q:{"skill":%s}`, name, skill.Draw(t, "skill")), fmt.Sprintf(`,%q:{"skill":%s,"skill":%s}`, name, skill.Draw(t, "first"), skill.Draw(t, "second")),
			fmt.Sprintf(`,%q:{"skill":%s},%q:{"Skill":%s}`, name, skill.Draw(t, "one"), name, skill.Draw(t, "two")),
		}).Draw(t, name)
	}
	own := rapid.SampledFrom([]string{"", `,"players":{"alice":{"x":0` + member("attributes") + sources.Draw(t, "own sources") + `}}`}).Draw(t, "own")
	profiles := rapid.SampledFrom([]string{`["ranked"]`, `["casual"]`, `["banned"]`, `["casual","ranked"]`, `["ranked","banned"]`}).Draw(t, "profiles")
	party := rapid.SampledFrom([]string{"", "", `,"party":["alice"]`, `,"party":["alice","bob"],"players":{"bob":{"attributes":{"skill":1500}}}`}).Draw(t, "party")
	return `{"profiles":` + profiles + member("attributes") + own + party + sources.Draw(t, "sources") + "}"
}

// Pins a rule whose list of players to avoid depended on the names of the profiles: the stored list was not read where a
// weaker profile with the rule stood behind a more demanding one, and profiles whose claims nobody reads were refused
// where they stood before it.
func TestTheOrderOfProfilesDecidesNothing(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"avoids":  "attributes: {foes: {type: list, from: claim, claim: game.foes, default: []}}\nrules: [{avoid: foes}]",
		"other":   "attributes: {foes: {type: list, from: claim, claim: game.other, default: []}}",
		"demands": "attributes: {foes: {type: list, from: backend, default: []}}",
	}
	for _, names := range [][]string{
		{"avoids", "other", "demands"}, {"avoids", "demands", "other"}, {"demands", "avoids", "other"},
	} {
		profiles, asked := known{}, []string{}
		for i, role := range names {
			name := fmt.Sprintf("%c-%s", 'a'+i, role)
			profiles[name] = must.Get(profile.Parse([]byte("name: " + name +
				"\nteams: [{name: red, players: 3}, {name: blue, players: 3}]\n" + documents[role])))(t)
			asked = append(asked, `"`+name+`"`)
		}
		w, s := postWith(t, profiles, `{}`, `{"party":["alice","bob"],"profiles":[`+strings.Join(asked, ",")+`]}`)
		require.Equal(t, http.StatusCreated, w.Code, "%v: %s", names, w.Body)
		require.Equal(t, []string{"eve"}, stored(t, s).Players[1].Attributes["foes"].List, "%v", names)
	}
}
