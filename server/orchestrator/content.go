package orchestrator

import (
	"maps"
	"slices"

	"github.com/lattice-director/director/db"
)

// content is an agent's last full state that the database has applied.
type content struct {
	agent     db.AgentContent
	roomsByID map[string]db.ReportedRoom // by raw id
	stateHash string
	stateSeq  uint32
}

func newContent(j snapshotJob) *content {
	s := j.content
	c := &content{stateHash: j.stateHash, stateSeq: j.stateSeq,
		roomsByID: make(map[string]db.ReportedRoom, len(s.rooms)),
		agent: db.AgentContent{
			Name: s.name, ProcessUID: s.processUID, AgentVersion: s.agentVersion,
			ProtocolVersion: int64(s.protocolVersion),
			EndpointURL:     s.endpointURL,
			Labels:          s.labels, RoomTypes: s.roomTypes, MaxConnections: s.capacity.maxConnections,
			MaxRooms:   s.capacity.maxRooms,
			AutoCreate: s.autoCreate, Status: s.status,
		}}
	for _, r := range s.rooms { // of two rooms with the same id, the last one is kept
		c.roomsByID[r.rawID] = db.ReportedRoom{RawID: r.rawID, Type: r.roomType, ConnectionCount: int32(r.connections),
			IsLocal: r.isLocal}
	}
	return c
}

// differencesFrom returns the differences from the content that was applied before. agent is nil if only rooms differ.
func (c *content) differencesFrom(before *content) (agent *db.AgentContent, changed []db.ReportedRoom,
	removed []string) {
	// The content is compared, and not the hash, which the agent makes and nobody checks.
	if !sameAgent(c.agent, before.agent) {
		agent = &c.agent
	}
	for id, r := range c.roomsByID {
		if known, ok := before.roomsByID[id]; !ok || known != r {
			changed = append(changed, r)
		}
	}
	for id := range before.roomsByID {
		if _, ok := c.roomsByID[id]; !ok {
			removed = append(removed, id)
		}
	}
	return agent, changed, removed
}

func sameAgent(a, b db.AgentContent) bool {
	return a.Name == b.Name && a.ProcessUID == b.ProcessUID && a.AgentVersion == b.AgentVersion &&
		a.ProtocolVersion == b.ProtocolVersion &&
		a.EndpointURL == b.EndpointURL && a.AutoCreate == b.AutoCreate && a.Status == b.Status &&
		sameLimit(a.MaxConnections, b.MaxConnections) && sameLimit(a.MaxRooms, b.MaxRooms) &&
		maps.Equal(a.Labels, b.Labels) && slices.Equal(a.RoomTypes, b.RoomTypes)
}

func sameLimit(a, b *int32) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
