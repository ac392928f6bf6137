package realtime

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/server/rest"
)

// codeRate is how many codes an address may send. A class that joins its teacher's room has one address.
var codeRate = rest.Rate{PerSecond: 0.5, Burst: 60}

// maxCodeTries bounds how often a room is given another code because a second room has the one that it was given. With
// 100,000 codes in use, one try in 4,000 fails.
const maxCodeTries = 3

// joinByCode joins the room that has a code. It makes none.
func joinByCode(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	typed, _ := e.PayloadFields()["code"].(string)
	code, ok := lobby.ParseCode(typed)
	if !ok {
		return nil, wire.InvalidField("code", "must be the code of a room, such as KX7-4ZM")
	}
	options, size := rawFields(e.PayloadOptions())
	return func() (rpcAnswer, error) {
		// Before the look-up, and for codes that exist, too: otherwise a client could try all of them.
		if wait := c.server.codeLimiter.Take(c.clientAddress); wait > 0 {
			return rpcAnswer{}, &wire.Failure{Code: wire.CodeRateLimited, Text: "too many codes", RetryAfter: wait}
		}
		room, roomType, err := c.server.store.LobbyOfCode(ctx, c.region, c.project, code)
		if err != nil {
			return rpcAnswer{}, err
		}
		act := c.server.options.RoomTypes.JoinRoom(lobby.Join{RoomType: roomType, Session: c.sessionEpoch.ID,
			Player: c.player, Options: options, RoomCode: code, AskedAt: c.server.store.Now()})
		a, err := c.beginInRoom(ctx, db.LobbyAction{Act: act, RequestBytes: size}, room,
			func(did db.LobbyAnswer) { c.hub.JoinRoom(c, did) })()
		a.P = addField(addField(a.P, "room", room), "room_type", roomType)
		return a, err
	}, nil
}

// shareCode answers with the code of a room, and makes or removes it.
func shareCode(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	request := lobby.CodeRead
	if renew, _ := e.PayloadFields()["renew"].(bool); renew {
		request = lobby.CodeRenew
	}
	if remove, _ := e.PayloadFields()["remove"].(bool); remove {
		request = lobby.CodeRemove
	}
	return func() (a rpcAnswer, err error) {
		for range maxCodeTries {
			// A code is drawn for each try, even if the action only reads: a room without a code gets it.
			act := c.server.options.RoomTypes.ShareCode(c.sessionEpoch.ID, lobby.CodeOf(randomNumber()), request)
			a, err = c.beginInRoom(ctx, db.LobbyAction{Act: act}, room, c.hub.DeliverAnswer)()
			if !errors.Is(err, lobby.ErrCodeTaken) {
				break
			}
		}
		a.EventType = "room.code"
		return a, err
	}, nil
}

func randomNumber() uint64 {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return binary.LittleEndian.Uint64(random[:])
}
