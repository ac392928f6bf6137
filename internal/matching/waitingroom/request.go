package waitingroom

import (
	"net/netip"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Request is a player who wants a seat.
type Request struct {
	Region, Mode string
	Sub          string
	MaxPlayers   int        // seats of a session
	Address      netip.Addr // of the player, a hint for where a server should start; the zero value: not known
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
	Trouble  error         // the outage that the queue's last call for a seat met; nil: the database answered
}
