-- A valve that is open.

SELECT ops.set_valve('bench', rate => 100);

SELECT ops.open_valve('bench');
