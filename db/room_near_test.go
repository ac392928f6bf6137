package db_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a create that reads the whole fleet although named agents have places, and one that is refused, or goes to a
// wrong agent, because the copy of the fleet was old.
func TestNamedAgentsAreComparedAlone(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	idle, low, high := f.agent(1), f.agent(2), f.agent(3)
	f.Exec("UPDATE agent_states SET connections = CASE agent_id WHEN $1 THEN 5 WHEN $2 THEN 9 ELSE 0 END", low, high)
	names := func(agents ...string) func(*db.NewRoom) { return func(r *db.NewRoom) { r.NearestAgents = agents } }
	require.Equal(t, low, f.create("r1", names(high, low)).AgentID, "the best of those that are named, by their rows")
	require.Equal(t, idle, f.create("r2").AgentID)

	for i, old := range []string{
		"UPDATE agent_states SET status = 'draining' WHERE agent_id <> $1",
		"UPDATE agent_states SET in_flight = 32 WHERE agent_id <> $1",
		"UPDATE agent_states SET misses = 2 WHERE agent_id <> $1",
		"UPDATE agents SET max_rooms = 0 WHERE id <> $1",
		"UPDATE agents SET auto_create = false WHERE id <> $1",
		"UPDATE agents SET room_types = '{race}' WHERE id <> $1",
		"UPDATE agent_states SET doubted = true, rooms = 0, reserved = 0, connections = 0, in_flight = 0 WHERE agent_id <> $1",
	} {
		t.Log(old)
		f.Exec(old, idle)
		require.Equal(t, idle, f.create(fmt.Sprint("old-", i), names(low, high)).AgentID)
	}
	f.requireRefused(db.CodeNoCandidate, f.newRoom("race", func(r *db.NewRoom) { r.Type, r.NearestAgents = "none", []string{idle} }))
	require.Equal(t, idle, f.create("unknown", names("nobody")).AgentID)
}

// Pins a room on an agent of a frozen replica, whose agents look idle in every copy.
func TestNamedAgentsOfAFrozenReplicaAreNotEnough(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	frozen := uuid.New()
	f.Exec("INSERT INTO replicas (region, id, seen_at) VALUES ('eu', $1, clock_timestamp() - interval '3 seconds')",
		frozen)
	alive, asleep := f.agent(1), f.agent(2, withReplica(frozen))
	require.Equal(t, alive, f.create("r", func(r *db.NewRoom) { r.NearestAgents = []string{asleep} }).AgentID)
}

// Pins a fleet of which some agents declare a maximum of connections: how they are compared depends on all of them.
func TestNamedAgentsThatAreComparedByDifferentRules(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	few, many := f.agent(1), f.agent(2)
	f.Exec("UPDATE agent_states SET connections = CASE agent_id WHEN $1 THEN 5 ELSE 9 END", few)
	f.Exec("UPDATE agents SET max_connections = 1000 WHERE id = $1", many)
	require.Equal(t, few, f.create("r", func(r *db.NewRoom) { r.NearestAgents = []string{many, few} }).AgentID)
}
