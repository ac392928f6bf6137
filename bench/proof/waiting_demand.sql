-- Players that wait for the mode without servers.
SELECT count(*) FROM demand WHERE mode = 'bench-waits';
