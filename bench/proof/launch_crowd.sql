-- A batch of new players, number $1 to $2, asks for places.
SELECT join_login_queue('bench', array_agg('crowd-' || n), array_agg(false), 0) FROM generate_series($1::int, $2::int) n;
