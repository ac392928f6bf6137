package storetest

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// AgentJoin returns the first report of a game server's agent, which makes rooms of type duel, after the changes.
func AgentJoin(ref db.AgentRef, name string, changes ...func(*db.AgentJoin)) db.AgentJoin {
	return variant.Apply(db.AgentJoin{
		Ref: ref, KeyFingerprint: "key#01234567", StateHash: "h", ReplySeq: 1,
		Content: db.AgentContent{
			Name: name, ProcessUID: "p_" + name, AgentVersion: "8.0.0", ProtocolVersion: 3,
			EndpointURL: "wss://" + name, RoomTypes: []string{"duel"}, AutoCreate: true, Status: db.AgentActive,
		},
	}, changes...)
}
