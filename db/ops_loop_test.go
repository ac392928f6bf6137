package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// profileAt stores a version of a profile as the director does: as canonical JSON.
func (d *opsDB) profileAt(name, canonical string) {
	d.t.Helper()
	d.Exec(`WITH p AS (INSERT INTO profiles (region, name, live) VALUES ('global', $1, 1))
		INSERT INTO profile_versions (region, name, version, document, canonical, author) VALUES ('global', $1, 1, '', convert_to($2, 'UTF8'), 'test')`, name, canonical)
}

func TestOpsProfilesShowsWhoDecides(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	for _, name := range []string{"owned", "frozen", "free", "old"} {
		d.profileAt(name, `{"teams": []}`)
	}
	d.profileAt("foreign", `{"function": {"host": "mmf"}}`)
	d.Exec(`UPDATE profiles SET retired_at = now() WHERE name = 'old'`)
	d.Exec(`INSERT INTO loop_workers (id, lease_until) VALUES ('00000000-0000-0000-0000-00000000000a', now() + interval '1 hour'),
		('00000000-0000-0000-0000-00000000000b', now() - interval '1 hour')`)
	d.Exec(`INSERT INTO profile_owners (region, profile, worker, epoch) VALUES ('global', 'owned', '00000000-0000-0000-0000-00000000000a', 3),
		('global', 'old', '00000000-0000-0000-0000-00000000000a', 1), ('global', 'frozen', '00000000-0000-0000-0000-00000000000b', 7)`)
	require.Equal(t, []string{"foreign|function||", "free|no worker||", "frozen|no worker|7|", "old|retired|1|a", "owned|decided|3|a"},
		d.Rows(`SELECT profile, state, epoch, right(worker::text, 1) FROM ops.profiles ORDER BY profile`))
}

func TestOpsTicketsWaiting(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.profileAt("duel", `{"rules": [{"same": "map"}, {"near": "skill", "widen": [{"after": "10s"}, {"after": "1m30s"}, {"after": "1h"}]}]}`)
	for id, age := range map[string]string{"a": "2 minutes", "b": "20 seconds", "c": "20 seconds"} {
		d.Exec(`INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body, version)
			VALUES ('global', $1, (extract(epoch FROM now() - $2::text::interval) * 1e9)::bigint, '{}', '{}', '{}', '', 2)`, id, age)
	}
	d.Exec(`INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'ann', 'duel', 'a', ''), ('global', 'bob', 'duel', 'a', ''),
		('global', 'cid', 'duel', 'b', ''), ('global', 'cid', '', 'b', ''), ('global', 'dan', 'duel', 'c', ''), ('global', 'eve', 'duel', 'gone', '')`)
	d.Exec(`INSERT INTO ticket_events (region, ticket_id, n, state) VALUES ('global', 'a', 2, 'waiting_for_server'), ('global', 'b', 1, 'waiting_for_server'), ('global', 'b', 2, 'queued')`)
	require.Equal(t, []string{"|1|1|0|t|t|t|0", "duel|3|4|1|t|t|t|2"}, d.Rows(`SELECT profile, tickets, players, waiting_for_server,
		oldest BETWEEN CASE profile WHEN '' THEN '20 seconds' ELSE '2 minutes' END::interval AND '1 hour', p50 BETWEEN '20 seconds' AND '60 seconds', p95 BETWEEN '20 seconds' AND oldest, step
		FROM ops.tickets_waiting ORDER BY profile`))
}

func TestOpsMatchQuality(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.profileAt("duel", `{"teams": [{"name": "red", "players": 2}, {"name": "blue", "players": "1..2"}]}`)
	match := func(id string, joined bool, players int, ago, why string) {
		d.Exec(`INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at, joined)
			VALUES ('global', $1, 'duel', 1, 1, 1, '{}', $2, $3::text::jsonb, now(), now() - $4::text::interval, $5)`, id, players, why, ago, joined)
		for range 2 {
			d.Exec(`INSERT INTO ticket_history (region, id, created, left_at, profiles, party, outcome, profile, match_id)
				VALUES ('global', gen_random_uuid(), now() - $2::text::interval - interval '30 seconds', now() - $2::text::interval, '{}', '{}', 'assigned', 'duel', $1)`, id, ago)
		}
	}
	match("00000000-0000-0000-0000-00000000000a", false, 4, "0", `{"rules": [{"rule": "near-skill", "value": 50, "limit": 100}, {"rule": "latency", "value": 20}]}`)
	match("00000000-0000-0000-0000-00000000000b", false, 3, "0", `{"rules": [{"rule": "near-skill", "value": 90, "limit": 100}]}`)
	match("00000000-0000-0000-0000-00000000000c", true, 1, "0", `{}`)
	match("00000000-0000-0000-0000-00000000000d", false, 4, "7 hours", `{}`)
	require.Equal(t, []string{`duel|1|t|2|1|8|00:00:30|00:00:30|0.875|{"latency": {"mean": 20, "highest": 20}, "near-skill": {"mean": 70, "highest": 90}}`},
		d.Rows(`SELECT profile, version, hour <= now() AND hour > now() - interval '1 hour', matches, joins, players, mean_wait, longest_wait, fill, rules FROM ops.match_quality`))
}

func TestOpsDemandAndMatches(t *testing.T) {
	t.Parallel()
	d := newFleetAtWork(t)
	require.Equal(t, []string{"eu|arena|ranked-5v5|10|3|29|t|global"},
		d.Rows(`SELECT region, mode, profile, seats, matches, players, since < updated_at, universe FROM ops.demand WHERE source = 'loop'`))
	require.Equal(t, []string{"playing|global|eu|league|duels", "proposed|global|global||duels"},
		d.Rows(`SELECT state, universe, region, mode, profile FROM ops.matches ORDER BY state`))
}
