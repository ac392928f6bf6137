-- Limits over all pools of all regions: how many servers there may be, and how many start within an hour. A limit of each pool does not bound what
-- many pools cost together, or servers that end as soon as they start.
--
-- Workers of the last release do not obey them.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

CREATE TABLE pool_limits (
    only_row    boolean PRIMARY KEY DEFAULT true,
    max_servers integer,   -- NULL: no limit
    max_starts  integer,   -- in an hour
    CONSTRAINT there_is_one_row_of_limits CHECK (only_row),
    CONSTRAINT limits_are_not_negative CHECK (max_servers >= 0 AND max_starts >= 0)
);
INSERT INTO pool_limits DEFAULT VALUES;

-- Servers that people start are theirs to count. One that ends may still cost money, so it counts until it is gone.
CREATE VIEW pool_totals AS
SELECT (SELECT count(*) FROM deployments d WHERE d.provider <> 'manual') AS servers,
       (SELECT count(*) FROM deployments d WHERE d.provider <> 'manual' AND d.created_at > statement_timestamp() - interval '1 hour')
       + (SELECT count(*) FROM deployment_history h WHERE h.provider <> 'manual' AND h.gone_at > statement_timestamp() - interval '1 hour'
            AND h.created_at > statement_timestamp() - interval '1 hour') AS starts;

CREATE VIEW ops.pool_limits AS
SELECT t.servers, l.max_servers, t.starts, l.max_starts FROM pool_limits l CROSS JOIN pool_totals t;
COMMENT ON VIEW ops.pool_limits IS 'What all pools of all regions have together, and may have. Servers of provider manual do not count.';
COMMENT ON COLUMN ops.pool_limits.servers IS 'Servers in any phase: one that ends counts until it is gone.';
COMMENT ON COLUMN ops.pool_limits.max_servers IS 'The most servers that there may be. NULL: there is no limit.';
COMMENT ON COLUMN ops.pool_limits.starts IS 'Servers that were wanted within the last hour.';
COMMENT ON COLUMN ops.pool_limits.max_starts IS 'The most servers that may be wanted within an hour. NULL: there is no limit.';

-- +goose StatementBegin
CREATE FUNCTION ops.limit_pools(servers integer, starts integer) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF servers < 0 OR starts < 0 THEN
        RAISE EXCEPTION 'a limit must be 0 or more, or NULL for none' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE pool_limits l SET max_servers = servers, max_starts = starts WHERE (l.max_servers, l.max_starts) IS DISTINCT FROM (servers, starts);
    IF FOUND THEN
        INSERT INTO events (kind, actor, detail) VALUES ('pools.limited', acting_operator(), jsonb_build_object('servers', servers, 'starts', starts));
    END IF;
    RETURN FOUND;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION ops.limit_pools(integer, integer) IS 'Sets the most servers of all pools of all regions together, and the most that may start within an hour; NULL: no limit. Servers that run stay. Returns whether this changed anything.';
REVOKE EXECUTE ON FUNCTION ops.limit_pools FROM PUBLIC;

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP FUNCTION ops.limit_pools;
DROP VIEW ops.pool_limits, pool_totals;
DROP TABLE pool_limits;
