-- Why requests of players were refused.

-- name: RecordRefusals :exec
-- Adds refusals to the rows of their hours. Ages are in relation to the database's clock, since those of replicas differ.
INSERT INTO player_refusals AS r (sub, hour, call, code, region, mode, detail, request_id, times, first_at, last_at)
SELECT n.sub, date_trunc('hour', now() - n.last_age, 'UTC'), n.call, n.code, n.region, n.mode, n.detail, n.request_id, n.times, now() - n.first_age, now() - n.last_age
FROM (SELECT unnest(@subs::text[]) AS sub, unnest(@calls::text[]) AS call, unnest(@codes::text[]) AS code, unnest(@regions::text[]) AS region,
             unnest(@modes::text[]) AS mode, unnest(@details::text[]) AS detail, unnest(@request_ids::text[]) AS request_id,
             unnest(@times::bigint[]) AS times, unnest(@first_ages::interval[]) AS first_age, unnest(@last_ages::interval[]) AS last_age) n
ORDER BY 1, 2, 3, 4
ON CONFLICT (sub, hour, call, code) DO UPDATE SET
    region = excluded.region, mode = excluded.mode, detail = excluded.detail, request_id = excluded.request_id,
    times = r.times + excluded.times, first_at = least(r.first_at, excluded.first_at), last_at = greatest(r.last_at, excluded.last_at);
