-- The waiting tickets one by one, for the list of the console's queue: how many wait for a profile does not say who, or for how long.

-- +goose Up
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- What takes an index lookup for each ticket stands in the list of columns, so that a query with an order and a limit does it for its rows only.
CREATE VIEW ops.waiting_tickets AS
SELECT t.region, t.id AS ticket, to_timestamp((t.created::numeric / 1000000000)::double precision) AS queued_at,
       greatest(interval '0', statement_timestamp() - to_timestamp((t.created::numeric / 1000000000)::double precision)) AS waits,
       ARRAY(SELECT DISTINCT p.profile FROM ticket_players p WHERE p.region = t.region AND p.ticket_id = t.id AND p.profile <> '' ORDER BY 1)::text[] AS profiles,
       ARRAY(SELECT DISTINCT p.sub FROM ticket_players p WHERE p.region = t.region AND p.ticket_id = t.id ORDER BY 1)::text[] AS players,
       coalesce((SELECT e.state FROM ticket_events e
                 WHERE e.region = t.region AND e.ticket_id = t.id AND e.n = t.version
                   AND e.at >= to_timestamp((t.created::numeric / 1000000000)::double precision) - interval '1 minute'
                   AND e.at < statement_timestamp() + interval '1 day' LIMIT 1),
                CASE WHEN t.pending_at IS NOT NULL THEN 'matched' WHEN t.paused_at IS NOT NULL THEN 'paused' ELSE 'queued' END) AS state,
       t.seen_at
FROM tickets t;
COMMENT ON VIEW ops.waiting_tickets IS 'The tickets in the queue. Give an order and a limit: what the columns profiles, players and state need is looked up for each row that is returned.';
COMMENT ON COLUMN ops.waiting_tickets.region IS 'The region that is the universe of the ticket.';
COMMENT ON COLUMN ops.waiting_tickets.ticket IS 'The id of the ticket.';
COMMENT ON COLUMN ops.waiting_tickets.queued_at IS 'When it was created.';
COMMENT ON COLUMN ops.waiting_tickets.waits IS 'How long ago that is.';
COMMENT ON COLUMN ops.waiting_tickets.profiles IS 'The profiles that it names; empty: none, or it is a ticket of an Open Match client.';
COMMENT ON COLUMN ops.waiting_tickets.players IS 'Its players; empty for a ticket of an Open Match client.';
COMMENT ON COLUMN ops.waiting_tickets.state IS 'queued, paused (a player is away), matched, accepting (players are asked) or waiting_for_server.';
COMMENT ON COLUMN ops.waiting_tickets.seen_at IS 'When a member last read it, roughly; NULL: not known.';

-- +goose Down
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);
DROP VIEW ops.waiting_tickets;
