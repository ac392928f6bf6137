package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

const (
	liveReplica  = "00000000-0000-0000-0000-00000000000a"
	endedReplica = "00000000-0000-0000-0000-00000000000b"
)

// replicas inserts a live replica and an ended one.
func (d *opsDB) replicas() {
	d.t.Helper()
	d.Exec(`INSERT INTO replicas (region, id, steady_since, heard_since, ended_at, rows_until) VALUES
		('global', '` + liveReplica + `', now() - interval '1 day', now() - interval '2 seconds', NULL, NULL),
		('global', '` + endedReplica + `', now() - interval '1 day', now(), now() - interval '1 minute', now())`)
}

// agent connects a game server with a reported room and a room that is reserved by a pending command.
func (d *opsDB) agent(id, name, replica string) {
	d.t.Helper()
	d.Exec(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, max_rooms, auto_create, agent_version, protocol_version, key)
		VALUES ('global', $1, $3, 'p_' || $2, $2, 'wss://' || $2, '{"rack": "7"}', '{duel}', 8, true, '8.0.0', 3, 'key#01234567')`, id, name, replica)
	d.Exec(`INSERT INTO agent_states (region, agent_id, replica, status, connections, rooms, reserved, in_flight, synced_at)
		VALUES ('global', $1, $2, 'active', 3, 1, 1, 1, now() - interval '1 hour')`, id, replica)
	d.Exec(`INSERT INTO rooms (region, id, agent_id, base, type, connections, state, command) VALUES ('global', $2 || '~lobby', $1, 'lobby', 'duel', 3, 'reported', NULL),
		('global', $2 || '-new', $1, $2 || '-new', 'duel', 0, 'reserved', ('00000000-0000-0000-0000-' || right($1, 12))::uuid)`, id, name)
	d.Exec(`INSERT INTO commands (region, id, agent_id, replica, op, room, base, type, actor, deadline)
		VALUES ('global', ('00000000-0000-0000-0000-' || right($1, 12))::uuid, $1, $3, 'create', $2 || '-new', $2 || '-new', 'duel', 'key#1', now() + interval '10 seconds')`, id, name, replica)
}

// agentsAtWork inserts agents in each state.
func (d *opsDB) agentsAtWork() {
	d.t.Helper()
	d.replicas()
	d.agent("0000000000000001", "eu0", liveReplica)
	d.agent("0000000000000002", "eu1", liveReplica)
	d.agent("0000000000000003", "eu2", endedReplica)
	d.Exec(`UPDATE agent_states SET misses = 2, override = 'draining' WHERE agent_id = '0000000000000002'`)
	d.Exec(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, auto_create, agent_version, protocol_version, key)
		SELECT 'global', '000000000000000' || n, '` + liveReplica + `', 'p_eu0', 'eu0', 'wss://eu0', true, '8.0.0', 3, 'key#01234567' FROM generate_series(4, 5) n`)
	d.Exec(`INSERT INTO agent_states (region, agent_id, replica, status, doubted, left_at) VALUES
		('global', '0000000000000004', '` + liveReplica + `', 'active', true, NULL), ('global', '0000000000000005', '` + liveReplica + `', 'active', false, now())`)
}

func TestOpsAgentsRoomsAndCommands(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.agentsAtWork()
	require.Equal(t, []string{"a|live|3|t", "b|ended|1|t"},
		d.Rows(`SELECT right(replica::text, 1), state, agents, lease_age < '1 hour' FROM ops.replicas ORDER BY 1`))
	require.Equal(t, []string{
		`0000000000000001|eu0|p_eu0|wss://eu0|connected|active|f|1|1|8|3||1|t|{duel}|{"rack": "7"}|t`,
		`0000000000000002|eu1|p_eu1|wss://eu1|stale|draining|f|1|1|8|3||1|t|{duel}|{"rack": "7"}|f`,
		`0000000000000003|eu2|p_eu2|wss://eu2|cut off|active|f|1|1|8|3||1|t|{duel}|{"rack": "7"}|t`,
		`0000000000000004|eu0|p_eu0|wss://eu0|doubted|active|f|0|0||0||0|t|{}|{}|t`,
	}, d.Rows(`SELECT agent, name, process, endpoint, state, status, drain_kept, rooms, reserved_rooms, max_rooms, connections, max_connections, commands_in_flight,
		auto_create, room_types, labels, last_reply > now() - interval '1 minute' FROM ops.agents ORDER BY agent`))
	require.Equal(t, []string{"eu0-new|0000000000000001|eu0|duel|0|f|reserved|wss://eu0", "eu0~lobby|0000000000000001|eu0|duel|3|f|reported|wss://eu0"},
		d.Rows(`SELECT room, agent, agent_name, type, connections, local, state, endpoint FROM ops.rooms WHERE agent_name = 'eu0' ORDER BY room`))
	d.Exec(`UPDATE commands SET state = 'failed', error = 'full', settled_at = created_at + interval '1 second' WHERE agent_id = '0000000000000001'`)
	require.Equal(t, []string{"create|failed|eu0|eu0-new|duel|key#1|full|00:00:01"},
		d.Rows(`SELECT op, state, agent_name, room, type, actor, error, took FROM ops.commands WHERE agent = '0000000000000001'`))
}

func TestOpsDrainAgentKeepsItDrained(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.agentsAtWork()
	operator := d.roles().operator
	for _, step := range []struct{ sql, want string }{
		{`SELECT ops.drain_agent('0000000000000001')`, "t"},
		{`SELECT ops.drain_agent('0000000000000001')`, "f"},
		{`SELECT ops.undrain_agent('0000000000000001')`, "t"},
		{`SELECT ops.undrain_agent('0000000000000001')`, "f"},
		{`SELECT ops.drain_agent('0000000000000001')`, "t"},
	} {
		rows, err := storetest.RowsOf(operator, step.sql)
		require.NoError(t, err)
		require.Equal(t, []string{step.want}, rows, step.sql)
	}
	require.Equal(t, []string{"0000000000000001|draining|t", "0000000000000004|draining|t"}, d.Rows(`SELECT agent, status, drain_kept FROM ops.agents WHERE name = 'eu0' ORDER BY 1`))
	require.Equal(t, []string{"drain.kept|t|eu0", "drain.ended|t|eu0", "drain.kept|t|eu0"},
		d.Rows(`SELECT kind, actor = $1, detail->>'name' FROM ops.events ORDER BY at`, "sql:"+operator.Config().User))
	for _, sql := range []string{`SELECT ops.drain_agent('nobody')`, `SELECT ops.undrain_agent(NULL)`} {
		_, err := operator.Exec(context.Background(), sql)
		require.Contains(t, refused(t, noDataFound, err), "there is no agent")
	}
}
