SELECT count(*)::int AS sessions FROM realtime_sessions;
