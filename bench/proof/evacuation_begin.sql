SELECT ops.evacuate('lost', requeue => true, dead => true)::text AS id;
