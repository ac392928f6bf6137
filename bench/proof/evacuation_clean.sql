TRUNCATE tickets, ticket_players, settled_tickets, evacuated_players, evacuated_servers, evacuations, seats, matches, sessions;

TRUNCATE ticket_history, session_history, seat_history, ticket_events;

DELETE FROM instance_drains;

DELETE FROM instance_leases WHERE instance_id LIKE 'lost-%';

DELETE FROM instance_modes WHERE instance_id LIKE 'lost-%';

DELETE FROM instances WHERE id LIKE 'lost-%';

DELETE FROM instance_directory WHERE instance_id LIKE 'lost-%';
