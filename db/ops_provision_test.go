package db_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// provisioned inserts pools, and deployments in several phases: one is busy.
func (d *opsDB) provisioned() (busy string) {
	d.t.Helper()
	d.Exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, env)
		SELECT 'arena', 'v' || n, 'edgegap', 'arena', '[{"name": "game", "internal": 7777, "protocol": "udp"}]', 'game', '{duel,solo}', 8, 2, '{"A": "secret"}' FROM generate_series(1, 2) n`)
	d.Exec(`INSERT INTO pools (region, app, version, min_servers, max_servers, buffer, buffer_percent, last_plan, planned_at)
		VALUES ('eu', 'arena', 'v1', 1, 5, 20, true, '{"text": "1 used + 1 buffer = 2"}', now()), ('eu', 'arena', 'v2', 0, 0, 0, false, NULL, '-infinity')`)
	d.Exec(`INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'solo', 'arena', 'v1'), ('eu', 'duet', 'arena', 'v1')`)
	d.Exec(`INSERT INTO demand (region, mode, key, source, matches, players, since, expires_at)
		VALUES ('eu', 'duet', 'a', 'matchmake', 1, 3, now(), now() + interval '1 minute'), ('eu', 'solo', 'b', 'matchmake', 1, 7, now(), now() - interval '1 minute')`)
	busy = uuid.NewString()
	d.instance("eu", busy, "1 minute", "duet")
	d.Exec(`UPDATE instances SET deployment_id = id::uuid WHERE id = $1`, busy)
	d.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, intent_at, ref, endpoint, incarnation, netcode_key, created_at, ready_at)
		VALUES ('eu', $1, 'arena', 'v1', 'edgegap', 't1', 'ready', now(), 'r1', 'x:1', gen_random_uuid(), '\xdead', now() - interval '1 minute', now())`, busy)
	d.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag) VALUES ('eu', gen_random_uuid(), 'arena', 'v1', 'edgegap', 't2')`)
	d.Exec(`INSERT INTO deployments (region, id, app, version, provider, tag, phase, desired, intent_at, ref, stop_at, ends_at, reason)
		VALUES ('eu', gen_random_uuid(), 'arena', 'v1', 'edgegap', 't3', 'stopping', 'stopped', now(), 'r3', now() - interval '15 minutes', now() - interval '14 minutes', 'empty')`)
	d.session("eu", busy, "duet")
	d.Exec(`INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, created_at, provider_ready_at, ready_at, reason, gone_at)
		SELECT 'eu', gen_random_uuid(), 'arena', 'v0', 'edgegap', 't0', 'pool', 1, now() - interval '1 minute', now() - interval '50 seconds', now() - interval '40 seconds', 'empty', now()`)
	return busy
}

func TestOpsPoolsAndDeployments(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	busy := d.provisioned()
	pools := `SELECT app, version, provider, modes, state, servers, starting, ready, busy, ending, waiting_players, min, max, buffer, plan, planned_at IS NULL, pause_reason FROM ops.pools ORDER BY version`
	require.Equal(t, []string{
		"arena|v1|edgegap|{duet,solo}|active|2|1|1|1|1|3|1|5|20%|1 used + 1 buffer = 2|f|",
		"arena|v2|edgegap|{}|off|0|0|0|0|0|0|0|0|0||t|",
	}, d.Rows(pools))
	d.Exec(`UPDATE pools SET max_servers = 3 WHERE version = 'v1'`)
	require.Equal(t, []string{"full"}, d.Rows(`SELECT state FROM ops.pools WHERE version = 'v1'`),
		"the server that ends takes the last place")
	d.Exec(`INSERT INTO start_pauses (region, app, version, cause, count, until, reason) VALUES ('us', 'arena', 'v1', 'failures', 3, now() + interval '1 hour', 'in the us'),
		('eu', 'arena', 'v1', 'capacity', 1, now(), 'over'), ('eu', 'arena', 'v2', 'failures', 1, NULL, 'once')`)
	require.Equal(t, []string{"full|", "off|"}, d.Rows(`SELECT state, pause_reason FROM ops.pools ORDER BY version`))
	d.Exec(`UPDATE start_pauses SET until = now() + interval '1 minute' WHERE region = 'eu' AND version = 'v1'`)
	require.Equal(t, []string{"paused|over|t"}, d.Rows(`SELECT state, pause_reason, paused_until > now() FROM ops.pools WHERE version = 'v1'`))
	d.Exec(`INSERT INTO start_pauses (region, app, version, cause, count, until, reason) VALUES ('eu', 'arena', 'v1', 'failures', 3, now() + interval '2 minutes', 'no image')`)
	require.Equal(t, []string{"version paused|no image|t"}, d.Rows(`SELECT state, pause_reason, paused_until > now() + interval '1 minute' FROM ops.pools WHERE version = 'v1'`))
	d.Exec(`DELETE FROM start_pauses`)
	d.Exec(`UPDATE app_versions SET paused_until = now() + interval '1 minute', pause_reason = 'by a worker of the release before' WHERE version = 'v1'`)
	require.Equal(t, []string{"version paused|by a worker of the release before"}, d.Rows(`SELECT state, pause_reason FROM ops.pools WHERE version = 'v1'`))
	d.Exec(`UPDATE pools SET paused_until = now() + interval '1 minute', pause_reason = 'launch day' WHERE version = 'v1'`)
	require.Equal(t, []string{"paused|launch day|t"}, d.Rows(`SELECT state, pause_reason, paused_until > now() FROM ops.pools WHERE version = 'v1'`))

	require.Equal(t, []string{busy + "|ready|running|pool|r1|x:1|1|4|t", "|stopping|stopped|pool|r3||0|0|f", "|wanted|running|pool|||0|0|f"},
		d.Rows(`SELECT CASE WHEN phase = 'ready' THEN deployment::text END, phase, desired, origin, ref, endpoint, open_sessions, reserved_seats, ready_at IS NOT NULL FROM ops.deployments ORDER BY phase`))
	d.Exec(`INSERT INTO provider_budgets (provider, class, tokens, blocked_until) VALUES ('edgegap', 'deploy', 3, now() + interval '1 minute'), ('edgegap', 'get', 7, NULL)`)
	require.Equal(t, []string{"deploy|3|t", "get|7|f"}, d.Rows(`SELECT class, tokens, blocked FROM ops.provider_budgets ORDER BY class`))
}

func TestOpsDeploymentOutcomesCoverADay(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	for _, h := range [][3]string{{"1 minute", "10 seconds", "empty"}, {"1 minute", "20 seconds", "empty"}, {"25 hours", "1 hour", "empty"}} {
		d.Exec(`INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, created_at, provider_ready_at, ready_at, reason, gone_at)
			SELECT 'eu', gen_random_uuid(), 'arena', 'v1', 'edgegap', 't', 'pool', 1, g.at - interval '1 hour', g.at - interval '30 minutes', g.at - interval '1 hour' + $2::text::interval, $3, g.at
			FROM (SELECT date_trunc('minute', now()) - $1::text::interval AS at) g`, h[0], h[1], h[2])
	}
	d.Exec(`INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, created_at, reason, last_error, gone_at)
		VALUES ('eu', gen_random_uuid(), 'arena', 'v1', 'edgegap', 't', 'pool', 1, now(), 'deploy_failed', 'permanent: no', now())`)
	require.Equal(t, []string{"deploy_failed|1|0||0|permanent: no", "empty|2|2|15|3600|"},
		d.Rows(`SELECT reason, servers, were_ready, ready_p50, server_seconds, last_error FROM ops.deployment_outcomes ORDER BY reason`))
}

func TestOpsScalePoolAndStopDeployment(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	busy := d.provisioned()
	operator := d.roles().operator
	for _, step := range []struct{ sql, want string }{
		{`SELECT ops.scale_pool('eu', 'arena', 'v1', NULL, 7)`, "t"},
		{`SELECT ops.scale_pool('eu', 'arena', 'v1', 1, 7)`, "f"},
		{`SELECT ops.stop_deployment('` + busy + `', 'cheaters')`, "t"},
		{`SELECT ops.stop_deployment('` + busy + `', 'cheaters')`, "f"},
	} {
		got, err := storetest.RowsOf(operator, step.sql)
		require.NoError(t, err, step.sql)
		require.Equal(t, []string{step.want}, got, step.sql)
	}
	require.Equal(t, []string{"1|7"}, d.Rows(`SELECT min, max FROM ops.pools WHERE version = 'v1'`))
	require.Equal(t, []string{"stopped|cheaters|draining"}, d.Rows(`SELECT d.desired, d.reason, i.status FROM ops.deployments d JOIN ops.fleet i ON i.instance = d.deployment::text WHERE d.ref = 'r1'`))
	me := "sql:" + operator.Config().User
	require.Equal(t, []string{"deployment.stopped|" + me, "pool.scaled|" + me}, d.Rows(`SELECT kind, actor FROM ops.events ORDER BY kind`))
	for state, sql := range map[string]string{
		"P0002": `SELECT ops.scale_pool('eu', 'arena', 'v3', 1, 1)`,
		"22023": `SELECT ops.scale_pool('eu', 'arena', 'v1', 8, 7)`,
	} {
		_, err := operator.Exec(context.Background(), sql)
		refused(t, state, err)
	}
	_, err := operator.Exec(context.Background(), `SELECT ops.stop_deployment(gen_random_uuid(), 'x')`)
	refused(t, "P0002", err)
	_, err = operator.Exec(context.Background(), `SELECT ops.stop_deployment('`+busy+`', ' ')`)
	refused(t, "22023", err)
}

// Pins a pause from SQL that means something else than that of the command line, or that leaves no event with who and
// why.
func TestOpsPausePoolsAndProfiles(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	d.provisioned()
	d.Exec(`INSERT INTO profiles (region, name, live) VALUES ('global', 'duel', 1), ('global', 'old', 1)`)
	d.Exec(`INSERT INTO profile_versions (region, name, version, document, canonical, author) SELECT region, name, 1, '', '{}', 'test' FROM profiles`)
	d.Exec(`UPDATE profiles SET retired_at = now() WHERE name = 'old'`)
	d.Exec(`INSERT INTO start_pauses (region, app, version, cause, count, until, reason) VALUES ('eu', 'arena', 'v1', 'failures', 3, now() + interval '1 hour', 'x')`)
	operator := d.roles().operator
	for _, step := range []struct{ sql, want string }{
		{`SELECT ops.pause_pool('eu', 'arena', 'v1', ' an outage ')`, "t"},
		{`SELECT ops.pause_pool('eu', 'arena', 'v1', 'an outage')`, "f"},
		{`SELECT state || '|' || pause_reason || '|' || extract(year FROM paused_until AT TIME ZONE 'UTC') FROM ops.pools WHERE version = 'v1'`, "paused|an outage|9999"},
		{`SELECT ops.pause_pool('eu', 'arena', 'v1', 'an outage', now() + interval '1 hour')`, "t"},
		{`SELECT ops.resume_pool('eu', 'arena', 'v1')`, "t"},
		{`SELECT ops.resume_pool('eu', 'arena', 'v1')`, "f"},
		{`SELECT state FROM ops.pools WHERE version = 'v1'`, "active"},
		{`SELECT ops.pause_profile('global', 'duel', 'a bug')`, "t"},
		{`SELECT ops.pause_profile('global', 'duel', 'a bug')`, "f"},
		{`SELECT state || '|' || pause_reason FROM ops.profiles WHERE profile = 'duel'`, "paused|a bug"},
		{`SELECT ops.resume_profile('global', 'duel')`, "t"},
		{`SELECT ops.resume_profile('global', 'duel')`, "f"},
	} {
		got, err := storetest.RowsOf(operator, step.sql)
		require.NoError(t, err, step.sql)
		require.Equal(t, []string{step.want}, got, step.sql)
	}
	me := "sql:" + operator.Config().User
	require.Equal(t, []string{"pool.paused|" + me + "|an outage", "pool.paused|" + me + "|an outage", "pool.resumed|" + me + "|", "profile.paused|" + me + "|a bug", "profile.resumed|" + me + "|"},
		d.Rows(`SELECT kind, actor, detail ->> 'reason' FROM ops.events ORDER BY tx`))
	for sql, state := range map[string]string{
		`SELECT ops.pause_pool('eu', 'arena', 'v3')`: "P0002", `SELECT ops.resume_pool('eu', 'arena', NULL)`: "P0002",
		`SELECT ops.pause_pool('eu', 'arena', 'v1', 'x', now() - interval '1 second')`: "22023", `SELECT ops.pause_pool('eu', 'arena', 'v1', repeat('x', 501))`: "22023",
		`SELECT ops.pause_profile('global', 'raid')`: "P0002", `SELECT ops.resume_profile(NULL, NULL)`: "P0002", `SELECT ops.pause_profile('global', 'old')`: "55000",
	} {
		_, err := operator.Exec(context.Background(), sql)
		refused(t, state, err)
	}
}
