package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/await"
)

func (r *rivalis) commands() []string {
	r.t.Helper()
	return one[[]string](r.bundle, "SELECT coalesce(array_agg(op || ' ' || agent_id || ' ' || actor ORDER BY created_at), '{}') FROM commands WHERE state = 'pending'")
}

// Pins a bug: a kept drain ended when the game server restarted.
func TestAKeptDrainOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	wake, stop := r.Subscribe(db.TopicReplica(replica), fleetRegion)
	defer stop()
	await.Value(t, wake, "a notification") // connected
	ref := r.joined(replica, "eu0")
	other := r.joined(replica, "eu1")
	keep := func(f func() (bool, error), want bool) {
		changed, err := f()
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	drain := func() (bool, error) { return r.KeepDrain(t.Context(), fleetRegion, "eu0", "wss://eu0", "key#1") }
	undrain := func() (bool, error) { return r.UnkeepDrain(t.Context(), fleetRegion, "eu0", "wss://eu0", "key#2") }
	keep(drain, true)
	keep(drain, false)
	await.Value(t, wake, "a notification")
	require.Equal(t, []string{"drain " + ref.ID + " key#1"}, r.commands())
	require.Equal(t, db.AgentDraining, r.apply(db.AgentSnapshot{Ref: ref}).RecordedStatus)
	require.Equal(t, db.AgentActive, r.apply(db.AgentSnapshot{Ref: other}).RecordedStatus)
	require.NoError(t, r.LeaveAgent(t.Context(), ref))

	again := r.process(replica, "eu0")
	require.Equal(t, db.AgentDraining, r.join(again).RecordedStatus)
	require.Equal(t, []string{"drain " + again.Ref.ID + " key#1"}, r.commands())
	r.requireCounted()
	sent, err := r.RemindKeptDrains(t.Context(), fleetRegion, 10)
	require.NoError(t, err)
	require.Zero(t, sent, "a drain command is pending")
	r.Exec("UPDATE commands SET state = 'timed_out', settled_at = now() WHERE state = 'pending'")
	r.Exec("UPDATE agent_states SET in_flight = 0")
	sent, err = r.RemindKeptDrains(t.Context(), fleetRegion, 10)
	require.NoError(t, err)
	require.Equal(t, 1, sent)
	r.Exec("UPDATE commands SET state = 'done', settled_at = now() WHERE state = 'pending'")
	r.Exec("UPDATE agent_states SET in_flight = 0")
	content := again.Content
	content.Status = db.AgentDraining
	r.apply(db.AgentSnapshot{Ref: again.Ref, Content: &content})
	require.Empty(t, r.commands())

	keep(undrain, true)
	keep(undrain, false)
	require.Equal(t, []string{"undrain " + again.Ref.ID + " key#2"}, r.commands())
	content.Status = db.AgentActive
	require.Equal(t, db.AgentActive, r.apply(db.AgentSnapshot{Ref: again.Ref, Content: &content}).RecordedStatus)
	r.requireCounted()

	keep(drain, true)
	content.Name = "eu9"
	require.Equal(t, db.AgentActive, r.apply(db.AgentSnapshot{Ref: again.Ref, Content: &content}).RecordedStatus,
		"another name")
	require.Equal(t, []string{"drain.kept", "drain.ended", "drain.kept"},
		one[[]string](r.bundle, "SELECT array_agg(kind ORDER BY tx, id) FROM events WHERE kind LIKE 'drain.%'"))
}

// Pins a bug: a game server that joined while its drain was being kept still got rooms.
func TestAJoinDoesNotMissAKeptDrain(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	keeping, err := r.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = keeping.Rollback(t.Context()) }()
	_, err = keeping.Exec(t.Context(), "SELECT keep_drain($1, 'eu0', 'wss://eu0', 'key#1', true)", fleetRegion)
	require.NoError(t, err)
	states := make(chan db.AgentState)
	j := r.process(replica, "eu0")
	go func() { states <- r.join(j) }()
	r.AwaitBlocked(1)
	require.NoError(t, keeping.Commit(t.Context()))
	require.Equal(t, db.AgentDraining, (<-states).RecordedStatus)
}
