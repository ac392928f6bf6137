-- Schema ops: the views that dashboards and operators read instead of the tables. The views stay the same while the tables
-- change. None shows a handle, a token id, an incarnation or a private key.
--
-- A view reads its tables with the rights of its owner, but calls functions with the rights of the role that queries it. A
-- function that needs more rights is therefore SECURITY DEFINER, with a fixed search_path.

-- +goose Up
CREATE SCHEMA ops;
COMMENT ON SCHEMA ops IS 'What operators see and steer of the director. ops/grants.sql makes the roles for it.';

-- With SET search_path FROM CURRENT the functions below use the schema of this migration, never the caller's temporary one.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- +goose StatementBegin
CREATE FUNCTION ops.lease_horizon() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ SELECT lease_horizon() $$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.lease_horizon() IS 'Heartbeats at or before it are too old; -infinity during an amnesty.';

CREATE VIEW ops.fleet AS
SELECT i.region, i.id AS instance, i.endpoint, i.status, coalesce(l.heartbeat_at > (SELECT ops.lease_horizon()), false) AS alive,
       i.modes, i.labels, i.version, l.load, i.capacity, i.reserved_seats,
       CASE WHEN i.status = 'gone' THEN 0 ELSE greatest(0, i.capacity - i.reserved_seats) END AS available,
       coalesce(s.players, 0) AS players, i.open_sessions, i.max_sessions,
       i.reports_seats, l.heartbeat_at AS last_heartbeat, statement_timestamp() - l.heartbeat_at AS lease_age,
       i.registered_at, i.ended_at
FROM instances i
LEFT JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
LEFT JOIN LATERAL (
    SELECT sum(x.player_count) AS players FROM sessions x WHERE x.region = i.region AND x.instance_id = i.id
) s ON true;
COMMENT ON VIEW ops.fleet IS 'Every game server the director knows, those that ended lately included.';
COMMENT ON COLUMN ops.fleet.region IS 'Where it runs.';
COMMENT ON COLUMN ops.fleet.instance IS 'Its id, unique over all regions: what ops.drain and ops.undrain take.';
COMMENT ON COLUMN ops.fleet.endpoint IS 'Where players connect.';
COMMENT ON COLUMN ops.fleet.status IS 'ready, draining (no new players, its sessions go on) or gone.';
COMMENT ON COLUMN ops.fleet.alive IS 'Whether its lease holds. During an amnesty every lease does.';
COMMENT ON COLUMN ops.fleet.modes IS 'The modes it offers.';
COMMENT ON COLUMN ops.fleet.labels IS 'What it said of itself when it registered.';
COMMENT ON COLUMN ops.fleet.version IS 'The version of the game server, if it told.';
COMMENT ON COLUMN ops.fleet.load IS 'What it last reported: a share (0 to 1) or a count, as the title likes. NULL when it is gone.';
COMMENT ON COLUMN ops.fleet.capacity IS 'Player seats it offers now.';
COMMENT ON COLUMN ops.fleet.reserved_seats IS 'Seats that open sessions take: max_players of each, filled or not. More than capacity after it was lowered.';
COMMENT ON COLUMN ops.fleet.available IS 'Seats left for new sessions, as heartbeats are told; 0 when it is gone.';
COMMENT ON COLUMN ops.fleet.players IS 'Players with a seat in its sessions, reserved and connected.';
COMMENT ON COLUMN ops.fleet.open_sessions IS 'Sessions open on it.';
COMMENT ON COLUMN ops.fleet.max_sessions IS 'How many sessions it takes; NULL: as many as its seats allow.';
COMMENT ON COLUMN ops.fleet.reports_seats IS 'Whether it tells who joined and left. If not, resolved seats are held for hours.';
COMMENT ON COLUMN ops.fleet.last_heartbeat IS 'When it was last heard, by the clock of the database. NULL when it is gone.';
COMMENT ON COLUMN ops.fleet.lease_age IS 'How long ago that was.';
COMMENT ON COLUMN ops.fleet.registered_at IS 'When its present incarnation began.';
COMMENT ON COLUMN ops.fleet.ended_at IS 'When it deregistered, was replaced or was given up; NULL while it runs.';

CREATE VIEW ops.sessions AS
SELECT s.region, s.region || '.' || s.id AS session, s.mode, s.instance_id AS instance,
       coalesce(l.heartbeat_at > (SELECT ops.lease_horizon()) AND l.incarnation = s.incarnation, false) AS instance_alive,
       s.player_count AS players, n.connected, s.max_players, s.opened_at, statement_timestamp() - s.opened_at AS age
FROM sessions s
LEFT JOIN instance_leases l ON l.region = s.region AND l.instance_id = s.instance_id
LEFT JOIN LATERAL (
    SELECT count(*) AS connected FROM seats t WHERE t.region = s.region AND t.session_id = s.id AND t.state = 'connected'
) n ON true;
COMMENT ON VIEW ops.sessions IS 'Open sessions. Closed ones: ops.session_lifetimes.';
COMMENT ON COLUMN ops.sessions.region IS 'Where it runs.';
COMMENT ON COLUMN ops.sessions.session IS 'Its id as callers know it, region.uuid: what ops.close_session takes.';
COMMENT ON COLUMN ops.sessions.mode IS 'What is played.';
COMMENT ON COLUMN ops.sessions.instance IS 'The game server that hosts it.';
COMMENT ON COLUMN ops.sessions.instance_alive IS 'Whether the incarnation that opened it still holds its lease.';
COMMENT ON COLUMN ops.sessions.players IS 'Seats taken, reserved and connected.';
COMMENT ON COLUMN ops.sessions.connected IS 'Seats whose player the game server has let in. Stays 0 on servers that do not report seats.';
COMMENT ON COLUMN ops.sessions.max_players IS 'Seats it holds; they count against the capacity of the instance while it is open.';
COMMENT ON COLUMN ops.sessions.opened_at IS 'When it opened.';
COMMENT ON COLUMN ops.sessions.age IS 'How long it has been open.';

CREATE VIEW ops.seats AS
SELECT t.region, t.region || '.' || t.session_id AS session, s.instance_id AS instance, t.mode, t.sub AS player, t.state, t.party,
       t.reserved_by, t.reserved_at, t.resolved_at, t.connected_at, t.expires_at
FROM seats t JOIN sessions s ON s.region = t.region AND s.id = t.session_id;
COMMENT ON VIEW ops.seats IS 'Who has a place where. Seats that were left: ops.seat_outcomes.';
COMMENT ON COLUMN ops.seats.region IS 'Where the session runs.';
COMMENT ON COLUMN ops.seats.session IS 'The session, region.uuid.';
COMMENT ON COLUMN ops.seats.instance IS 'The game server that hosts it.';
COMMENT ON COLUMN ops.seats.mode IS 'What is played.';
COMMENT ON COLUMN ops.seats.player IS 'The player: sub of the access token.';
COMMENT ON COLUMN ops.seats.state IS 'reserved or connected.';
COMMENT ON COLUMN ops.seats.party IS 'The same for players who asked to be seated together.';
COMMENT ON COLUMN ops.seats.reserved_by IS 'The player who asked for the seat.';
COMMENT ON COLUMN ops.seats.reserved_at IS 'When it was reserved.';
COMMENT ON COLUMN ops.seats.resolved_at IS 'When its player first fetched a session token; NULL: not yet.';
COMMENT ON COLUMN ops.seats.connected_at IS 'When the game server reported its player; NULL: not yet.';
COMMENT ON COLUMN ops.seats.expires_at IS 'When it is freed if nobody connects.';

CREATE VIEW ops.capacity AS
WITH live AS (
    SELECT i.region, i.id, i.incarnation, i.status, i.capacity, i.reserved_seats,
           CASE WHEN i.status = 'ready' AND (i.open_sessions >= i.max_sessions) IS NOT TRUE
                THEN greatest(0, i.capacity - i.reserved_seats) ELSE 0 END AS free
    FROM instances i JOIN instance_leases l ON l.region = i.region AND l.instance_id = i.id
    WHERE l.heartbeat_at > (SELECT ops.lease_horizon())
), offered AS (
    SELECT m.region, m.mode, count(*) AS instances, count(*) FILTER (WHERE live.status = 'draining') AS draining,
           sum(live.capacity) AS seats, sum(live.reserved_seats) AS reserved, sum(live.free) AS free
    FROM live JOIN instance_modes m ON m.region = live.region AND m.instance_id = live.id
    GROUP BY m.region, m.mode
), played AS (
    SELECT s.region, s.mode, count(*) AS open_sessions, sum(s.player_count) AS players,
           count(*) FILTER (WHERE s.player_count < s.max_players AND live.status = 'ready') AS with_room
    FROM sessions s
    LEFT JOIN live ON live.region = s.region AND live.id = s.instance_id AND live.incarnation = s.incarnation
    GROUP BY s.region, s.mode
)
SELECT coalesce(o.region, p.region) AS region, coalesce(o.mode, p.mode) AS mode, coalesce(o.instances, 0) AS instances,
       coalesce(o.draining, 0) AS draining, coalesce(o.seats, 0) AS seats, coalesce(o.reserved, 0) AS reserved_seats,
       coalesce(o.free, 0) AS free_seats, coalesce(p.open_sessions, 0) AS open_sessions, coalesce(p.players, 0) AS players,
       coalesce(p.with_room, 0) AS sessions_with_room
FROM offered o FULL JOIN played p ON p.region = o.region AND p.mode = o.mode;
COMMENT ON VIEW ops.capacity IS 'What each region can still take, by mode. An instance that offers several modes counts in each of them, so sums over modes count it more than once; for sums over the fleet ask ops.fleet.';
COMMENT ON COLUMN ops.capacity.region IS 'The region.';
COMMENT ON COLUMN ops.capacity.mode IS 'A mode that a live instance offers or an open session plays.';
COMMENT ON COLUMN ops.capacity.instances IS 'Instances with a live lease that offer the mode, draining ones included.';
COMMENT ON COLUMN ops.capacity.draining IS 'Those of them that are draining.';
COMMENT ON COLUMN ops.capacity.seats IS 'Capacity of these instances.';
COMMENT ON COLUMN ops.capacity.reserved_seats IS 'Seats on them that open sessions of any mode take.';
COMMENT ON COLUMN ops.capacity.free_seats IS 'Seats that a new session could take: not on draining instances nor on those out of session slots.';
COMMENT ON COLUMN ops.capacity.open_sessions IS 'Open sessions of the mode.';
COMMENT ON COLUMN ops.capacity.players IS 'Players with a seat in them.';
COMMENT ON COLUMN ops.capacity.sessions_with_room IS 'Open sessions that a player could join: a free seat, on a live instance that is not draining.';

-- left_at is never before reserved_at, so seats that were reserved in the last 24 hours are in the partitions of these.
CREATE VIEW ops.placements_per_minute AS
SELECT date_bin('1 minute', reserved_at, timestamptz 'epoch') AS minute, region, mode, count(*) AS placements
FROM (
    SELECT region, mode, reserved_at FROM seats
    UNION ALL
    SELECT region, mode, reserved_at FROM seat_history WHERE left_at >= now() - interval '24 hours'
) placed
WHERE reserved_at >= now() - interval '24 hours'
GROUP BY 1, 2, 3;
COMMENT ON VIEW ops.placements_per_minute IS 'How many seats were reserved in each minute of the last 24 hours, whatever became of them. Minutes without any have no row.';
COMMENT ON COLUMN ops.placements_per_minute.minute IS 'The minute they were reserved in.';
COMMENT ON COLUMN ops.placements_per_minute.region IS 'Where.';
COMMENT ON COLUMN ops.placements_per_minute.mode IS 'For what.';
COMMENT ON COLUMN ops.placements_per_minute.placements IS 'Seats, which is players and not requests: a party of three counts three.';

CREATE VIEW ops.seat_outcomes AS
SELECT date_bin('1 minute', left_at, timestamptz 'epoch') AS minute, region, mode, reason, count(*) AS seats,
       count(*) FILTER (WHERE connected_at IS NOT NULL) AS had_connected
FROM seat_history
WHERE left_at >= now() - interval '24 hours'
GROUP BY 1, 2, 3, 4;
COMMENT ON VIEW ops.seat_outcomes IS 'Why seats were left, by minute, over the last 24 hours.';
COMMENT ON COLUMN ops.seat_outcomes.minute IS 'The minute they were left in.';
COMMENT ON COLUMN ops.seat_outcomes.region IS 'Where.';
COMMENT ON COLUMN ops.seat_outcomes.mode IS 'Of which mode.';
COMMENT ON COLUMN ops.seat_outcomes.reason IS 'Why; ''session …'' when the whole session closed.';
COMMENT ON COLUMN ops.seat_outcomes.seats IS 'How many.';
COMMENT ON COLUMN ops.seat_outcomes.had_connected IS 'Those of them whose player had come; the rest never did.';

CREATE VIEW ops.session_lifetimes AS
SELECT region, region || '.' || id AS session, mode, instance_id AS instance, opened_at, closed_at, closed_at - opened_at AS lifetime,
       player_count AS players, max_players, reason
FROM session_history
WHERE closed_at >= now() - interval '24 hours';
COMMENT ON VIEW ops.session_lifetimes IS 'Sessions that closed in the last 24 hours.';
COMMENT ON COLUMN ops.session_lifetimes.region IS 'Where it ran.';
COMMENT ON COLUMN ops.session_lifetimes.session IS 'Its id, region.uuid.';
COMMENT ON COLUMN ops.session_lifetimes.mode IS 'What was played.';
COMMENT ON COLUMN ops.session_lifetimes.instance IS 'The game server that hosted it.';
COMMENT ON COLUMN ops.session_lifetimes.opened_at IS 'When it opened.';
COMMENT ON COLUMN ops.session_lifetimes.closed_at IS 'When it closed.';
COMMENT ON COLUMN ops.session_lifetimes.lifetime IS 'From one to the other.';
COMMENT ON COLUMN ops.session_lifetimes.players IS 'Seats still taken when it closed.';
COMMENT ON COLUMN ops.session_lifetimes.max_players IS 'Seats it held.';
COMMENT ON COLUMN ops.session_lifetimes.reason IS 'Why it closed.';

CREATE VIEW ops.keys AS
SELECT kid, alg,
       CASE WHEN tainted_at IS NOT NULL THEN 'tainted'
            WHEN statement_timestamp() < sign_from THEN 'next'
            WHEN statement_timestamp() < sign_until THEN 'signing'
            WHEN statement_timestamp() < verify_until THEN 'retiring'
            ELSE 'expired' END AS state,
       publish_at, sign_from, sign_until, verify_until, tainted_at, sealed_by, created_at
FROM signing_keys;
COMMENT ON VIEW ops.keys IS 'The keys that sign session tokens, without their private part.';
COMMENT ON COLUMN ops.keys.kid IS 'The key id in token headers and the JWKS: what ops.taint_key takes.';
COMMENT ON COLUMN ops.keys.alg IS 'The algorithm written into token headers.';
COMMENT ON COLUMN ops.keys.state IS 'next (signs later), signing, retiring (its tokens may still be valid), expired, or tainted (in no JWKS any more).';
COMMENT ON COLUMN ops.keys.publish_at IS 'From when it is in the JWKS.';
COMMENT ON COLUMN ops.keys.sign_from IS 'From when it signs.';
COMMENT ON COLUMN ops.keys.sign_until IS 'Until when it signs: the next rotation, for the one that signs now.';
COMMENT ON COLUMN ops.keys.verify_until IS 'Until when it is in the JWKS.';
COMMENT ON COLUMN ops.keys.tainted_at IS 'When somebody declared it compromised.';
COMMENT ON COLUMN ops.keys.sealed_by IS 'Which key-encryption key seals the private part. One that no row names can be retired.';
COMMENT ON COLUMN ops.keys.created_at IS 'When it was made.';

CREATE VIEW ops.events AS
SELECT at, region, kind, actor, instance_id AS instance, region || '.' || session_id AS session, detail, id
FROM events;
COMMENT ON VIEW ops.events IS 'What happened, for people. Constrain "at": the log is partitioned by day. To follow it with a program read ops.event_feed.';
COMMENT ON COLUMN ops.events.at IS 'When the transaction began that wrote it; a later one may have an earlier time.';
COMMENT ON COLUMN ops.events.region IS 'Where; empty for what concerns no region, such as keys.';
COMMENT ON COLUMN ops.events.kind IS 'What, as noun.verb: instance.ended, session.closed, key.tainted, …';
COMMENT ON COLUMN ops.events.actor IS 'Who: director, or ''sql:'' and the login of an operator.';
COMMENT ON COLUMN ops.events.instance IS 'The instance concerned, if any.';
COMMENT ON COLUMN ops.events.session IS 'The session concerned, region.uuid, if any.';
COMMENT ON COLUMN ops.events.detail IS 'What else is to be known of it.';
COMMENT ON COLUMN ops.events.id IS 'Its identity.';

CREATE VIEW ops.event_feed AS
SELECT tx, id, at, region, kind, actor, instance_id AS instance, region || '.' || session_id AS session, detail
FROM events
WHERE tx < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY tx, id;
COMMENT ON VIEW ops.event_feed IS
$$The log for programs that must not miss an event. Read it from a cursor, the (tx, id) of the last event you have dealt with:

    SELECT * FROM ops.event_feed WHERE (tx, id) > ($1, $2) ORDER BY tx, id LIMIT 1000

and start with ('0', '00000000-0000-0000-0000-000000000000'). Store the cursor together with what you did. No event can appear
behind it: rows are shown only when every transaction that is as old as theirs has ended. So one long writing transaction,
in any database of the server, delays the feed but never makes a gap. An order by time or id alone has gaps, because
transactions commit in another order than they begin. Days that retention dropped are gone: a reader that was away for
longer has missed them. A dump restored into another server counts tx anew: start over there.$$;
COMMENT ON COLUMN ops.event_feed.tx IS 'The transaction that wrote it: the first half of the cursor.';
COMMENT ON COLUMN ops.event_feed.id IS 'Its identity: the second half of the cursor.';
COMMENT ON COLUMN ops.event_feed.at IS 'When that transaction began. Not the order of the feed.';
COMMENT ON COLUMN ops.event_feed.region IS 'As in ops.events.';
COMMENT ON COLUMN ops.event_feed.kind IS 'As in ops.events.';
COMMENT ON COLUMN ops.event_feed.actor IS 'As in ops.events.';
COMMENT ON COLUMN ops.event_feed.instance IS 'As in ops.events.';
COMMENT ON COLUMN ops.event_feed.session IS 'As in ops.events.';
COMMENT ON COLUMN ops.event_feed.detail IS 'As in ops.events.';

CREATE VIEW ops.amnesty AS
SELECT (SELECT ops.lease_horizon()) = '-infinity' AS amnesty,
       CASE WHEN (SELECT ops.lease_horizon()) = '-infinity'
            THEN nullif(CASE WHEN steady_since > statement_timestamp() - lease_ttl THEN steady_since ELSE pulse_at END, 'infinity') END AS since,
       CASE WHEN steady_since > statement_timestamp() - lease_ttl THEN nullif(steady_since, 'infinity') + lease_ttl END AS ends_at,
       nullif(pulse_at, '-infinity') AS last_pulse, lease_ttl
FROM fleet_clock;
COMMENT ON VIEW ops.amnesty IS 'Whether leases are judged at all. While nobody could hear heartbeats, and for one lease after, no instance expires. One row.';
COMMENT ON COLUMN ops.amnesty.amnesty IS 'True while nothing expires.';
COMMENT ON COLUMN ops.amnesty.since IS 'Since the last pulse while it is silent, then since heartbeats were heard again. NULL: no amnesty, or never heard.';
COMMENT ON COLUMN ops.amnesty.ends_at IS 'When it ends if heartbeats go on being heard; NULL: no amnesty, or silence.';
COMMENT ON COLUMN ops.amnesty.last_pulse IS 'When a replica last said that heartbeats could be heard; NULL: never.';
COMMENT ON COLUMN ops.amnesty.lease_ttl IS 'How long an instance counts as alive without a heartbeat.';

CREATE VIEW ops.partitions AS
SELECT t.relname AS table_name, count(d.day) AS days, min(d.day) AS first_day, max(d.day) AS last_day,
       coalesce(max(d.day) - (statement_timestamp() AT TIME ZONE 'UTC')::date, -1) AS days_ahead,
       coalesce(sum(d.bytes) FILTER (WHERE d.day IS NULL), 0)::bigint AS default_bytes
FROM pg_catalog.pg_class t
LEFT JOIN (
    SELECT relnamespace, regexp_replace(relname, '_([0-9]{8}|default)$', '') AS parent, pg_relation_size(oid) AS bytes,
           CASE WHEN relname ~ '_[0-9]{8}$' THEN to_date(right(relname, 8), 'YYYYMMDD') END AS day
    FROM pg_catalog.pg_class WHERE relispartition AND relkind = 'r'
) d ON d.relnamespace = t.relnamespace AND d.parent = t.relname
WHERE t.oid IN ('session_history'::regclass, 'seat_history'::regclass, 'events'::regclass)
GROUP BY t.relname;
COMMENT ON VIEW ops.partitions IS 'How far the day partitions of the history tables reach. Workers make and drop them.';
COMMENT ON COLUMN ops.partitions.table_name IS 'The history table.';
COMMENT ON COLUMN ops.partitions.days IS 'Day partitions there are.';
COMMENT ON COLUMN ops.partitions.first_day IS 'The oldest day kept, in UTC.';
COMMENT ON COLUMN ops.partitions.last_day IS 'The last day made, in UTC.';
COMMENT ON COLUMN ops.partitions.days_ahead IS 'Days made beyond today; below 0 today has none and rows fall into the default partition. Alarm below 2.';
COMMENT ON COLUMN ops.partitions.default_bytes IS 'Size of the default partition: above 0 something fell into it.';

-- +goose StatementBegin
CREATE FUNCTION ops.snapshot_holders() RETURNS TABLE (kind text, holder text, since timestamptz, transactions integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT 'transaction', format('pid %s, %s, %s', pid, usename, coalesce(nullif(application_name, ''), 'no application name')),
           xact_start, greatest(age(backend_xmin), age(backend_xid))
    FROM pg_stat_activity
    WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()
      AND (datname = current_database() OR datname IS NULL)
      AND backend_type IS DISTINCT FROM 'autovacuum worker' -- vacuum ignores the snapshots of other vacuums
    UNION ALL
    SELECT 'prepared transaction', gid, prepared, age(transaction) FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'replication slot', slot_name::text, NULL, age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.snapshot_holders() IS 'Who keeps vacuum from cleaning up in this database. Times of other logins'' transactions are seen only if the owner of schema ops is a superuser or has pg_read_all_stats.';

CREATE VIEW ops.oldest_snapshot AS
SELECT k.kind, count(h.kind) AS holders, coalesce(max(statement_timestamp() - h.since), interval '0') AS age,
       coalesce(max(h.transactions), 0) AS transactions, (array_agg(h.holder ORDER BY h.transactions DESC, h.since))[1] AS oldest
FROM (SELECT 'transaction' AS kind UNION ALL SELECT 'prepared transaction' UNION ALL SELECT 'replication slot') k
LEFT JOIN ops.snapshot_holders() h ON h.kind = k.kind
GROUP BY k.kind;
COMMENT ON VIEW ops.oldest_snapshot IS 'What keeps vacuum from cleaning behind the hot tables. Minutes of it make every queue slow. A row for each kind of holder.';
COMMENT ON COLUMN ops.oldest_snapshot.kind IS 'transaction (one that is open), prepared transaction, or replication slot.';
COMMENT ON COLUMN ops.oldest_snapshot.holders IS 'How many there are.';
COMMENT ON COLUMN ops.oldest_snapshot.age IS 'How long the one that began first has been open. A slot tells no time: see transactions.';
COMMENT ON COLUMN ops.oldest_snapshot.transactions IS 'How many transactions have begun since, on the whole server.';
COMMENT ON COLUMN ops.oldest_snapshot.oldest IS 'Which one holds back the most.';

-- The invariants: each view is empty unless the invariant is violated.

CREATE VIEW ops.invariant_over_capacity AS
SELECT i.region, i.id AS instance, i.capacity, i.seat_ceiling, greatest(i.reserved_seats, s.seats) AS reserved_seats
FROM instances i
LEFT JOIN (SELECT region, instance_id, sum(max_players) AS seats FROM sessions GROUP BY 1, 2) s ON s.region = i.region AND s.instance_id = i.id
WHERE greatest(i.reserved_seats, s.seats) > i.seat_ceiling;
COMMENT ON VIEW ops.invariant_over_capacity IS 'Instances whose open sessions take more seats than it ever offered them. One whose capacity was lowered beneath its open sessions is none.';
COMMENT ON COLUMN ops.invariant_over_capacity.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_over_capacity.instance IS 'The instance.';
COMMENT ON COLUMN ops.invariant_over_capacity.capacity IS 'Seats it offers now.';
COMMENT ON COLUMN ops.invariant_over_capacity.seat_ceiling IS 'Seats that could be promised: the capacity, or what was taken when it was lowered.';
COMMENT ON COLUMN ops.invariant_over_capacity.reserved_seats IS 'Seats taken, by its counter or by the sum over its sessions, whichever is more.';

CREATE VIEW ops.invariant_double_seat AS
SELECT 'reserved twice' AS violation, region, mode, sub AS player, array_agg(region || '.' || session_id ORDER BY session_id) AS sessions
FROM seats WHERE state = 'reserved' GROUP BY region, mode, sub HAVING count(*) > 1
UNION ALL
SELECT 'token used twice', region, min(mode), string_agg(DISTINCT sub, ', '), array_agg(region || '.' || session_id ORDER BY session_id)
FROM seats WHERE state = 'connected' AND jti IS NOT NULL GROUP BY region, jti HAVING count(*) > 1;
COMMENT ON VIEW ops.invariant_double_seat IS 'Players who wait for two seats of one mode, and tokens that let somebody in twice.';
COMMENT ON COLUMN ops.invariant_double_seat.violation IS 'reserved twice, or token used twice.';
COMMENT ON COLUMN ops.invariant_double_seat.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_double_seat.mode IS 'The mode.';
COMMENT ON COLUMN ops.invariant_double_seat.player IS 'The player, or players.';
COMMENT ON COLUMN ops.invariant_double_seat.sessions IS 'Where the seats are.';

CREATE VIEW ops.invariant_session_without_live_instance AS
WITH dead AS (
    SELECT s.region, s.region || '.' || s.id AS session, s.instance_id AS instance,
           CASE WHEN i.status = 'gone' THEN 'gone'
                WHEN i.incarnation <> s.incarnation THEN 'another incarnation'
                WHEN l.heartbeat_at > (SELECT ops.lease_horizon()) THEN NULL
                ELSE 'lease expired' END AS reason,
           CASE WHEN i.status = 'gone' THEN i.ended_at
                WHEN i.incarnation <> s.incarnation THEN i.registered_at
                ELSE coalesce(l.heartbeat_at + c.lease_ttl, i.registered_at) END AS since,
           c.steady_since + c.lease_ttl AS judged_since
    FROM fleet_clock c, sessions s
    JOIN instances i ON i.region = s.region AND i.id = s.instance_id
    LEFT JOIN instance_leases l ON l.region = s.region AND l.instance_id = s.instance_id
)
SELECT region, session, instance, reason, since FROM dead
-- No lease expires during an amnesty, and the reaper needs some time after it.
WHERE reason IS NOT NULL AND greatest(since, judged_since) <= (SELECT ops.lease_horizon());
COMMENT ON VIEW ops.invariant_session_without_live_instance IS 'Sessions that the reaper should have closed: their instance has been dead for more than one further lease. None during an amnesty.';
COMMENT ON COLUMN ops.invariant_session_without_live_instance.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_session_without_live_instance.session IS 'The session, region.uuid.';
COMMENT ON COLUMN ops.invariant_session_without_live_instance.instance IS 'The instance that hosted it.';
COMMENT ON COLUMN ops.invariant_session_without_live_instance.reason IS 'gone, another incarnation, or lease expired.';
COMMENT ON COLUMN ops.invariant_session_without_live_instance.since IS 'Since when.';

CREATE VIEW ops.invariant_seat_count_drift AS
SELECT s.region, s.region || '.' || s.id AS session, s.player_count, coalesce(t.seats, 0) AS seats
FROM sessions s
LEFT JOIN (SELECT region, session_id, count(*) AS seats FROM seats GROUP BY 1, 2) t ON t.region = s.region AND t.session_id = s.id
WHERE s.player_count <> coalesce(t.seats, 0);
COMMENT ON VIEW ops.invariant_seat_count_drift IS 'Sessions that count other players than they have seats.';
COMMENT ON COLUMN ops.invariant_seat_count_drift.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_seat_count_drift.session IS 'The session, region.uuid.';
COMMENT ON COLUMN ops.invariant_seat_count_drift.player_count IS 'What it counts.';
COMMENT ON COLUMN ops.invariant_seat_count_drift.seats IS 'The seats there are.';

CREATE VIEW ops.invariant_reserved_drift AS
SELECT i.region, i.id AS instance, i.reserved_seats, coalesce(s.seats, 0) AS seats, i.open_sessions, coalesce(s.sessions, 0) AS sessions
FROM instances i
LEFT JOIN (SELECT region, instance_id, sum(max_players) AS seats, count(*) AS sessions FROM sessions GROUP BY 1, 2) s
    ON s.region = i.region AND s.instance_id = i.id
WHERE i.reserved_seats <> coalesce(s.seats, 0) OR i.open_sessions <> coalesce(s.sessions, 0);
COMMENT ON VIEW ops.invariant_reserved_drift IS 'Instances that count other sessions or seats than they host.';
COMMENT ON COLUMN ops.invariant_reserved_drift.region IS 'The region.';
COMMENT ON COLUMN ops.invariant_reserved_drift.instance IS 'The instance.';
COMMENT ON COLUMN ops.invariant_reserved_drift.reserved_seats IS 'The seats it counts as taken.';
COMMENT ON COLUMN ops.invariant_reserved_drift.seats IS 'max_players summed over its open sessions.';
COMMENT ON COLUMN ops.invariant_reserved_drift.open_sessions IS 'The sessions it counts.';
COMMENT ON COLUMN ops.invariant_reserved_drift.sessions IS 'The open sessions there are.';

CREATE VIEW ops.invariant_signing_key AS
SELECT count(*) FILTER (WHERE state = 'signing') AS signing, array_agg(kid ORDER BY kid) FILTER (WHERE state = 'signing') AS kids
FROM ops.keys
HAVING count(*) > 0 AND count(*) FILTER (WHERE state = 'signing') <> 1;
COMMENT ON VIEW ops.invariant_signing_key IS 'A row when there are keys, but not exactly one that signs now.';
COMMENT ON COLUMN ops.invariant_signing_key.signing IS 'How many sign now. With 0 no player gets a session token.';
COMMENT ON COLUMN ops.invariant_signing_key.kids IS 'Which.';

CREATE VIEW ops.invariants AS
SELECT 'over capacity' AS name, count(*) AS violations FROM ops.invariant_over_capacity
UNION ALL SELECT 'double seat', count(*) FROM ops.invariant_double_seat
UNION ALL SELECT 'session without live instance', count(*) FROM ops.invariant_session_without_live_instance
UNION ALL SELECT 'seat count drift', count(*) FROM ops.invariant_seat_count_drift
UNION ALL SELECT 'reserved drift', count(*) FROM ops.invariant_reserved_drift
UNION ALL SELECT 'signing key', count(*) FROM ops.invariant_signing_key;
COMMENT ON VIEW ops.invariants IS 'All invariants at a glance: every count is 0 while all is well. The rows are in ops.invariant_<name>, with underscores.';
COMMENT ON COLUMN ops.invariants.name IS 'Which invariant.';
COMMENT ON COLUMN ops.invariants.violations IS 'How many rows its view has.';

-- +goose Down
DROP SCHEMA ops CASCADE;
