-- An app version and its pool, without servers.
WITH version AS (
    INSERT INTO app_versions (app, version, provider, launch, launch_version, ports, game_port, modes, capacity, max_players)
    VALUES ('arena', '1', 'edgegap', 'arena', '1', '[{"name": "game", "internal": 5000, "protocol": "udp"}]', 'game', '{bench}', $1, $1)
), pool AS (
    INSERT INTO pools (region, app, version, max_servers, buffer, latitude, longitude) VALUES ('bench', 'arena', '1', 20000, $2, 50.1, 8.7)
)
INSERT INTO pool_modes (region, mode, app, version) VALUES ('bench', 'bench', 'arena', '1');
