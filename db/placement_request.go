package db

import (
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/internal/base/fault"
)

// PlaceRequest asks for seats for a party in one session.
type PlaceRequest struct {
	Caller         string
	Region         string
	Build          string // of the client, which a valve may be for; "": not known
	Mode           string
	Party          []string // includes the caller; no player twice
	MaxPlayers     int      // at least the size of the party
	IdempotencyKey string   // empty for none
	RequestHash    []byte   // of the body, when there is a key

	// WaitFor is how long a request that finds no capacity counts as waiting for a server of the pool that serves the
	// mode; 0: not at all.
	WaitFor time.Duration
	Address netip.Addr // of the caller, a hint for where a server should start; the zero value: not known
}

// Placement is where players are seated.
type Placement struct {
	SessionID     string `json:"session_id"`
	SessionHandle string `json:"session_handle"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

type placeCall = batch.Call[PlaceRequest, Placement]

// request is a call in the transaction that decides it.
type request struct {
	call         *placeCall
	placeRequest PlaceRequest // that of the call
	verdict      verdict
	fillOnly     bool // this transaction may neither open a session for it nor refuse it
	packedIndex  int  // the index of its session in candidates.packedSessions; -1: it has none
}

func (r PlaceRequest) shape() pack.Shape { return pack.Shape{Mode: r.Mode, MaxPlayers: r.MaxPlayers} }

func shapesOf(calls []*placeCall) (shapes []pack.Shape) {
	for _, c := range calls {
		if sh := c.Req.shape(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
	}
	return shapes
}

func (r PlaceRequest) players() int { return len(r.Party) }

func (r PlaceRequest) bytes() int {
	return textBytes(r.Caller, r.Region, r.Mode, r.IdempotencyKey) + len(r.RequestHash) + textBytes(r.Party...)
}

// verdict is what the seats around a request mean for it: an answer, or what to do before the request is placed.
type verdict struct {
	knownPlacement *Placement
	err            *fault.Error
	giveUp         []seatRef // seats superseded by this request
	// excludedSessions are those that the party may not join: a member is connected there, or a player is there whom a
	// member avoids or who avoids a member.
	excludedSessions []uuid.UUID
}

// isDecided reports whether the request has its answer.
func (v verdict) isDecided() bool { return v.knownPlacement != nil || v.err != nil }

// seatRef names a seat.
type seatRef struct {
	sessionID uuid.UUID
	playerSub string
}
