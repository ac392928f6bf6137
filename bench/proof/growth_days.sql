-- Partitions of past days, as an old installation has them. The director creates none for past days.
DO $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    past  text;
BEGIN
    FOR ago IN 1..29 LOOP
        FOREACH past IN ARRAY ARRAY['session_history', 'seat_history'] LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', past || to_char(today - ago, '_YYYYMMDD'), past,
                (today - ago)::timestamp AT TIME ZONE 'UTC', (today - ago + 1)::timestamp AT TIME ZONE 'UTC');
        END LOOP;
    END LOOP;
END
$$;
