package opsview

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestStatements(t *testing.T) {
	t.Parallel()
	statement := func(sql string, args []any, err error) string {
		require.NoError(t, err)
		return sql
	}
	require.Equal(t, "SELECT region, room, agent, agent_name, type, connections, local, state, endpoint FROM ops.rooms v"+
		" WHERE (region, room) > ($1, $2) AND (agent = $3) AND (starts_with(room, $4) OR type = $5) ORDER BY region, room LIMIT 51",
		statement(Rooms.statement(RoomFilter{"a", "duel"}, Page{After: []any{"eu", "r1"}, Limit: 51})))
	require.Equal(t, "SELECT region FROM ops.regions v ORDER BY region", statement(Regions.statement(Any{}, Page{})))
	require.Contains(t, statement(Events.statement(EventFilter{Instance: "i", Kinds: "key."}, Page{After: LatestEvent().Key(), Limit: 3, Scan: 5000})),
		" FROM (SELECT * FROM ops.events v WHERE (tx, id) < ($1, $2) AND instance = $3 ORDER BY tx DESC, id DESC LIMIT 5000) v"+
			" WHERE (starts_with(kind, $4)) ORDER BY tx DESC, id DESC LIMIT 3")
	require.Contains(t, statement(PastMatches.statement(PastMatchFilter{"global", "duel", time.Unix(1, 0)}, Page{After: []any{time.Unix(1, 0), uuid.Nil}, Limit: 2})),
		` FROM (SELECT v.* FROM ops.profiles g CROSS JOIN LATERAL (SELECT v.* FROM ops.past_matches v`+
			` WHERE v.region = g.region AND v.profile = g.profile COLLATE "default" AND (committed_at, match) < ($1, $2) AND (committed_at <= $5)`+
			` ORDER BY committed_at DESC, match DESC LIMIT 2) v WHERE g.region = $3 AND g.profile = $4) v ORDER BY committed_at DESC, match DESC LIMIT 2`)

	_, _, err := Sessions.statement(SessionFilter{}, Page{After: []any{"eu"}})
	require.ErrorContains(t, err, "2 values, not 1")
	_, _, err = Commands.statement(CommandFilter{}, Page{After: []any{time.Time{}, uuid.Nil}})
	require.ErrorContains(t, err, "two directions")
	_, err = Agents.Words(t.Context(), nil, AgentFilter{}, "password", "", nil)
	require.ErrorContains(t, err, "no column password")
}

// Pins what is looked up by an empty id and finds the first row that there is.
func TestAnEmptyIDIsNotEverything(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() (string, []any, error){
		"instance": func() (string, []any, error) { return InstanceRegions.statement(InstanceRegionFilter{}, Page{}) },
		"agent":    func() (string, []any, error) { return Agents.statement(AgentFilter{ID: new("")}, Page{}) },
		"session":  func() (string, []any, error) { return Sessions.statement(SessionFilter{ID: new(uuid.Nil)}, Page{}) },
		"refusals": func() (string, []any, error) { return Refusals.statement(RefusalFilter{}, Page{}) },
	} {
		sql, args, err := build()
		require.NoError(t, err)
		require.Contains(t, sql, " WHERE (", name)
		require.Len(t, args, 1, name)
	}
}
