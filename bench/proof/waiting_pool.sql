-- An app version with connect tokens whose pool in region $1 may have no server: clients that ask for it wait.
WITH version AS (
    INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players, dialect, protocol_id)
    VALUES ('waits', '1', 'manual', 'waits', '[{"name": "game", "internal": 5000, "protocol": "udp"}]', 'game', '{bench-waits}', 8, 8, 'netcode102', '1')
), pool AS (
    INSERT INTO pools (region, app, version, max_servers) VALUES ($1, 'waits', '1', 0)
)
INSERT INTO pool_modes (region, mode, app, version) VALUES ($1, 'bench-waits', 'waits', '1');
