package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

func noBody(string, time.Time) []byte { return []byte{1} }

// Every way into a seat or the queue has the same gate.
func TestEveryWayInAsksTheValve(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 100, noStaff)
	b.tokens("launch", 0, 0)
	ways := map[string]func(ctx context.Context, player string) error{
		"seat": func(ctx context.Context, player string) error {
			_, err := b.Place(ctx, db.PlaceRequest{Caller: player, Region: "eu", Mode: "m", Party: []string{player},
				MaxPlayers: 2})
			return err
		},
		"ticket": func(ctx context.Context, player string) error {
			_, err := b.CreatePlayerTicket(ctx, "global",
				db.PlayerTicketRequest{Caller: player, Party: []string{player}})
			return err
		},
		"open match": func(ctx context.Context, player string) error {
			_, err := b.CreateTicket(ctx, "global", db.NewTicket{Player: player, EncodeBody: noBody})
			return err
		},
	}
	for name, way := range ways {
		err := way(t.Context(), name)
		requireKind(t, fault.TooMany, "not_admitted", err)
		refused, _ := errors.AsType[*fault.Error](err)
		require.Equal(t, "launch", refused.Place.Valve, name)
	}
	_, err := b.CreateTicket(t.Context(), "global", db.NewTicket{EncodeBody: noBody})
	requireKind(t, fault.TooMany, "not_admitted", err)
	require.Equal(t, 3, one[int](b, "SELECT count(*) FROM admissions"))
	b.tokens("launch", 100, 0)
	require.NoError(t, b.AdmitWaiting(t.Context(), "launch"))
	requireKind(t, fault.NoCapacity, "region_unknown", ways["seat"](t.Context(), "seat"))
	require.NoError(t, ways["open match"](t.Context(), "open match"))
	_, err = b.CreateTicket(t.Context(), "global", db.NewTicket{EncodeBody: noBody})
	require.NoError(t, err, "nobody waits")
}

// Pins a caller who brings friends past the line, and one who fills the line with names.
func TestAPartyIsAdmittedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", 10, noStaff)
	b.tokens("launch", 1, 0)
	b.enter("a")
	post := func(isVouched bool) error {
		_, err := b.CreatePlayerTicket(t.Context(), "global",
			db.PlayerTicketRequest{Caller: "a", Party: []string{"a", "b"}, IsVouched: isVouched})
		return err
	}
	requireKind(t, fault.TooMany, "not_admitted", post(false))
	require.Equal(t, []string{"a"}, b.Rows("SELECT sub FROM admissions"))
	requireKind(t, fault.TooMany, "not_admitted", post(true))
	require.Equal(t, []string{"a", "b"}, b.Rows("SELECT sub FROM admissions ORDER BY 1"),
		"a backend's word gives each a place")
}

// Pins a room of the lobby, or a session of it, by which players get past the line.
func TestSessionsOfTheLobbyAskTheValve(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	n.valve("launch", 100, noStaff)
	n.tokens("launch", 0, 0)
	named := func(name string) func(*db.RealtimeRequest) { return func(o *db.RealtimeRequest) { o.PlayerSub = name } }
	ann, bob, cy := n.open(n.client("ann", named("ann"))), n.open(n.client("bob", named("bob"))), n.open(n.client("cy",
		named("cy")))
	_, err := n.EnqueueRealtime(t.Context(), wants(cy, "duel", 2))
	requireKind(t, fault.TooMany, "not_admitted", err)
	n.join(ann, "party", "party:1")
	n.say(ann, "party:1", "invite", `{"player":"bob"}`)
	n.join(bob, "party", "party:1")
	n.say(ann, "party:1", "queue", `{"room_type":"duel","size":4}`)
	require.Equal(t, []string{"not_admitted"}, n.Rows("SELECT reason FROM lobby_outcomes"))
	require.Equal(t, []string{"ann", "bob", "cy"}, n.Rows("SELECT sub FROM admissions ORDER BY 1"), "each has a place")
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM tickets"))
	n.Exec("DELETE FROM lobby_outcomes")
	n.tokens("launch", 3, 0)
	require.NoError(t, n.AdmitWaiting(t.Context(), "launch"))
	n.enqueue(wants(cy, "duel", 2))
	n.say(ann, "party:1", "cancel", `{}`)
	n.say(ann, "party:1", "queue", `{"room_type":"duel","size":4}`)
	require.Equal(t, 2, one[int](n.bundle, "SELECT count(*) FROM tickets"))
	n.requireCounters()
}
