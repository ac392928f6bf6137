-- What operators change, by functions of schema ops.

-- name: SetActor :exec
-- Names the person who acts for the rest of the transaction: see acting_operator() in migrations/00031_console.sql.
SELECT set_config('director.actor', @actor::text, true);

-- name: GiveReason :exec
-- Adds the reason to the events that the present transaction wrote, where they have none. Nobody has seen these events yet.
UPDATE events SET detail = detail || jsonb_build_object('reason', @reason::text)
WHERE at = now() AND tx >= pg_current_xact_id() AND xmin = pg_current_xact_id()::xid AND NOT detail ? 'reason';

-- name: OpsDrain :one
SELECT ops.drain(@instance::text)::bool AS changed;

-- name: OpsUndrain :one
SELECT ops.undrain(@instance::text)::bool AS changed;

-- name: OpsDrainHost :one
SELECT ops.drain_host(@host::text, @region::text)::bool AS changed;

-- name: OpsUndrainHost :one
SELECT ops.undrain_host(@host::text, @region::text)::bool AS changed;

-- name: OpsDrainLabel :one
SELECT ops.drain_label(@label::text, @region::text)::bool AS changed;

-- name: OpsUndrainLabel :one
SELECT ops.undrain_label(@label::text, @region::text)::bool AS changed;

-- name: OpsDrainRegion :one
SELECT ops.drain_region(@region::text)::bool AS changed;

-- name: OpsUndrainRegion :one
SELECT ops.undrain_region(@region::text)::bool AS changed;

-- name: OpsEvacuate :one
SELECT ops.evacuate(@target::text, @kind::text, @region::text, @requeue::bool, @dead::bool, @seats_in::text, sqlc.arg(lost_within)::interval, @reason::text)::uuid AS id;

-- name: PreviewEvacuation :one
SELECT p.kind::text AS kind, p.value::text AS value, p.servers::bigint AS servers, p.alive::bigint AS alive, p.sessions::bigint AS sessions,
       p.players::bigint AS players, p.matched::bigint AS matched, p.lost::bigint AS lost
FROM ops.preview_evacuation(@target::text, @kind::text, @region::text, sqlc.arg(lost_within)::interval)
    AS p (kind, value, servers, alive, sessions, players, matched, lost);

-- name: OpsCloseSession :exec
SELECT ops.close_session(@session::text, @reason::text);

-- name: OpsFreeSeat :one
SELECT ops.free_seat(@session::text, @player::text, @reason::text)::bool AS changed;

-- name: OpsCancelTicket :one
SELECT ops.cancel_ticket(@universe::text, @ticket::text, @reason::text)::bool AS changed;

-- name: OpsTaintKey :one
SELECT ops.taint_key(@kid::text)::bool AS changed;

-- name: OpsDrainAgent :one
SELECT ops.drain_agent(@agent::text)::bool AS changed;

-- name: OpsUndrainAgent :one
SELECT ops.undrain_agent(@agent::text)::bool AS changed;

-- name: OpsStopDeployment :one
SELECT ops.stop_deployment(@deployment::uuid, @reason::text)::bool AS changed;

-- name: OpsScalePool :one
SELECT ops.scale_pool(@region::text, @app::text, @version::text, sqlc.narg(least)::int, sqlc.narg(most)::int)::bool AS changed;

-- name: LockLimitsOfPools :exec
-- Of two changes, each of the other limit, the second must not bring the first limit back: ops.limit_pools sets both.
SELECT pg_advisory_xact_lock(hashtext('director.limits_of_pools'));

-- name: OpsLimitPools :one
-- A limit that is not set stays as it is.
SELECT ops.limit_pools(CASE WHEN @sets_servers::bool THEN sqlc.narg(servers)::int ELSE l.max_servers END,
                       CASE WHEN @sets_starts::bool THEN sqlc.narg(starts)::int ELSE l.max_starts END)::bool AS changed
FROM ops.pool_limits l;

-- name: OpsSetBeacon :one
SELECT ops.set_beacon(@region::text, sqlc.narg(url)::text)::bool AS changed;

-- name: OpsSetCell :one
SELECT ops.set_cell(@cell::text, @address::text, @regions::text[], @reason::text, @listeners::jsonb, @even_if_used::bool)::bool AS changed;

-- name: OpsRemoveCell :one
SELECT ops.remove_cell(@cell::text, @reason::text)::bool AS changed;

-- name: OpsPausePool :one
SELECT ops.pause_pool(@region::text, @app::text, @version::text, @reason::text, sqlc.narg(until)::timestamptz)::bool AS changed;

-- name: OpsResumePool :one
SELECT ops.resume_pool(@region::text, @app::text, @version::text)::bool AS changed;

-- name: OpsPauseProfile :one
SELECT ops.pause_profile(@universe::text, @profile::text, @reason::text)::bool AS changed;

-- name: OpsResumeProfile :one
SELECT ops.resume_profile(@universe::text, @profile::text)::bool AS changed;

-- name: ReadOnly :exec
-- Refuses writes for the rest of the transaction.
SELECT set_config('transaction_read_only', 'on', true);

-- name: Login :one
-- Returns the actor of events that the login of the database causes.
SELECT ('sql:' || session_user)::text AS actor;

-- name: OpsCreateEnrolment :one
SELECT ops.create_enrolment(@region::text, @name::text, @modes::text[], @max_servers::int, sqlc.arg(valid_for)::interval)::text AS token;

-- name: OpsRevokeEnrolment :one
SELECT ops.revoke_enrolment(@region::text, @name::text, @servers::bool)::bool AS changed;

-- name: OpsRevokeServer :one
SELECT ops.revoke_server(@instance::text)::bool AS changed;
