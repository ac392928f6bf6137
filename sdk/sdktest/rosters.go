package sdktest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// readRosters lists all open sessions of an instance on one page. Unlike a director, it names no match of a session, even
// of one that [Director.Match] has filled.
func (d *Director) readRosters(r *http.Request) (any, *problem) {
	query := r.URL.Query()
	ref := instanceRef{InstanceID: query.Get("instance_id"), Incarnation: query.Get("incarnation")}
	wait, _ := time.ParseDuration(query.Get("wait"))
	var list []map[string]any
	var cursor string
	var p *problem
	d.awaitDone(r, wait, func() bool {
		_, p = d.findInstance(ref)
		list = d.rostersOf(ref.InstanceID)
		cursor = digestOf(list)
		return p != nil || cursor != query.Get("cursor")
	})
	if p != nil {
		return nil, p
	}
	return map[string]any{"instance_id": ref.InstanceID, "cursor": cursor, "sessions": list}, nil
}

func (d *Director) rostersOf(instance string) []map[string]any {
	list := []map[string]any{}
	for _, s := range d.sessions {
		if s.instance != instance || s.isClosed {
			continue
		}
		players := []map[string]any{}
		for _, sub := range slices.Sorted(maps.Keys(s.seatBySub)) {
			if state := s.seatBySub[sub].state; state != reaped {
				players = append(players,
					map[string]any{"sub": sub,
						"state": map[seatState]string{reserved: "reserved", connected: "connected"}[state]})
			}
		}
		list = append(list, map[string]any{
			"session_id": s.id, "session_handle": s.handle, "mode": s.mode, "player_count": len(players),
			"max_players": s.maxPlayers,
			"opened_at":   s.openedAt.UTC().Format(time.RFC3339), "players": players,
		})
	}
	return list
}

func digestOf(list []map[string]any) string {
	text, _ := json.Marshal(list) // texts and numbers always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
