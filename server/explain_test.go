package server_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Pins an explanation that its contract does not describe, and one that a player may read. What explanations say is
// tested in internal/matching/explainer.
func TestExplanationsOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ops(http.MethodPut, "profiles/duel", fields{"document": "name: duel\nmode: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: 100}]\n"}).ok(http.StatusOK)
	me := b.queue("ada", fields{"profiles": []string{"duel"}, "attributes": fields{"skill": 1000}, "latencies": fields{"eu": 30}})
	b.queue("bo", fields{"profiles": []string{"duel"}, "attributes": fields{"skill": 1231}})

	found := b.ops(http.MethodGet, "explain/tickets/"+me, nil).ok(http.StatusOK)
	require.Equal(t, [3]any{me, "queued", 1.0}, [3]any{found["ticket_id"], found["state"], found["read"]})
	profile := found["profiles"].([]any)[0].(map[string]any)
	require.Equal(t, []any{map[string]any{"rule": "near-skill", "within": 231.0}}, profile["would_match"])
	b.ops(http.MethodGet, "explain/tickets/nonsense", nil).problem(http.StatusNotFound, "ticket_unknown")
	b.ops(http.MethodGet, "explain/matches/"+uuid.NewString(), nil).problem(http.StatusNotFound, "match_unknown")
	require.Equal(t, []string{"id"}, b.ops(http.MethodGet, "explain/matches/nonsense", nil).named())
	b.call(b.request(http.MethodGet, "/ops/explain/tickets/"+me, nil, b.as("ada"))).problem(http.StatusUnauthorized, "unauthorized")
}
