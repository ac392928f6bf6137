package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// newFleetAtWork makes a fleet in unusual states that violate no invariant.
func newFleetAtWork(t *testing.T) *opsDB {
	t.Helper()
	d := newOpsDB(t)
	d.instance("eu", "arena", "1 minute", "duel", "raid")
	session := d.session("eu", "arena", "duel", "ann", "bob", "cid")
	d.connect(session, "ann", "token-1")
	d.connect(session, "bob", "token-2")
	d.session("eu", "arena", "duel", "dan", "ann") // she plays in one session, and waits for another
	d.session("eu", "arena", "raid", "bob")

	d.instance("eu", "shrunk", "1 minute", "duel") // its capacity was lowered beneath its sessions
	d.session("eu", "shrunk", "duel", "eve")
	d.Exec(`UPDATE instances SET capacity = 2 WHERE id = 'shrunk'`)

	for _, id := range []string{"silent", "reborn", "gone"} { // the reaper has not come to their sessions yet
		d.instance("eu", id, "1 minute", "duel")
		d.session("eu", id, "duel")
	}
	d.Exec(`UPDATE instance_leases SET heartbeat_at = now() - interval '110 minutes' WHERE instance_id = 'silent'`)
	d.Exec(`UPDATE instances SET incarnation = gen_random_uuid(), registered_at = now() - interval '50 minutes' WHERE id = 'reborn'`)
	d.Exec(`UPDATE instances SET status = 'gone', ended_at = now() - interval '50 minutes' WHERE id = 'gone'`)
	d.Exec(`DELETE FROM instance_leases WHERE instance_id = 'gone'`)

	d.matches()
	d.agentsAtWork()
	d.provisioned()
	d.lobbyAtWork()
	d.Exec(`INSERT INTO player_refusals (sub, hour, call, code, region, mode, detail, request_id, times, first_at, last_at)
		VALUES ('fay', date_trunc('hour', now(), 'UTC'), 'POST /matchmake', 'no_capacity', 'eu', 'duel', 'full', '', 3, now(), now())`)

	d.key("retiring", "-2 days", "-1 minute")
	d.key("tainted", "-1 minute", "1 day")
	d.Exec(`UPDATE signing_keys SET tainted_at = now(), verify_until = now() WHERE kid = 'tainted'`)
	d.key("signing", "-1 minute", "1 day")
	d.key("next", "1 day", "2 days")
	return d
}

// matches are one that plays, which a player has left and another has joined, and one whose players are asked.
func (d *opsDB) matches() {
	d.t.Helper()
	d.instance("eu", "league", "1 minute", "league")
	d.session("eu", "league", "league", "fay", "gus")
	d.profileAt("duels", `{"teams": [{"players": 2}]}`)
	d.Exec(`INSERT INTO demand (region, mode, key, matches, players, since) VALUES ('eu', 'arena', 'ranked-5v5/10/global', 3, 29, now() - interval '1 minute')`)
	d.script(`
		UPDATE sessions SET match_id = '00000000-0000-0000-0000-00000000cafe' WHERE mode = 'league';
		UPDATE seats SET match_id = '00000000-0000-0000-0000-00000000cafe', team = 'red' WHERE mode = 'league';
		INSERT INTO matches (region, id, universe, profile, version, state, session_id, roster, tickets)
		SELECT 'eu', match_id, 'global', 'duels', 1, 'playing', id, '[{"sub": "hal"}, {"sub": "fay"}, {"sub": "gus"}]', '{hal,fay,gus}' FROM sessions WHERE mode = 'league';
		INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, reason)
		SELECT region, id, 'hal', mode, id, 'hal', now(), 'left' FROM sessions WHERE mode = 'league';
		INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at)
		VALUES ('global', '00000000-0000-0000-0000-00000000cafe', 'duels', 1, 1, 1, '{hal,fay}', 2, '{}', now());
		INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, joined)
		VALUES ('global', gen_random_uuid(), 'duels', 1, 1, 1, '{gus}', 1, '{}', now(), true);
		INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body) SELECT 'global', n, 1, '{}', '{}', '{}', '' FROM unnest('{ivy,jon}'::text[]) n;
		INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'ivy', 'duels', 'ivy', ''), ('global', 'ivy', 'lobby', 'jon', '');
		INSERT INTO matches (region, id, universe, profile, version, state, deadline, roster, tickets, decision)
		VALUES ('global', '00000000-0000-0000-0000-00000000beef', 'global', 'duels', 1, 'proposed', now(), '[{"sub": "ivy"}]', '{ivy}', '{}');
		UPDATE tickets SET pending_at = now(), matched_in = 'loop'::bytea || '\x0000000000000000000000000000beef' WHERE id = 'ivy'`)
}

var invariants = []string{
	"agent count drift|0", "assigned without seat|0", "command never settled|0", "deployment never gone|0", "deployment past its end|0", "double seat|0", "instance of gone deployment|0",
	"invitation without room|0", "matched never assigned|0", "member count drift|0", "member without session|0", "over capacity|0", "player waiting twice|0", "ready without endpoint|0", "reserved drift|0", "room without agent|0", "seat count drift|0", "seat without match|0", "session without live instance|0", "signing key|0", "ticket in two matches|0", "ticket in two places|0",
	"ticket without session|0",
}

func TestInvariantsOfAWorkingFleetAreEmpty(t *testing.T) {
	t.Parallel()
	d := newFleetAtWork(t)
	require.Equal(t, invariants, d.Rows(`SELECT name, violations FROM ops.invariants ORDER BY name`))
	d.Exec(`DELETE FROM signing_keys`) // before the first start there is none
	require.Equal(t, invariants, d.Rows(`SELECT name, violations FROM ops.invariants ORDER BY name`))
}

// Each row is a bug that the view must show, with the rows that it returns; ops.invariants counts only that violation.
func TestInvariantsShowViolations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, plant, invariant, show, want string }{
		{
			"rooms that an agent does not count", `UPDATE agent_states SET rooms = 2 WHERE agent_id = '0000000000000001'`,
			"agent count drift", `agent, counted_rooms, rooms, counted_reserved, reserved, counted_connections, connections, counted_in_flight, in_flight
				FROM ops.invariant_agent_count_drift`, "0000000000000001|2|1|1|1|3|3|1|1",
		}, {
			"a room of an agent that has left", `INSERT INTO rooms (region, id, agent_id, base, type, state) VALUES ('global', 'x', '00000000000000ff', 'x', 'duel', 'reported')`,
			"room without agent", `room, agent, reason FROM ops.invariant_room_without_agent`, "x|00000000000000ff|its agent is gone",
		}, {
			"a room that no reply decides about", `UPDATE commands SET state = 'timed_out', settled_at = now() WHERE agent_id = '0000000000000001';
				UPDATE agent_states SET in_flight = 0 WHERE agent_id = '0000000000000001'`,
			"room without agent", `room, agent, reason FROM ops.invariant_room_without_agent`, "eu0-new|0000000000000001|no command will decide about it",
		}, {
			"a command without an end", `UPDATE commands SET deadline = now() - interval '2 hours' WHERE agent_id = '0000000000000001'`,
			"command never settled", `op, agent FROM ops.invariant_command_never_settled`, "create|0000000000000001",
		}, {
			"an instance whose deployment is gone", `DELETE FROM deployments WHERE ref = 'r1'; UPDATE instances SET registered_at = now() - interval '2 days' WHERE deployment_id IS NOT NULL`,
			"instance of gone deployment", `region, instance = (SELECT id FROM instances WHERE deployment_id IS NOT NULL), status FROM ops.invariant_instance_of_gone_deployment`, "eu|t|ready",
		}, {
			"a ready deployment whose instance has no endpoint", `UPDATE instances SET endpoint = '' WHERE deployment_id IS NOT NULL`,
			"ready without endpoint", `region, instance_status FROM ops.invariant_ready_without_endpoint`, "eu|ready",
		}, {
			"a deployment that outlives itself", `UPDATE deployments SET ends_at = now() - interval '16 minutes' WHERE ref = 'r3'`,
			"deployment past its end", `region, provider, phase FROM ops.invariant_deployment_past_its_end`, "eu|edgegap|stopping",
		}, {
			"a deployment that does not end", `UPDATE deployments SET stop_at = now() - interval '16 minutes' WHERE ref = 'r3'`,
			"deployment never gone", `region, provider, phase FROM ops.invariant_deployment_never_gone`, "eu|edgegap|stopping",
		}, {
			"a member whose session has ended", `DELETE FROM realtime_sessions WHERE id = 's-3'`,
			"member without session", `region, project, room, session FROM ops.invariant_member_without_session`, "eu|p1|lobby:default|s-3",
		}, {
			"a member that its room does not count", `UPDATE lobbies SET members = 1 WHERE id = 'lobby:default'`,
			"member count drift", `region, project, room, counted_members, members FROM ops.invariant_member_count_drift`, "eu|p1|lobby:default|1|2",
		}, {
			"a session that has ended and waits", `DELETE FROM realtime_sessions WHERE id = 's-1'; DELETE FROM lobby_members WHERE session = 's-1' AND state = 'joined';
				UPDATE lobbies SET members = 1 WHERE id = 'lobby:default'`,
			"ticket without session", `region, project, session, ticket FROM ops.invariant_ticket_without_session`, "eu|p1|s-1|t1",
		}, {
			"an invitation to a room that has ended", `DELETE FROM lobbies WHERE id = 'duel:match:7'`,
			"invitation without room", `region, session, state, right(lobby::text, 2) FROM ops.invariant_invitation_without_room`, "eu|s-1|invited|a3",
		}, {
			"counted beyond the ceiling", `ALTER TABLE instances DROP CONSTRAINT reserved_seats_never_pass_the_ceiling;
				UPDATE sessions SET max_players = 100 WHERE mode = 'raid'; UPDATE instances SET reserved_seats = 108 WHERE id = 'arena'`,
			"over capacity", `region, instance, capacity, seat_ceiling, reserved_seats FROM ops.invariant_over_capacity`, "eu|arena|16|16|108",
		}, {
			"a shrunk instance beyond what it ever offered", `ALTER TABLE instances DROP CONSTRAINT reserved_seats_never_pass_the_ceiling;
				UPDATE sessions SET max_players = 17 WHERE instance_id = 'shrunk'; UPDATE instances SET reserved_seats = 17 WHERE id = 'shrunk'`,
			"over capacity", `region, instance, capacity, seat_ceiling, reserved_seats FROM ops.invariant_over_capacity`, "eu|shrunk|2|16|17",
		}, {
			"two seats reserved in one mode", `DROP INDEX a_player_waits_for_one_seat_in_a_mode;
				UPDATE seats SET sub = 'dan', reserved_by = 'dan' WHERE sub = 'cid'`,
			"double seat", `violation, region, mode, player, cardinality(sessions) FROM ops.invariant_double_seat`, "reserved twice|eu|duel|dan|2",
		}, {
			"one token for two seats", `UPDATE seats SET state = 'connected', jti = 'token-1' WHERE sub = 'cid'`,
			"double seat", `violation, region, mode, player, cardinality(sessions) FROM ops.invariant_double_seat`, "token used twice|eu|duel|ann, cid|2",
		}, {
			"a lease expired and nobody reaped", `UPDATE instance_leases SET heartbeat_at = now() - interval '130 minutes' WHERE instance_id = 'silent'`,
			"session without live instance", `region, instance, reason, since < now() - interval '1 hour' FROM ops.invariant_session_without_live_instance`, "eu|silent|lease expired|t",
		}, {
			"sessions of an incarnation that ended", `UPDATE instances SET registered_at = now() - interval '70 minutes' WHERE id = 'reborn'`,
			"session without live instance", `region, instance, reason, since < now() - interval '1 hour' FROM ops.invariant_session_without_live_instance`, "eu|reborn|another incarnation|t",
		}, {
			"sessions of an instance that left", `UPDATE instances SET ended_at = now() - interval '70 minutes' WHERE id = 'gone'`,
			"session without live instance", `region, instance, reason, since < now() - interval '1 hour' FROM ops.invariant_session_without_live_instance`, "eu|gone|gone|t",
		}, {
			"an instance without a lease", `DELETE FROM instance_leases WHERE instance_id = 'shrunk'`,
			"session without live instance", `region, instance, reason, since < now() - interval '1 hour' FROM ops.invariant_session_without_live_instance`, "eu|shrunk|lease expired|t",
		}, {
			"a player counted who has no seat", `DELETE FROM seats WHERE sub = 'eve'`,
			"seat count drift", `region, session LIKE 'eu.%', player_count, seats FROM ops.invariant_seat_count_drift`, "eu|t|1|0",
		}, {
			"a seat whose session is gone", `UPDATE seats SET session_id = '00000000-0000-0000-0000-00000000dead', region = 'us' WHERE sub = 'eve';
				UPDATE sessions SET player_count = player_count - 1 WHERE player_count = 1 AND NOT EXISTS (SELECT 1 FROM seats t WHERE t.session_id = id)`,
			"seat count drift", `region, session LIKE 'us.%', player_count, seats FROM ops.invariant_seat_count_drift`, "us|t|0|1",
		}, {
			"seats not given back", `UPDATE instances SET reserved_seats = 9 WHERE id = 'shrunk'`,
			"reserved drift", `region, instance, reserved_seats, seats, open_sessions, sessions FROM ops.invariant_reserved_drift`, "eu|shrunk|9|4|1|1",
		}, {
			"a session not given back", `UPDATE instances SET open_sessions = 2 WHERE id = 'shrunk'`,
			"reserved drift", `region, instance, reserved_seats, seats, open_sessions, sessions FROM ops.invariant_reserved_drift`, "eu|shrunk|4|4|2|1",
		}, {
			"a ticket in two matches", `INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at)
				VALUES ('global', '00000000-0000-0000-0000-00000000dead', 'duels', 1, 1, 1, '{fay}', 1, '{}', now())`,
			"ticket in two matches", `region, ticket, cardinality(matches) FROM ops.invariant_ticket_in_two_matches`, "global|fay|2",
		}, {
			"a player in a roster who was never seated", `UPDATE matches SET roster = roster || '[{"sub": "zoe"}]' WHERE state = 'playing'`,
			"assigned without seat", `region, right(match::text, 4), session LIKE 'eu.%', player FROM ops.invariant_assigned_without_seat`, "eu|cafe|t|zoe",
		}, {
			"a seat of a match that plays elsewhere", `UPDATE seats SET match_id = '00000000-0000-0000-0000-00000000dead' WHERE sub = 'fay'`,
			"seat without match", `region, right(match::text, 4), session LIKE 'eu.%', player FROM ops.invariant_seat_without_match`, "eu|dead|t|fay",
		}, {
			"a session of a match that is gone", `UPDATE sessions SET match_id = '00000000-0000-0000-0000-00000000dead' WHERE mode = 'league'`,
			"seat without match", `region, right(match::text, 4), session LIKE 'eu.%', player FROM ops.invariant_seat_without_match`, "eu|dead|t|",
		}, {
			"a match whose session is gone", `INSERT INTO matches (region, id, universe, profile, version, state, session_id, roster, tickets)
				VALUES ('us', '00000000-0000-0000-0000-00000000dead', 'global', 'duels', 1, 'playing', gen_random_uuid(), '[]', '{}')`,
			"seat without match", `region, right(match::text, 4), session LIKE 'us.%', player FROM ops.invariant_seat_without_match`, "us|dead|t|",
		}, {
			"a mark whose match is gone", `UPDATE tickets SET matched_in = 'loop'::bytea || '\x0000000000000000000000000000dead' WHERE id = 'ivy'`,
			"matched never assigned", `region, ticket, right(match::text, 4), reason FROM ops.invariant_matched_never_assigned`, "global|ivy|dead|marked for a match that is gone",
		}, {
			"a ticket that plays and waits", `INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body) VALUES ('global', 'gus', 1, '{}', '{}', '{}', '')`,
			"matched never assigned", `region, ticket, right(match::text, 4), reason FROM ops.invariant_matched_never_assigned`, "global|gus|cafe|queued, and in a match that plays",
		}, {
			"a ready check that nobody judges", `UPDATE matches SET deadline = now() - interval '2 minutes' WHERE state = 'proposed'`,
			"matched never assigned", `region, ticket, right(match::text, 4), reason FROM ops.invariant_matched_never_assigned`, "global||beef|ready check past its deadline",
		}, {
			"a player with two tickets", `ALTER TABLE ticket_players DROP CONSTRAINT ticket_players_pkey; UPDATE ticket_players SET profile = 'duels'`,
			"player waiting twice", `region, profile, player, tickets FROM ops.invariant_player_waiting_twice`, "global|duels|ivy|{ivy,jon}",
		}, {
			"no key signs", `DELETE FROM signing_keys WHERE kid = 'signing'`,
			"signing key", `signing, kids FROM ops.invariant_signing_key`, "0|",
		}, {
			"two keys sign", `ALTER TABLE signing_keys DROP CONSTRAINT one_key_signs_at_a_time; UPDATE signing_keys SET tainted_at = NULL, verify_until = sign_until + overlap WHERE kid = 'tainted'`,
			"signing key", `signing, kids FROM ops.invariant_signing_key`, "2|{signing,tainted}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newFleetAtWork(t)
			d.script(c.plant)
			require.Equal(t, []string{c.want}, d.Rows(`SELECT `+c.show))
			require.Equal(t, []string{c.invariant + "|1"}, d.Rows(`SELECT name, violations FROM ops.invariants WHERE violations > 0`))
		})
	}
}

// Pins a false alarm after an outage of the director.
func TestInvariantsAreEmptyDuringAnAmnestyAndUntilTheReaperHasRun(t *testing.T) {
	t.Parallel()
	d := newFleetAtWork(t)
	d.Exec(`UPDATE instance_leases SET heartbeat_at = now() - interval '5 hours' WHERE instance_id = 'silent'`)
	d.Exec(`UPDATE instances SET registered_at = now() - interval '5 hours', ended_at = now() - interval '5 hours' WHERE id IN ('gone', 'reborn')`)
	violations := `SELECT count(*) FROM ops.invariant_session_without_live_instance`
	require.Equal(t, []string{"3"}, d.Rows(violations))

	d.Exec(`UPDATE fleet_clock SET pulse_at = now() - interval '50 minutes'`)
	require.Equal(t, []string{"0"}, d.Rows(violations), "nobody hears heartbeats")
	d.Exec(`UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '50 minutes'`)
	require.Equal(t, []string{"0"}, d.Rows(violations), "not heard for a lease yet")
	d.Exec(`UPDATE fleet_clock SET steady_since = now() - interval '110 minutes'`)
	require.Equal(t, []string{"0"}, d.Rows(violations), "the amnesty ended less than a lease ago")
	d.Exec(`UPDATE fleet_clock SET steady_since = now() - interval '130 minutes'`)
	require.Equal(t, []string{"3"}, d.Rows(violations))
}
