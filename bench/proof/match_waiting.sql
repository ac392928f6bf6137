SELECT count(*)::int AS waiting FROM tickets;
