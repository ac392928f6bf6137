package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// The tokens of backends: one for everything, one for each scope, and a second one of a backend that rotates.
const (
	backendToken = "a secret of the studio"
	playersToken = "a secret for players"
	ticketsToken = "a secret for tickets"
	rotatedToken = "a second secret of the studio"
)

var backendTokens = []string{"studio=" + backendToken, "ranking:players=" + playersToken,
	"nights:tickets=" + ticketsToken, "studio:players+tickets=" + rotatedToken}

// backend makes a call of the studio's backend.
func (b *bundle) backend(method, path string, body any, tokens ...string) answer {
	b.t.Helper()
	raw := append(tokens, backendToken)[0]
	return b.call(b.request(method, "/backend/"+path, body, header("Authorization", "Bearer "+raw)))
}

func TestStoredPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.backend(http.MethodGet, "players/ada", nil).problem(http.StatusNotFound, "player_unknown")
	ada := fields{"attributes": fields{"skill": 1500.5, "maps": []string{"dust"}, "none": nil, "clan": "blue"},
		"avoid": []string{"mallory", "eve"}, "may_party_with": []string{"bo"}}
	stored := b.backend(http.MethodPut, "players/ada", ada).ok(http.StatusOK)
	require.Equal(t, fields{
		"sub": "ada", "attributes": map[string]any{"skill": 1500.5, "maps": []any{"dust"}, "clan": "blue"},
		"avoid": []any{"eve", "mallory"}, "may_party_with": []any{"bo"},
		"updated_at": stored["updated_at"], "updated_by": "backend:studio",
	}, stored)
	require.Equal(t, stored, b.backend(http.MethodPut, "players/ada", ada, rotatedToken).ok(http.StatusOK),
		"the same again writes nothing")
	require.Equal(t, stored, b.backend(http.MethodGet, "players/ada", nil, playersToken).ok(http.StatusOK))
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM events WHERE kind = 'players.stored' AND actor = 'backend:studio' AND detail = '{\"players\": 1, \"subs\": [\"ada\"]}'"))
	require.Equal(t, 2, b.store.Count("SELECT count(*) FROM player_avoids WHERE region = 'global' AND sub = 'ada'"))

	batch := fields{"players": fields{"ada": ada, "bo": fields{"attributes": fields{"skill": 3}},
		"é c": fields{"avoid": nil}}}
	require.Equal(t, fields{"players": 3.0, "changed": 2.0},
		b.backend(http.MethodPut, "players", batch).ok(http.StatusOK))
	require.Equal(t, fields{"players": 3.0, "changed": 0.0},
		b.backend(http.MethodPut, "players", batch, playersToken).ok(http.StatusOK))
	require.Equal(t, map[string]any{}, b.backend(http.MethodGet, "players/%C3%A9%20c",
		nil).ok(http.StatusOK)["attributes"])
	require.Empty(t, b.backend(http.MethodPut, "players/ada", fields{}).ok(http.StatusOK)["avoid"],
		"what is left out is removed")
	require.Zero(t, b.store.Count("SELECT count(*) FROM player_avoids"))

	require.Equal(t, fields{"sub": "ada", "forgotten": true},
		b.backend(http.MethodDelete, "players/ada", nil).ok(http.StatusOK))
	require.Equal(t, fields{"sub": "ada", "forgotten": false},
		b.backend(http.MethodDelete, "players/ada", nil).ok(http.StatusOK))
	b.backend(http.MethodGet, "players/ada", nil).problem(http.StatusNotFound, "player_unknown")
}

// Pins a token that is good for more than its scope, and a credential of somebody else that is good for anything here.
func TestTokensOfBackends(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked)
	night := fields{"profiles": []string{"ranked"}, "party": []string{"ada"}}
	b.backend(http.MethodPost, "tickets", night, playersToken).problem(http.StatusForbidden, "scope_missing")
	b.backend(http.MethodPut, "players/ada", fields{}, ticketsToken).problem(http.StatusForbidden, "scope_missing")
	for _, wrong := range []string{"", "x", opsToken, fleetToken, b.issuer.Token(fields{"sub": "ada"}),
		backendToken + "x", "studio=" + backendToken, strings.ToUpper(backendToken)} {
		b.backend(http.MethodPut, "players/ada", fields{}, wrong).problem(http.StatusUnauthorized, "unauthorized")
		b.backend(http.MethodPost, "tickets", night, wrong).problem(http.StatusUnauthorized, "unauthorized")
	}
	b.call(b.request(http.MethodPost, "/tickets", night,
		header("Authorization", "Bearer "+backendToken))).problem(http.StatusUnauthorized, "unauthorized")
	require.Zero(t, b.store.Count("SELECT count(*) FROM stored_players"))
	for _, wrong := range []string{"short=0123456789abcde", "0123456789abcdef", "a:admin=0123456789abcdef",
		"A=0123456789abcdef"} {
		_, err := server.New(server.Options{Store: b.store.Store, Keys: b.keys, OpenFleet: true,
			Access: token.AccessConfig{Keys: b.issuer.Source}, BackendTokens: []string{wrong}})
		require.ErrorContains(t, err, "backend token 1")
		require.NotContains(t, err.Error(), "0123456789")
	}
	off := setup(t, func(c *config) { c.BackendTokens = nil })
	for _, r := range off.server.Routes() {
		require.NotContains(t, r.Path, "/backend/", "without tokens nothing is served")
	}
}

// A backend queues for players, who follow the ticket; a repeated call returns the same one.
func TestTicketsOfABackend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("vouched", vouchedDocument)
	night := fields{"profiles": []string{"vouched"}, "party": []string{"bo", "ada"},
		"attributes": fields{"skill": 1500, "karma": 1}}
	created := b.backend(http.MethodPost, "tickets", night, ticketsToken).ok(http.StatusCreated)
	id := created["ticket_id"].(string)
	require.Equal(t, created, b.backend(http.MethodPost, "tickets", night).ok(http.StatusOK))
	require.Equal(t, id, b.ticketCall("bo", http.MethodGet, "/"+id, nil).ok(http.StatusOK)["ticket_id"])
	require.Equal(t, "queued", b.backend(http.MethodGet, "tickets/"+id+"?wait=10ms&version=1",
		nil).ok(http.StatusOK)["state"])
	require.Equal(t, map[string]any{"skill": "backend", "karma": "backend"}, b.sources(id)["ada"])
	require.Equal(t, 1, b.store.Count("SELECT count(*) FROM tickets WHERE expires_at > now() + interval '5 minutes'"),
		"nobody has to wait for it")

	require.Equal(t, "cancelled", b.backend(http.MethodDelete, "tickets/"+id, nil).ok(http.StatusOK)["state"])
	require.Equal(t, "cancelled", b.backend(http.MethodDelete, "tickets/"+id, nil).ok(http.StatusOK)["state"],
		"again: the same")
	b.backend(http.MethodGet, "tickets/nonsense", nil).problem(http.StatusNotFound, "ticket_unknown")
	require.Equal(t, []string{"party"}, b.backend(http.MethodPost, "tickets",
		fields{"profiles": []string{"vouched"}}).named())
	require.Equal(t, []string{"attributes.skill"},
		b.backend(http.MethodPost, "tickets", fields{"profiles": []string{"vouched"}, "party": []string{"cy"}}).named())
}

const vouchedDocument = `name: vouched
attributes: {skill: {type: number, from: claim, claim: game.skill}, karma: {type: number, from: backend, default: 100}, blocked: {type: list, from: backend, default: []}}
teams: [{name: red, players: 1..2}, {name: blue, players: 1..2}]
rules: [{near: skill, within: 100}, {near: karma, within: 5}, {avoid: blocked}]
`

// sources returns who vouches for the attributes of a ticket, as explain says.
func (b *bundle) sources(id string) map[string]any {
	b.t.Helper()
	return b.ops(http.MethodGet, "explain/tickets/"+id, nil).ok(http.StatusOK)["sources"].(map[string]any)
}

// What a backend has stored is where no claim is: of the caller, and of the other members of its party.
func TestStoredAttributesFillATicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("vouched", vouchedDocument)
	b.backend(http.MethodPut, "players", fields{"players": fields{
		"ada": fields{"attributes": fields{"karma": 97, "skill": 1480}},
		"bo":  fields{"attributes": fields{"skill": 1450}, "avoid": []string{"eve"}},
		"cy":  fields{"attributes": fields{"skill": "high"}},
	}}).ok(http.StatusOK)
	post := func(body fields) answer {
		return b.call(b.request(http.MethodPost, "/tickets", body,
			header("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "ada", "game": fields{"skill": 1500}}))))
	}
	duo := fields{"profiles": []string{"vouched"}, "party": []string{"ada", "bo"},
		"attributes": fields{"skill": 400, "maps": []string{"dust"}}}
	id := post(duo).ok(http.StatusCreated)["ticket_id"].(string)
	require.Equal(t, map[string]any{
		"ada": map[string]any{"skill": "claim", "karma": "backend", "maps": "client"},
		"bo":  map[string]any{"skill": "backend", "blocked": "backend", "maps": "client"},
	}, b.sources(id))
	require.Equal(t, id, b.ticketCall("bo", http.MethodPost, "",
		duo.with("party", []string{"bo", "ada"})).ok(http.StatusOK)["ticket_id"], "whoever of the party asks")
	b.ticketCall("ada", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
	require.Equal(t, []string{"players.bo.attributes.karma"},
		post(duo.with("attributes", fields{"karma": 1000})).named(), "ada's is stored, bo's is her word")
	require.Equal(t, []string{"players.cy.attributes.skill"}, post(duo.with("party", []string{"ada", "cy"})).named(),
		"a backend has stored a text")
}

// Pins a player who takes others into a session or a queue although nobody permits it.
func TestPartiesThatNobodyPermits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.OpenParties = false })
	b.register("arena")
	queue := fields{"party": []string{"ada", "bo", "cy"}}
	seat := duel.with("party", []string{"ada", "bo", "cy"})
	refused := b.ticketCall("ada", http.MethodPost, "", queue).problem(http.StatusForbidden, "party_not_permitted")
	require.Contains(t, refused["detail"], "party: bo, cy;")
	b.matchmake("ada", seat).problem(http.StatusForbidden, "party_not_permitted")
	b.backend(http.MethodPut, "players/ada", fields{"may_party_with": []string{"bo"}}).ok(http.StatusOK)
	require.Contains(t, b.ticketCall("ada", http.MethodPost, "", queue).problem(http.StatusForbidden,
		"party_not_permitted")["detail"], "party: cy;")
	require.Zero(t, b.store.Count("SELECT count(*) FROM seats")+b.store.Count("SELECT count(*) FROM tickets"))
	b.backend(http.MethodPut, "players/cy", fields{"may_party_with": []string{"ada"}}).ok(http.StatusOK)
	b.ticketCall("ada", http.MethodPost, "", queue).ok(http.StatusCreated)
	b.matchmake("ada", seat).ok(http.StatusOK)
	b.matchmake("eve", duel.with("party", []string{"eve"})).ok(http.StatusOK)
	b.backend(http.MethodPost, "tickets", fields{"party": []string{"dan", "eve"}}).ok(http.StatusCreated)
}

// Pins a forged request that moves a rule which asks for more than the client's word: whatever a client writes and
// whoever has signed its token, the ticket is refused, or has what the login and the backend say.
func TestForgedRequestsMoveNoRule(t *testing.T) {
	t.Parallel()
	unlimited := rest.Rate{PerSecond: -1}
	b := setup(t, func(c *config) { c.CallerRate, c.FailureRate = unlimited, unlimited })
	b.profile("vouched", vouchedDocument)
	b.backend(http.MethodPut, "players",
		fields{"players": fields{"ada": fields{"attributes": fields{"karma": 97}},
			"bo": fields{"attributes": fields{"skill": 1450}}}}).ok(http.StatusOK)
	ours, stranger := b.issuer.Token(fields{"sub": "ada",
		"game": fields{"skill": 1500}}), keytest.NewLogin(t).Token(fields{"sub": "ada", "game": fields{"skill": 3000}})
	signed := strings.Split(ours, ".")
	signed[1] = keytest.Base64([]byte(`{"sub":"ada","exp":9999999999,"game":{"skill":3000}}`))
	richer := strings.Join(signed, ".") // with the signature of another payload
	random := rand.New(rand.NewPCG(30, 30))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	attributes := func() string {
		value := func() string {
			return pick("3000", "9e9", `"3000"`, `["3000"]`, `{"number":3000}`, "null", "true", "-0", "1e999", "[]", `["bo"]`)
		}
		name := func() string {
			return pick("skill", "skill", "karma", "blocked", "Skill", "sk\\u0069ll", "game.skill", "game", "sources")
		}
		strange := "{\"" + name() + "\":" + value() + ",\"" + name() + "\":" + value() + "}"
		return pick("null", `{"skill":3000}`, `{"skill":"3000"}`, `{"skill":3000,"skill":1}`, `{"karma":1,"skill":[]}`, strange)
	}
	var accepted, refused, unauthorized int
	for range 400 {
		body := `{"profiles":["vouched"],"attributes":` + attributes() + pick("", `,"attributes":`+attributes()) +
			pick("", "", `,"party":["ada","bo"],"players":{"bo":{"attributes":`+attributes()+`}}`, `,"party":["ada","eve"]`,
				`,"players":{"ada":{"attributes":`+attributes()+`,"sources":{"skill":"claim","karma":"backend"}},"ada":{"attributes":`+attributes()+`}}`) +
			pick("", `,"sources":{"skill":2}`, `,"sources":"backend"`, `,"source":"backend"`) + "}"
		raw := pick(ours, ours, ours, ours, ours, ours, stranger, b.issuer.Token(fields{"sub": "ada"}),
			b.issuer.Token(fields{"sub": "ada", "skill": 3000, "game.skill": 3000}),
			b.issuer.Token(fields{"sub": "ada", "game": []any{fields{"skill": 3000}}}), richer)
		a := b.call(b.request(http.MethodPost, "/tickets", body, header("Authorization", "Bearer "+raw)))
		switch a.status {
		case http.StatusUnauthorized:
			unauthorized++
		case http.StatusCreated, http.StatusOK:
			accepted++
			require.Equal(t, ours, raw, body)
			id := a.ok(a.status)["ticket_id"].(string)
			for sub, sources := range b.sources(id) {
				for name, source := range sources.(map[string]any) {
					strong := map[string][]any{"skill": {"claim", "backend"}, "karma": {"backend"}, "blocked": {"backend"}}[name]
					require.True(t, strong == nil || slices.Contains(strong, source), "%s of %s: %v: %s", name, sub, source, body)
				}
			}
			for _, p := range b.storedTicket(id).Players {
				require.Equal(t, map[string]float64{"ada": 1500, "bo": 1450}[p.Sub], p.Attributes["skill"].Number, body)
				require.Equal(t, map[string]float64{"ada": 97}[p.Sub], p.Attributes["karma"].Number, body)
				require.Empty(t, p.Attributes["blocked"].List, body)
			}
			b.ticketCall("ada", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
		default:
			refused++
			require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, a.status, body)
		}
	}
	t.Logf("%d accepted, %d refused, %d unauthorized", accepted, refused, unauthorized)
	require.Greater(t, min(accepted, refused, unauthorized), 20)
}

// storedTicket reads a ticket as the worker does.
func (b *bundle) storedTicket(id string) *match.Ticket {
	b.t.Helper()
	known := must.Get(b.store.AnyTicket(b.t.Context(), "global", id))(b.t)
	return must.Get(ticketbody.Decode(id, known.CreatedAt, known.Body, ""))(b.t)
}

// A server refuses every body that violates a constraint of the contract, and stores nothing of it.
func TestInvalidBodiesOfBackends(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tried := 0
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil || !slices.Contains(op.Tags, "backend") {
				continue
			}
			s := op.RequestBody.Value.Content["application/json"].Schema.Value
			path := strings.TrimPrefix(strings.ReplaceAll(path, "{sub}", "ada"), "/backend/")
			for _, c := range contracttest.BrokenCases(s) {
				tried++
				require.Equal(t, http.StatusBadRequest, b.backend(method, path, c.Body).status, "%s %s: %s", method,
					path, c.Name)
			}
		}
	}
	require.Greater(t, tried, 20)
	large := map[string]any{}
	for i := range 9 {
		large[fmt.Sprint("a", i)] = strings.Repeat("x", 1000)
	}
	require.Equal(t, []string{"attributes"},
		b.backend(http.MethodPut, "players/ada", fields{"attributes": large}).named())
	require.Zero(t, b.store.Count("SELECT count(*) FROM stored_players"))
	text, err := json.Marshal(fields{"avoid": []string{"a", "a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"avoid[1]"}, b.backend(http.MethodPut, "players/ada", text).named())
}
