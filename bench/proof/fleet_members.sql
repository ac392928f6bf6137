SELECT instance_id, incarnation FROM instance_leases WHERE instance_id LIKE 'fleet-%'
