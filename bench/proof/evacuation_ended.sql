-- Whether the evacuation has ended: asked again and again, so it reads one row.
SELECT e.ended_at IS NOT NULL AS ended FROM evacuations e;
