-- When $2 profiles have a match that was decided after $1: when the first of the first and of the last such profile was committed.
SELECT min(at) AS earliest, max(at) AS last
FROM (SELECT min(committed_at) AS at FROM match_history WHERE decided_at > $1 GROUP BY profile) m
HAVING count(*) = $2::int;
