-- How long players of a login queue wait, as p50 and p90 by their position, and what became of these estimates.
--
-- Releases before this one neither read nor write the columns: without a worker of this release, estimates are older than half a minute, and replicas
-- show none.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

ALTER TABLE login_queue_marks
    ADD COLUMN estimate_upto integer[] NOT NULL DEFAULT '{}',
    ADD COLUMN estimate_p50 double precision[] NOT NULL DEFAULT '{}',
    ADD COLUMN estimate_p90 double precision[] NOT NULL DEFAULT '{}',
    ADD COLUMN estimate_waits double precision NOT NULL DEFAULT 0,
    ADD COLUMN estimate_before_p50 double precision NOT NULL DEFAULT 0,
    ADD COLUMN estimate_before_p90 double precision NOT NULL DEFAULT 0,
    ADD COLUMN estimator uuid,
    ADD COLUMN estimated_at timestamptz,
    ADD CONSTRAINT an_estimate_has_a_p50_and_a_p90_for_each_group CHECK (cardinality(estimate_p50) = cardinality(estimate_upto)
        AND cardinality(estimate_p90) = cardinality(estimate_upto));
COMMENT ON TABLE login_queue_marks IS 'The places of the 1st, the (step+1)th … player of a line, without staff, at a moment; and how long its players wait.';
COMMENT ON COLUMN login_queue_marks.estimate_upto IS 'the highest position of each group of an estimate';
COMMENT ON COLUMN login_queue_marks.estimate_p50 IS 'seconds for each position';
COMMENT ON COLUMN login_queue_marks.estimate_waits IS 'players who were admitted and had an estimate, each worth less the older, by a factor of e a day';
COMMENT ON COLUMN login_queue_marks.estimator IS 'the worker that put the estimate; others leave it for ten seconds';

CREATE FUNCTION is_estimate_usable(made_at timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(made_at > clock_timestamp() - interval '30 seconds', false)
$$;

CREATE VIEW ops.valve_estimates AS
SELECT v.name AS valve,
       CASE WHEN is_estimate_usable(m.estimated_at) THEN m.estimate_p50[cardinality(m.estimate_p50)] * (q.waiting - q.waiting_staff + 1) END AS p50,
       CASE WHEN is_estimate_usable(m.estimated_at) THEN m.estimate_p90[cardinality(m.estimate_p90)] * (q.waiting - q.waiting_staff + 1) END AS p90,
       round(coalesce(m.estimate_waits, 0))::bigint AS waits,
       m.estimate_before_p50 / nullif(m.estimate_waits, 0) AS before_p50, m.estimate_before_p90 / nullif(m.estimate_waits, 0) AS before_p90
FROM valves v JOIN login_queues q ON q.valve = v.name LEFT JOIN login_queue_marks m ON m.valve = v.name;
COMMENT ON VIEW ops.valve_estimates IS 'How long a player waits who joins the line of a valve now, and how good these estimates were: half of the waits should end before p50, and nine of ten before p90.';
COMMENT ON COLUMN ops.valve_estimates.valve IS 'The valve.';
COMMENT ON COLUMN ops.valve_estimates.p50 IS 'Seconds within which half of the players who join the end of the line now are admitted; NULL: it is not known.';
COMMENT ON COLUMN ops.valve_estimates.p90 IS 'Seconds within which nine of ten are.';
COMMENT ON COLUMN ops.valve_estimates.waits IS 'Players who were admitted and had an estimate when they joined, each worth less the older, by a factor of e a day.';
COMMENT ON COLUMN ops.valve_estimates.before_p50 IS 'The share of them that waited for no longer than the p50 of that time: 0.5 where the estimates are right. NULL: there are none.';
COMMENT ON COLUMN ops.valve_estimates.before_p90 IS 'The share that waited for no longer than its p90: 0.9 where they are right.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.valve_estimates;
ALTER TABLE login_queue_marks DROP CONSTRAINT an_estimate_has_a_p50_and_a_p90_for_each_group, DROP COLUMN estimate_upto, DROP COLUMN estimate_p50,
    DROP COLUMN estimate_p90, DROP COLUMN estimate_waits, DROP COLUMN estimate_before_p50, DROP COLUMN estimate_before_p90, DROP COLUMN estimator,
    DROP COLUMN estimated_at;
DROP FUNCTION is_estimate_usable(timestamptz);
COMMENT ON TABLE login_queue_marks IS 'The places of the 1st, the (step+1)th … player of a line, without staff, at a moment.';
