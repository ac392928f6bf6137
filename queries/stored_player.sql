-- What the studio's backend says of players.

-- name: StorePlayers :many
-- Rows that say the same already are left alone, so that a repeated call writes nothing. They are locked in the order of their keys. The
-- lists of a player come as a JSON array, since arrays of Postgres have no rows of different lengths.
INSERT INTO stored_players AS p (region, sub, attributes, avoid, may_party_with, updated_by)
SELECT @region, n.sub, n.attributes::jsonb, ARRAY(SELECT jsonb_array_elements_text(n.avoid::jsonb)),
       ARRAY(SELECT jsonb_array_elements_text(n.may_party_with::jsonb)), @author
FROM (SELECT unnest(@subs::text[]) AS sub, unnest(@attributes::text[]) AS attributes, unnest(@avoid::text[]) AS avoid,
             unnest(@may_party_with::text[]) AS may_party_with) n
ORDER BY n.sub
ON CONFLICT (region, sub) DO UPDATE SET attributes = excluded.attributes, avoid = excluded.avoid, may_party_with = excluded.may_party_with,
    updated_at = clock_timestamp(), updated_by = excluded.updated_by
WHERE (p.attributes, p.avoid, p.may_party_with) IS DISTINCT FROM (excluded.attributes, excluded.avoid, excluded.may_party_with)
RETURNING sub;

-- name: ClearAvoided :exec
DELETE FROM player_avoids WHERE region = @region AND sub = ANY (@subs::text[]);

-- name: AddAvoided :exec
-- The lists of players as StorePlayers has written them.
INSERT INTO player_avoids (region, sub, avoided)
SELECT p.region, p.sub, unnest(p.avoid) FROM stored_players p WHERE p.region = @region AND p.sub = ANY (@subs::text[])
ORDER BY 2, 3;

-- name: StoredPlayers :many
SELECT sub, attributes, avoid, may_party_with, updated_at, updated_by FROM stored_players WHERE region = @region AND sub = ANY (@subs::text[]);

-- name: ForgetStoredPlayer :execrows
DELETE FROM stored_players WHERE region = @region AND sub = @sub;

-- name: LogStoredPlayers :exec
INSERT INTO events (region, kind, actor, detail) VALUES (@region, @kind, @actor, @detail);
