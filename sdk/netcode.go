package sdk

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Netcode lets one client connect to a netcode server (Lightyear, or the reference library): give Token to the netcode
// client, which dials the address. Token is a secret.
type Netcode struct {
	Token    []byte     `json:"token"`            // 2,048 bytes
	ClientID uint64     `json:"client_id,string"` // what the server sees of the player
	Dialect  string     `json:"dialect"`          // netcode102, lightyear-le or lightyear-be
	IP       netip.Addr `json:"ip"`
	Port     uint16     `json:"port"`
	// CertDigest is the SHA-256 digest of the server's WebTransport certificate, in hex with colons; empty if it has
	// reported none.
	CertDigest string    `json:"cert_digest"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// Format implements fmt.Formatter without the token.
func (n Netcode) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "{client %d, %s:%d, %s, expires %s}", n.ClientID, n.IP, n.Port, n.Dialect,
		n.ExpiresAt.Format(time.RFC3339))
}

// RefusedClient is a connected client that the game server has to disconnect.
type RefusedClient struct {
	ClientID uint64 `json:"client_id,string"`
	Result   string `json:"result"` // unknown, replay or seat_gone
}

// ReportClients says who is connected to a netcode server: the client ids of all its connections, each once, at most
// 1,024. Call it whenever that changes, and at least as often as the server heartbeats. The director seats the players
// of listed clients, and frees the seats of those that are missing. Disconnect the clients that it returns. Calls wait
// for each other. Errors: [ErrUnknownInstance] when the server was registered again meanwhile: report once more;
// [ErrSuperseded]; [ErrInvalid]; [ErrUnavailable] with ctx's when the director cannot be reached until ctx ends.
func (s *GameServer) ReportClients(ctx context.Context, clients []uint64) (refused []RefusedClient, err error) {
	s.clientLock.Lock()
	defer s.clientLock.Unlock()
	s.clientsSeq++
	req := clientsRequest{Seq: s.clientsSeq, Clients: make([]string, len(clients))}
	for i, id := range clients {
		req.Clients[i] = strconv.FormatUint(id, 10)
	}
	var answer struct {
		Refused []RefusedClient `json:"refused"`
	}
	err = s.callFenced(ctx, "/fleet/clients", func(ref instanceRef) any {
		req.InstanceID, req.Incarnation = ref.InstanceID, ref.Incarnation
		return req
	}, &answer)
	return answer.Refused, err
}
