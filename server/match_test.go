package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// worker runs the director's loop with a store of its own, as in another pod.
func (b *bundle) worker() (stop func()) {
	b.t.Helper()
	l := must.Get(loop.New(loop.Options{Store: storetest.Open(b.t, b.config.db.URL), Universe: "global", Log: slog.New(slog.NewTextHandler(b.t.Output(), nil))}))(b.t)
	return background.Loop(b.t, l.Run)
}

// await waits for the states of a ticket by long polls, as a player does, until it is in one of them.
func (b *bundle) await(sub, id, state string) (got fields) {
	b.t.Helper()
	for known, end := 0.0, time.Now().Add(30*time.Second); time.Now().Before(end); known = got["version"].(float64) {
		got = b.ticketCall(sub, http.MethodGet, fmt.Sprintf("/%s?wait=10s&version=%v", id, known), nil).ok(http.StatusOK)
		if got["state"] == state {
			return got
		}
	}
	require.Fail(b.t, "no such state", "%s: want %s, is %v", sub, state, got)
	return nil
}

// Players queue, a worker matches them, they resolve their seats, and their game server has waited for them: all of it
// over HTTP but the decision.
func TestFromTicketsToARoster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", `
name: ranked
mode: duel
teams: [{name: red, players: 2, roles: {tank: 1}}, {name: blue, players: 2, roles: {tank: 1}}]
attributes: {skill: {type: number}, role: {type: string}, maps: {type: list}}
rules: [{near: skill, within: 100}, {common: maps}]
tell: [skill]
data: {ranked: true}
`)
	b.worker()
	me := b.register("a")
	waiting := b.waitForSessions(me, b.sessions(me).ok(http.StatusOK)["cursor"], 1)
	tickets, parties := map[string]string{}, [][]string{{"ada", "bo"}, {"cy"}, {"di"}}
	for _, party := range parties {
		players := fields{}
		for _, sub := range party {
			players[sub] = fields{"attributes": fields{"role": map[bool]string{true: "tank", false: "healer"}[sub == "ada" || sub == "cy"]}}
		}
		id := b.queue(party[0], fields{
			"profiles": []string{"ranked"}, "party": party, "players": players, "attributes": fields{"skill": 1000, "maps": []string{"dust", "ice"}},
		})
		for _, sub := range party {
			tickets[sub] = id
		}
	}
	listed := (<-waiting).ok(http.StatusOK)["sessions"].([]any)
	require.Len(t, listed, 1)
	session := fields(listed[0].(map[string]any))
	require.Equal(t, []any{"duel", 4.0, 4.0, "ranked", 1.0, map[string]any{"maps": "dust"}, map[string]any{"ranked": true}}, []any{
		session["mode"], session["player_count"], session["max_players"], session["profile"], session["profile_version"], session["chosen"], session["data"],
	})
	teams := map[any][]string{}
	for i, entry := range session["players"].([]any) {
		p, sub := entry.(map[string]any), []string{"ada", "bo", "cy", "di"}[i]
		require.Equal(t, []any{sub, "reserved", tickets[sub], map[string]any{"skill": 1000.0}}, []any{p["sub"], p["state"], p["ticket_id"], p["attributes"]})
		require.Equal(t, sub == "ada" || sub == "cy", p["role"] == "tank", sub)
		teams[p["team"]] = append(teams[p["team"]], sub)

		assigned := b.await(sub, tickets[sub], "assigned")
		require.Equal(t, []any{session["session_handle"], p["team"], session["match_id"], "eu"},
			[]any{assigned["session_handle"], assigned["team"], assigned["match_id"], assigned["region"]})
		claims := claimsOf(t, b.resolve(sub, assigned["session_handle"]).ok(http.StatusOK)["session_token"].(string))
		require.Equal(t, []any{session["match_id"], p["team"], session["session_id"]}, []any{claims["mid"], claims["team"], claims["sid"]})
	}
	require.Len(t, teams, 2)
	for _, team := range teams {
		require.Equal(t, slices.Contains(team, "ada"), slices.Contains(team, "bo"), "a party is in one team")
	}
}

const asked = "name: asked\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 20s}\n"

func TestReadyCheckAcceptedByAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("asked", asked)
	b.worker()
	b.register("a")
	ada, bo := b.queue("ada", fields{"profiles": []string{"asked"}}), b.queue("bo", fields{"profiles": []string{"asked"}})
	check := b.await("ada", ada, "accepting")
	require.Equal(t, map[string]any{"players": 2.0, "accepted": 0.0, "you": false, "until": check["accept"].(map[string]any)["until"]}, check["accept"])
	require.Empty(t, b.store.Count("SELECT count(*) FROM seats"), "nobody has a seat yet")

	accepted := b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", nil).ok(http.StatusOK)["accept"].(map[string]any)
	require.Equal(t, []any{1.0, true}, []any{accepted["accepted"], accepted["you"]})
	require.Equal(t, accepted, b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", nil).ok(http.StatusOK)["accept"], "again: the same")
	b.ticketCall("bo", http.MethodPost, "/"+ada+"/accept", nil).problem(http.StatusNotFound, "ticket_unknown")
	b.ticketCall("bo", http.MethodPost, "/"+bo+"/accept", nil).ok(http.StatusOK)
	first, second := b.await("ada", ada, "assigned"), b.await("bo", bo, "assigned")
	require.Equal(t, first["session_handle"], second["session_handle"])
	require.NotEqual(t, first["team"], second["team"])
	b.ticketCall("bo", http.MethodPost, "/"+bo+"/decline", nil).problem(http.StatusConflict, "too_late")
}

// The party of the player who declines leaves the queue. The others are back at their place and are matched with the
// next.
func TestReadyCheckDeclined(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("asked", asked)
	b.worker()
	b.register("a")
	ada := b.queue("ada", fields{"profiles": []string{"asked"}})
	created := b.store.Count("SELECT count(*) FROM tickets WHERE id = $1 AND created = (SELECT min(created) FROM tickets)", ada)
	require.Equal(t, 1, created)
	bo := b.queue("bo", fields{"profiles": []string{"asked"}})
	b.await("ada", ada, "accepting")
	b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", nil).ok(http.StatusOK)
	declined := b.ticketCall("bo", http.MethodPost, "/"+bo+"/decline", nil).ok(http.StatusOK)
	if declined["state"] != "declined" {
		declined = b.await("bo", bo, "declined")
	}
	require.Equal(t, "not_accepted", declined["reason"])
	require.Equal(t, declined, b.ticketCall("bo", http.MethodPost, "/"+bo+"/decline", nil).ok(http.StatusOK), "again: the same")
	back := b.await("ada", ada, "queued")
	require.Equal(t, 1.0, back["place"])
	b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", nil).problem(http.StatusConflict, "too_late")

	cy := b.queue("cy", fields{"profiles": []string{"asked"}})
	for sub, id := range map[string]string{"ada": ada, "cy": cy} {
		check := b.await(sub, id, "accepting")["accept"].(map[string]any)
		require.False(t, check["you"].(bool), "who accepted the other match is asked again")
		b.ticketCall(sub, http.MethodPost, "/"+id+"/accept", nil).ok(http.StatusOK)
	}
	b.await("ada", ada, "assigned")
	b.await("cy", cy, "assigned")
}

// Pins players who accept a match that they were never asked about: the one on their screen has ended, and the ticket
// is in the next.
func TestAnAnswerIsForTheMatchThatWasAskedAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("asked", asked)
	b.worker()
	b.register("a")
	ada, bo := b.queue("ada", fields{"profiles": []string{"asked"}}), b.queue("bo", fields{"profiles": []string{"asked"}})
	first := b.await("ada", ada, "accepting")["match_id"]
	b.ticketCall("bo", http.MethodPost, "/"+bo+"/decline", fields{"match_id": first}).ok(http.StatusOK)
	b.await("ada", ada, "queued")
	cy := b.queue("cy", fields{"profiles": []string{"asked"}})
	second := b.await("ada", ada, "accepting")["match_id"]
	require.NotEqual(t, first, second)
	for _, answer := range []string{"accept", "decline"} {
		late := b.ticketCall("ada", http.MethodPost, "/"+ada+"/"+answer, fields{"match_id": first}).problem(http.StatusConflict, "too_late")
		ticket := late["ticket"].(map[string]any)
		require.Equal(t, []any{"accepting", second}, []any{ticket["state"], ticket["match_id"]}, "what to ask the player now")
		check := ticket["accept"].(map[string]any)
		require.Equal(t, []any{0.0, false, nil}, []any{check["accepted"], check["you"], check["declined"]})
		b.ticketCall("ada", http.MethodPost, "/"+ada+"/"+answer, fields{"match_id": ""}).problem(http.StatusBadRequest, "invalid_request")
		b.ticketCall("ada", http.MethodPost, "/"+ada+"/"+answer, fields{"matchid": second}).problem(http.StatusBadRequest, "invalid_request")
	}
	b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", fields{"match_id": second}).ok(http.StatusOK)
	b.ticketCall("cy", http.MethodPost, "/"+cy+"/accept", fields{"match_id": nil}).ok(http.StatusOK)
	b.await("ada", ada, "assigned")
}

// Pins DELETE during a ready check, whose answer did not say that the ticket leaves.
func TestLeavingDuringAReadyCheckSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("asked", asked)
	b.register("a")
	ada, _ := b.queue("ada", fields{"profiles": []string{"asked"}}), b.queue("bo", fields{"profiles": []string{"asked"}})
	stop := b.worker()
	b.await("ada", ada, "accepting")
	stop() // so that nobody judges the ready check
	left := b.ticketCall("ada", http.MethodDelete, "/"+ada, nil).ok(http.StatusOK)
	require.Equal(t, []any{"accepting", true}, []any{left["state"], left["accept"].(map[string]any)["declined"]})
	require.Equal(t, left["accept"], b.ticketCall("ada", http.MethodGet, "/"+ada, nil).ok(http.StatusOK)["accept"])
	b.worker()
	require.Equal(t, "not_accepted", b.await("ada", ada, "declined")["reason"])
}

// Whoever says nothing until the deadline leaves the queue; those who accepted keep their place.
func TestReadyCheckWithASilentPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// ada must be in time
	b.profile("asked", "name: asked\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 8s}\n")
	b.worker()
	b.register("a")
	ada, bo := b.queue("ada", fields{"profiles": []string{"asked"}}), b.queue("bo", fields{"profiles": []string{"asked"}})
	b.await("ada", ada, "accepting")
	b.ticketCall("ada", http.MethodPost, "/"+ada+"/accept", nil).ok(http.StatusOK)
	require.Equal(t, "not_accepted", b.await("bo", bo, "declined")["reason"])
	b.await("ada", ada, "queued")
	b.ticketCall("bo", http.MethodPost, "/"+bo+"/accept", nil).problem(http.StatusConflict, "too_late")
}

// A stream says when time alone has widened a rule.
func TestWidenedEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("wide", `
name: wide
mode: duel
teams: [{name: red, players: 1}, {name: blue, players: 1}]
attributes: {skill: {type: number}}
rules: [{near: skill, within: 100, widen: [{after: 1s, within: 200}, {after: 2s, within: any}]}]
`)
	id := b.queue("ada", fields{"profiles": []string{"wide"}, "attributes": fields{"skill": 1000}})
	stream := b.events("ada", id)
	first := webtest.NextEvent(t, stream)
	require.Equal(t, []any{"queued", "1", 100.0}, []any{first.Name, first.ID, first.Fields()["step"].(map[string]any)["within"]})
	second := webtest.NextEvent(t, stream)
	require.Equal(t, []any{"widened", "1", "queued", 1.0, 200.0},
		[]any{second.Name, second.ID, second.Fields()["state"], second.Fields()["version"], second.Fields()["step"].(map[string]any)["within"]})
	require.NotEmpty(t, second.Fields()["step"].(map[string]any)["next_at"])
	third := webtest.NextEvent(t, stream)
	require.Equal(t, []any{"widened", map[string]any{"rule": "near-skill", "ended": true}}, []any{third.Name, third.Fields()["step"]})
}
