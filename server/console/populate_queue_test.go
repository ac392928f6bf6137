package console

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// matched writes the history of a match that was committed some minutes ago, of two tickets, one of which is given.
func (b *bundle) matched(ticket, session string, minutes int) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	why := fmt.Sprintf(`{"schema": 1, "anchor": %q, "rules": [{"rule": "near-skill", "value": %d, "limit": 100}], "teams": [{"name": "a", "tickets": [%q]}], "bots": {"a": 2},
		"regions": [{"region": "eu", "ms": 40}], "passed_over": [{"ticket_id": "other", "because": "near-skill"}]}`, ticket, 20+minutes%7*10, ticket)
	var room *string
	if _, r, err := db.ParseSessionID(session); err == nil {
		text := r.String()
		room = &text
	}
	b.Exec(`INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at, game_region, mode, session_id)
		VALUES ('global', $1, 'duel', 1, 1, 1, ARRAY[$2, 'b'], 2, $3::text::jsonb, now() - $4::int * interval '1 minute', now() - $4::int * interval '1 minute', 'eu', 'duel', $5::text::uuid)`,
		id, ticket, why, minutes, room)
	b.Exec(`INSERT INTO ticket_history (region, id, created, left_at, profiles, party, outcome, profile, match_id)
		SELECT 'global', gen_random_uuid(), now() - ($1::int + n) * interval '1 minute', now() - $1::int * interval '1 minute', '{duel}', '{}', 'assigned', 'duel', $2 FROM generate_series(1, 3) n`, minutes, id)
	return id
}

// agents inserts game servers that are connected, with rooms and commands.
func (b *bundle) agents(n int, name string) {
	b.t.Helper()
	replica := uuid.New()
	b.Exec(`INSERT INTO replicas (region, id, steady_since, heard_since) VALUES ('global', $1, now() - interval '1 day', now())`, replica)
	for i := range n {
		id := fmt.Sprintf("%016x", i+1)
		b.Exec(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, labels, room_types, max_rooms, auto_create, agent_version, protocol_version, key)
			VALUES ('global', $1, $2, 'p' || $1, $3, 'wss://rooms.example', jsonb_build_object('rack', $3::text), '{duel}', 8, true, '8.0.0', 3, 'key#01234567')`, id, replica, fmt.Sprintf("%s-%03d", name, i))
		b.Exec(`INSERT INTO agent_states (region, agent_id, replica, status, connections, rooms, reserved, in_flight, synced_at) VALUES ('global', $1, $2, 'active', 3, 1, 1, 1, now())`, id, replica)
		b.Exec(`INSERT INTO rooms (region, id, agent_id, base, type, connections, state) VALUES ('global', $2 || '~lobby', $1, 'lobby', 'duel', 3, 'reported')`, id, fmt.Sprintf("%s-%03d", name, i))
		b.Exec(`INSERT INTO commands (region, id, agent_id, replica, op, room, base, type, actor, deadline)
			VALUES ('global', gen_random_uuid(), $1, $2, 'create', 'new', 'new', 'duel', 'key#1', now() + interval '10 seconds')`, id, replica)
	}
}

// lobby inserts rooms of the realtime lobby.
func (b *bundle) lobby(n int, kind string) {
	b.t.Helper()
	b.Exec(`INSERT INTO projects (id, name, region) VALUES ('p1', 'arena', 'eu')`)
	b.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, members, max_members, grace)
		SELECT 'eu', gen_random_uuid(), 'p1', 'lobby:' || lpad(n::text, 3, '0'), $2, '{}', 2, 16, '1 minute' FROM generate_series(1, $1::int) n`, n, kind)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, join_order, away, expires_at)
		SELECT 'eu', l.uid, 's-000000000000000' || m, $1::text || m, CASE m WHEN 3 THEN 'invited' ELSE 'joined' END, nullif(m, 3), m = 2, CASE m WHEN 3 THEN now() + interval '5 minutes' END
		FROM lobbies l, generate_series(1, 3) m WHERE l.id = 'lobby:001'`, kind)
	b.Exec(`UPDATE lobbies SET sanctions = jsonb_build_array(jsonb_build_object('player', $1::text, 'ban', true, 'reason', $1::text))::json WHERE id = 'lobby:001'`, kind)
}

// deployments inserts a pool and servers of it, the first of which is ready; it returns their ids.
func (b *bundle) deployments(n int, trouble string) []uuid.UUID {
	b.t.Helper()
	b.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, env)
		VALUES ('arena', 'v1.2', 'edgegap', 'arena', '[{"name": "game", "internal": 7777, "protocol": "udp"}]', 'game', '{duel}', 8, 2, '{"A": "secret-of-the-env"}')`)
	b.Exec(`INSERT INTO pools (region, app, version, min_servers, max_servers, buffer, buffer_percent, last_plan, planned_at)
		VALUES ('eu', 'arena', 'v1.2', 1, 5, 20, true, jsonb_build_object('text', '1 used + 1 buffer = 2 ' || $1::text), now())`, trouble)
	b.Exec(`INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'arena', 'v1.2')`)
	b.Exec(`INSERT INTO pool_schedules (region, app, version, entry, title, zone, days, start_at, end_at, min_servers)
		VALUES ('eu', 'arena', 'v1.2', 0, 'fri-sun 18:00 to 23:30 Europe/Berlin', 'Europe/Berlin', '{5,6,7}', '18:00', '23:30', 4)`)
	b.Exec(`INSERT INTO pool_hours (region, app, version, hour, used)
		SELECT 'eu', 'arena', 'v1.2', h, extract(hour FROM h AT TIME ZONE 'UTC') / 6 FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '56 days', now(), '1 hour') h`)
	b.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, endpoint, incarnation, ready_at, last_error)
		SELECT 'eu', gen_random_uuid(), 'arena', 'v1.2', 'edgegap', 't' || n, CASE n WHEN 1 THEN 'ready' ELSE 'starting' END, now(), 'r' || n, 'x:1', gen_random_uuid(), now(), $2::text
		FROM generate_series(1, $1::int) n`, n, trouble)
	b.Exec(`INSERT INTO provider_budgets (provider, class, tokens, blocked_until) VALUES ('edgegap', 'deploy', 3, now() + interval '1 minute')`)
	b.Exec(`INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, created_at, reason, last_error, gone_at)
		VALUES ('eu', gen_random_uuid(), 'arena', 'v1.2', 'edgegap', 't', 'pool', 1, now(), 'deploy_failed', $1::text, now())`, trouble)
	return storetest.Values[uuid.UUID](b.DB, `SELECT id FROM deployments ORDER BY phase, id`)
}

// populateRest adds what the pages of the queue, matches, rooms, deployments and events show, and returns their paths.
func (b *bundle) populateRest(session string) []string {
	b.t.Helper()
	b.AddProfile("duel", storetest.Duel)
	b.AddProfile("raid-with-a-rather-long-name", storetest.Duel)
	b.Exec(`INSERT INTO estimate_hours (region, profile, hour, waits, before_p50, before_p90) VALUES ('global', 'duel', date_trunc('hour', now(), 'UTC'), 1000, 497, 911)`)
	first, second := b.QueuePlayer("player-3", 1000, "duel"), b.QueuePlayer("<b>far</b>", 1400, "duel")
	var match uuid.UUID
	for m := 55; m > 0; m -= 3 {
		match = b.matched(second, session, m)
	}
	b.agents(3, "rooms-frankfurt")
	b.lobby(3, "lobby")
	ids := b.deployments(3, "permanent: no capacity")
	deployment := deploymentPath(ids[0].String())
	b.Exec("UPDATE deployments SET ref = NULL, claimed_ref = 'edgegap-7f3a' WHERE id = $1", ids[0])
	must.Get(b.As("console:ada").Because("the season ends").PauseProfile(b.t.Context(), universe, "raid-with-a-rather-long-name"))(b.t)
	must.Get(b.As("console:ada").Because("an outage at the provider").PausePool(b.t.Context(), "eu", "arena", "v1.2", time.Time{}))(b.t)
	b.Exec(`INSERT INTO events (region, kind, instance_id, detail) VALUES ('eu-frankfurt', 'deployment.failed', $1::text, jsonb_build_object('said', repeat('the provider has no capacity in this location; ', 20)))`, ids[0].String())
	return []string{
		"/queue", "/queue?profile=duel", "/find?q=pl", ticketPath(first), ticketPath(first) + "/cancel", "/matches", "/matches?profile=raid-with-a-rather-long-name", matchPath(match.String()), "/agents", "/agents/0000000000000001",
		"/agents/0000000000000001/drain", "/rooms", "/rooms?text=none", "/lobbies", "/lobby?project=p1&room=lobby:001", "/lobby/ban?project=p1&room=lobby:001&player=bo", "/deployments", deployment, deployment + "/stop", "/pools/eu/arena/v1.2", "/pools/eu/arena/v1.2/scale", "/pools/eu/arena/v1.2/resume", "/profiles/duel/pause", "/events", "/events?kind=session.&actor=director", "/events?until=2100-01-01T00:00:00", "/events?from=2000-01-01T00:00:00&text=said",
	}
}
