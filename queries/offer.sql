-- What players can ask for by app and version, without a mode or a region.

-- name: Offers :many
-- Returns each app version, with the modes of each region in which a pool runs it. A version whose modes belong to other pools now, or
-- that no pool runs, has a row without a region. Modes are in the order in which the app version names them.
SELECT v.app, v.version, v.max_players, coalesce(v.dialect, '')::text AS dialect, coalesce(m.region, '')::text AS region,
       coalesce(m.networks, '{}')::text[] AS networks, coalesce(m.modes, '{}')::text[] AS modes
FROM app_versions v
LEFT JOIN LATERAL (
    SELECT l.region, l.networks::text[] AS networks, array_agg(pm.mode ORDER BY array_position(v.modes, pm.mode), pm.mode)::text[] AS modes
    FROM pools l JOIN pool_modes pm ON pm.region = l.region AND pm.app = l.app AND pm.version = l.version
    WHERE l.app = v.app AND l.version = v.version
    GROUP BY l.region, l.networks) m ON true
ORDER BY v.app, v.version, m.region;
