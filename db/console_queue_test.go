package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

// matched writes the history of a match of two tickets, which waited 30 seconds and were assigned some time ago (an
// interval).
func (d *opsDB) matched(profile, ago, why string) uuid.UUID {
	d.t.Helper()
	id := uuid.New()
	d.Exec(`INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at, game_region, mode, session_id)
		VALUES ('global', $1, $2, 1, 1, 1, '{a,b}', 2, $3::text::jsonb, now(), now() - $4::text::interval, 'eu', 'duel', gen_random_uuid())`, id, profile, why, ago)
	d.Exec(`INSERT INTO ticket_history (region, id, created, left_at, profiles, party, outcome, profile, match_id)
		SELECT 'global', gen_random_uuid(), now() - $2::text::interval - interval '30 seconds', now() - $2::text::interval, '{x}', '{}', 'assigned', $3, $1 FROM generate_series(1, 2)`, id, ago, profile)
	return id
}

func TestConsoleQueueAndItsLastHour(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.profileAt("duel", `{"teams": []}`)
	c.profileAt("old", `{"teams": []}`)
	c.Exec(`UPDATE profiles SET retired_at = now() WHERE name = 'old'`)
	c.Exec(`INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body)
		VALUES ('global', 'a', (extract(epoch FROM now() - interval '30 hours') * 1e9)::bigint, '{}', '{}', '{}', '')`)
	c.Exec(`INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'ann', 'duel', 'a', ''), ('global', 'bob', 'duel', 'a', '')`)
	c.matched("duel", "0", `{}`)
	c.matched("duel", "2 minutes", `{}`)
	c.matched("duel", "2 hours", `{}`)
	c.Exec(`INSERT INTO ticket_history (region, id, created, profiles, party, outcome) VALUES ('global', 'gone', now() + interval '1 hour', '{first,second}', '{}', 'expired')`)

	v, err := read(c, func(ctx context.Context, q opsview.Querier) (opsview.QueueState, error) {
		return opsview.ReadQueue(ctx, q, "global")
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, v.Queue.Tickets)
	require.Greater(t, v.Queue.OldestSeconds, (30 * time.Hour).Seconds())
	first, second := v.Profiles[0].Profile, v.Profiles[1].Profile
	require.Equal(t, []string{"duel no worker", "old retired"}, []string{first.Profile + " " + first.State, second.Profile + " " + second.State})
	require.EqualValues(t, 2, v.Profiles[0].Waiting.Players)
	require.Greater(t, v.Profiles[0].Waiting.Oldest, 30*time.Hour, "an interval of days")

	waits, _, err := list(c, opsview.QueueWaits, opsview.MinuteFilter{Universe: "global"}, opsview.Page{})
	require.NoError(t, err)
	require.Len(t, waits, 3, "two minutes of one profile, and one of another")
	waits, _, err = list(c, opsview.QueueWaits, opsview.MinuteFilter{Universe: "global", Profile: "duel"}, opsview.Page{})
	require.NoError(t, err)
	require.Len(t, waits, 2)
	require.Equal(t, opsview.QueueWait{
		Minute: waits[0].Minute, Region: "global", Profile: "duel", Outcome: "assigned", Tickets: 2,
		P50: 30 * time.Second, P95: 30 * time.Second, Longest: 30 * time.Second,
	}, waits[0])
	waits, _, err = list(c, opsview.QueueWaits, opsview.MinuteFilter{Universe: "global", Profile: "first"}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, time.Duration(0), waits[0].P95, "a ticket from the future has waited for nothing")
}

func TestConsoleMatchesAndTheirQuality(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.profileAt("duel", `{"teams": []}`)
	c.profileAt("raid", `{"teams": []}`)
	c.instance("eu", "a1", "1 minute", "duel")
	session := c.session("eu", "a1", "duel", "ann")
	playing := uuid.New()
	c.Exec(`INSERT INTO matches (region, id, universe, profile, version, state, session_id, roster, tickets)
		SELECT 'eu', $1, 'global', 'duel', 1, 'playing', id, '[{"sub": "ann"}]', '{a}' FROM sessions`, playing)
	why := `{"rules": [{"rule": "near-skill", "value": 50}], "regions": [{"region": "eu", "ms": 40}, {"region": "us", "ms": 90}, {"region": "ap"}]}`
	for range 3 {
		c.matched("duel", "1 minute", why)
	}
	late := c.matched("raid", "30 seconds", `{}`)
	c.matched("raid", "2 hours", why)

	now, more, err := list(c, opsview.Matches, opsview.MatchFilter{Universe: "global"}, opsview.Page{})
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, session, now[0].Session)
	seen := map[uuid.UUID]bool{}
	f, p := opsview.PastMatchFilter{Universe: "global"}, opsview.Page{Limit: 2}
	for more := true; more; {
		var page []opsview.PastMatch
		page, more, err = list(c, opsview.PastMatches, f, p)
		require.NoError(t, err)
		if len(seen) == 0 {
			require.Equal(t, late, page[0].Match, "latest first, over all profiles")
		}
		for _, m := range page {
			require.False(t, seen[m.Match])
			seen[m.Match] = true
			f.Until, p.After = m.CommittedAt, []any{m.CommittedAt, m.Match}
		}
	}
	require.Len(t, seen, 5)
	only, _, err := list(c, opsview.PastMatches, opsview.PastMatchFilter{Universe: "global", Profile: "raid"}, opsview.Page{})
	require.NoError(t, err)
	require.Len(t, only, 2)

	minutes, _, err := list(c, opsview.MatchMinutes, opsview.MinuteFilter{Universe: "global", Profile: "duel"}, opsview.Page{})
	require.NoError(t, err)
	total := map[string]int64{}
	for _, m := range minutes {
		total[m.Measure] += m.Matches
		if m.Measure == "latency_ms" {
			require.InDelta(t, 40, m.Highest, 0.01, "of the region in which it plays")
		}
	}
	require.Equal(t, map[string]int64{"players": 3, "latency_ms": 3, "rule near-skill": 3}, total)
}

func TestConsoleAgentsRoomsAndLobbies(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.agentsAtWork()
	c.lobbyAtWork()
	agents, more, err := list(c, opsview.Agents, opsview.AgentFilter{}, opsview.Page{Limit: 2})
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, map[string]string{"rack": "7"}, agents[0].Labels)
	rest, more, err := list(c, opsview.Agents, opsview.AgentFilter{}, opsview.Page{Limit: 2, After: []any{"global", agents[1].Agent}})
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, rest, 2)
	for want, f := range map[string]opsview.AgentFilter{"0000000000000002": {State: "draining"}, "0000000000000003": {Text: "u2"}, "0000000000000004": {State: "doubted"}} {
		got, _, err := list(c, opsview.Agents, f, opsview.Page{})
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, want, got[0].Agent)
	}
	found, _, err := list(c, opsview.Agents, opsview.AgentFilter{ID: new("00000000000000")}, opsview.Page{})
	require.NoError(t, err)
	require.Empty(t, found, "the beginning of an id")
	found, _, err = list(c, opsview.Agents, opsview.AgentFilter{ID: new("0000000000000001")}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, "eu0", found[0].Name)

	rooms, more, err := list(c, opsview.Rooms, opsview.RoomFilter{Agent: "0000000000000001"}, opsview.Page{Limit: 1})
	require.NoError(t, err)
	require.True(t, more)
	rooms, _, err = list(c, opsview.Rooms, opsview.RoomFilter{Agent: "0000000000000001"}, opsview.Page{After: []any{"global", rooms[0].Room}})
	require.NoError(t, err)
	require.Len(t, rooms, 1)
	commands, _, err := list(c, opsview.Commands, opsview.CommandFilter{Agent: "0000000000000001"}, opsview.Page{})
	require.NoError(t, err)
	require.Len(t, commands, 1)
	require.Nil(t, commands[0].SettledAt)

	totals, _, err := list(c, opsview.LobbyTotals, opsview.Any{}, opsview.Page{})
	require.NoError(t, err)
	require.NotEmpty(t, totals)
	lobbies, more, err := list(c, opsview.LobbyRooms, opsview.LobbyRoomFilter{}, opsview.Page{Limit: 1})
	require.NoError(t, err)
	require.True(t, more)
	last := lobbies[0]
	lobbies, _, err = list(c, opsview.LobbyRooms, opsview.LobbyRoomFilter{}, opsview.Page{After: []any{last.Region, last.Project, last.Room}})
	require.NoError(t, err)
	require.NotEmpty(t, lobbies)
	require.NotContains(t, lobbies, last)
}

func TestConsolePoolsAndDeployments(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	busy := uuid.MustParse(c.provisioned())
	c.Exec(`INSERT INTO provider_budgets (provider, class, tokens, blocked_until) VALUES ('edgegap', 'deploy', 3, now() + interval '1 minute')`)
	c.Exec(`UPDATE pools SET paused_until = '9999-01-01', pause_reason = 'launch day' WHERE version = 'v2'`)
	pools, _, err := list(c, opsview.Pools, opsview.PoolFilter{}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, "1 used + 1 buffer = 2", *pools[0].Plan)
	require.Nil(t, pools[0].PausedUntil)
	require.Equal(t, 9999, pools[1].PausedUntil.UTC().Year())
	require.Nil(t, pools[1].PlannedAt)
	budgets, _, err := list(c, opsview.Budgets, opsview.Any{}, opsview.Page{})
	require.NoError(t, err)
	require.True(t, budgets[0].Blocked)
	outcomes, err := c.DeploymentOutcomes(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, outcomes[0].WereReady)

	page, more, err := list(c, opsview.Deployments, opsview.DeploymentFilter{}, opsview.Page{Limit: 2})
	require.NoError(t, err)
	require.True(t, more)
	page, more, err = list(c, opsview.Deployments, opsview.DeploymentFilter{}, opsview.Page{After: []any{"eu", page[1].Deployment}})
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, page, 1)
	ready, _, err := list(c, opsview.Deployments, opsview.DeploymentFilter{Phase: "ready", App: "arena", Region: "eu"}, opsview.Page{})
	require.NoError(t, err)
	require.Equal(t, busy, ready[0].Deployment)
	found, _, err := list(c, opsview.Deployments, opsview.DeploymentFilter{ID: &busy}, opsview.Page{})
	require.NoError(t, err)
	require.EqualValues(t, 1, found[0].OpenSessions)
	found, _, err = list(c, opsview.Deployments, opsview.DeploymentFilter{ID: new(uuid.New())}, opsview.Page{})
	require.NoError(t, err)
	require.Empty(t, found)
}
