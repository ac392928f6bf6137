-- A row when no player waits any more for the mode without servers: the replica deletes the demand of those who left.
SELECT true AS is_done WHERE NOT EXISTS (SELECT FROM demand WHERE mode = 'bench-waits');
