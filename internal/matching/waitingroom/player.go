package waitingroom

import (
	"context"
	"net/netip"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// Request is a player who wants a seat.
type Request struct {
	Region, Mode string
	Sub          string
	MaxPlayers   int        // seats of a session
	Address      netip.Addr // a hint for where a server should start; the zero value: not known
}

func (r Request) place() db.PlaceRequest {
	return db.PlaceRequest{Caller: r.Sub, Region: r.Region, Mode: r.Mode, Party: []string{r.Sub},
		MaxPlayers: r.MaxPlayers}
}

func (r Request) demandRow() db.Waiting {
	return db.Waiting{Region: r.Region, Mode: r.Mode, Player: r.Sub, MaxPlayers: r.MaxPlayers, PlayerAddress: r.Address}
}

// State is how far a player has come. At most one of Seat and Err is set, and then the state no longer changes.
type State struct {
	Seat     *db.Placement // nil while the player waits
	Err      error         // why the player cannot get a seat, whatever capacity there is
	Recorded bool          // the database knows that the player waits
	Outlook  fault.Outlook // of the mode's pool, when it was last recorded; zero before
	Trouble  error         // of the last call of the database; nil when it succeeded
}

// Player is a player in a [Room]. Its methods are for one goroutine.
type Player struct {
	room    *Room
	queue   *queue
	request Request
	changed chan struct{}

	// Guarded by the room's mutex.
	state      State
	isAsking   bool // a call of Place is running
	hasLeft    bool
	mayHaveRow bool // a row of demand may exist

	renewAt time.Time // when its demand is to be written again
}

// Changed returns a channel that holds one signal: the state may have changed since the last call of State.
func (p *Player) Changed() <-chan struct{} { return p.changed }

// State returns the state. It does not block.
func (p *Player) State() State {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	state := p.state
	state.Outlook = p.queue.poolOutlook
	state.Trouble = p.queue.lastTrouble
	return state
}

func (p *Player) signalChange() { wait.Wake(p.changed) }

// Use takes the player out of the room and leaves it its seat.
func (p *Player) Use() { p.room.removePlayer(p) }

// Leave takes the player out of the room. It frees the player's seat before it returns, or has its demand deleted soon
// afterwards. A seat that cannot be given back expires. Errors: why the seat was not given back.
func (p *Player) Leave(ctx context.Context) error {
	seat := p.room.removePlayer(p)
	if seat == nil {
		return nil
	}
	return p.room.giveBack(ctx, seat.SessionID, p.request.Sub)
}

// giveBack outlives its caller's context, whose end is the usual reason to leave.
func (r *Room) giveBack(ctx context.Context, session, sub string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return r.store.GiveUpSeat(ctx, session, sub)
}

const (
	// TTL is how long the demand of a player is kept without renewal.
	TTL = 15 * time.Second
	// renewEvery is a third of TTL, so that one renewal may fail.
	renewEvery = TTL / 3
	// renewParts is how often players are renewed in that time: each time another part of them.
	renewParts = 20
	// lookEvery is the fallback for lost notifications, and finds the seats of players that left.
	lookEvery = 2 * time.Second
	// askInterval is the least time between two turns of a queue: each may find nothing and cost a transaction.
	askInterval = 25 * time.Millisecond
	// callTimeout bounds each call of the database.
	callTimeout = 5 * time.Second
	// maxAsking bounds the calls of Place of one queue at a time.
	maxAsking = 256
)
