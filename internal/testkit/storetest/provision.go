package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// AddAppVersion inserts version 1 of app arena, whose servers take 8 players of mode duel, unless there is one. columns
// have other values than the usual ones, by name.
func (d *DB) AddAppVersion(columns map[string]any) {
	d.T.Helper()
	d.insert("app_versions", columns, map[string]any{
		"app": "arena", "version": "1", "provider": "process", "launch": "arena", "game_port": "game",
		"ports": `[{"name": "game", "internal": 7777, "protocol": "udp"}]`,
		"modes": []string{"duel"}, "capacity": 8, "max_players": 8,
	})
}

// AddPool is AddAppVersion with a pool of at most 10 servers in region eu.
func (d *DB) AddPool(columns map[string]any) {
	d.T.Helper()
	d.AddAppVersion(columns)
	d.Exec("INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', 'arena', '1', 10)")
	d.Exec("INSERT INTO pool_modes (region, mode, app, version) VALUES ('eu', 'duel', 'arena', '1')")
}

// AddDeployment inserts a deployment of version 1 of app arena in region eu. columns have other values than the usual
// ones, by name.
func (d *DB) AddDeployment(id uuid.UUID, columns map[string]any) {
	d.T.Helper()
	d.insert("deployments", columns, map[string]any{
		"region": "eu", "id": id, "app": "arena", "version": "1", "provider": "process", "tag": id.String()[:20],
	})
}

// insert inserts a row with the usual values and the columns that replace or complete them, unless there is one with
// its key.
func (d *DB) insert(table string, columns, usual map[string]any) {
	d.T.Helper()
	row := maps.Clone(usual)
	maps.Copy(row, columns)
	names := slices.Sorted(maps.Keys(row))
	placeholders, values := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		placeholders[i], values[i] = fmt.Sprint("$", i+1), row[name]
	}
	d.Exec("INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(placeholders, ", ")+
		") ON CONFLICT DO NOTHING", values...)
}
