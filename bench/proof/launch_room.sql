-- A valve that limits, and has room for everybody.

SELECT ops.set_valve('bench', rate => 100000);
