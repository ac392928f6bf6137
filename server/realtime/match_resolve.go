package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/realtime/wire"
)

// resolveMatchSeat answers a member of a match's room with the endpoint of its game server and a session token.
func resolveMatchSeat(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return rpcAnswer{}, failed
	}
	// No game server would accept the player without a signed token.
	if c.server.options.Signer == nil {
		return rpcAnswer{}, wire.FailRefused
	}
	did, err := c.server.store.ActInLobby(ctx, db.LobbyAction{
		Region: c.region, ProjectID: c.project, Session: c.sessionEpoch, RoomID: room,
		Act: c.server.options.RoomTypes.ResolveServer(c.sessionEpoch.ID),
	})
	if err != nil {
		return rpcAnswer{}, err
	}
	server, _ := did.ActionAnswer.(map[string]any)
	handle, _ := server["session_handle"].(string)
	sub, _ := server["seat"].(string)
	// The room knows the player's name in the ticket, which is not always the player of this connection.
	if sub != "" {
		return c.resolveSeat(ctx, handle, sub)
	}
	// A room that an earlier release made does not know the seat: in a match of a bucket, players are sessions.
	answer, err := c.resolveSeat(ctx, handle, c.player)
	if (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden)) && c.player != c.sessionEpoch.ID {
		return c.resolveSeat(ctx, handle, c.sessionEpoch.ID)
	}
	return answer, err
}

// resolveSeat returns the endpoint and a session token for the seat that a game server keeps for a player of a ticket.
func (c *conn) resolveSeat(ctx context.Context, handle, sub string) (rpcAnswer, error) {
	found, err := c.server.store.Resolve(ctx, handle, sub)
	if err != nil {
		return rpcAnswer{}, err
	}
	signed, err := c.server.options.Signer.Sign(keyring.ClaimsFor(found, sub))
	return rpcAnswer{P: map[string]any{"endpoint": found.Endpoint, "session_token": signed,
		"session_id": found.SessionID}}, err
}
