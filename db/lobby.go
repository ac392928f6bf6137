package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// SessionEpoch names a realtime session as an owner knows it. A write with an epoch that is no longer the session's
// changes nothing.
type SessionEpoch struct {
	ID    string
	Epoch int64
}

// LobbyAction is what a session does in a room of the realtime lobby.
type LobbyAction struct {
	Region, ProjectID string
	Session           SessionEpoch // whose epoch is judged; zero for an action of the director itself
	RoomID            string       // the room's id
	// make the room if there is none; then Act gets a room with New and nothing but its ids
	MakesRoom    bool
	Act          lobby.Action
	RequestBytes int // of memory that the action takes while it waits, about
}

// LobbyAnswer is what a committed action did.
type LobbyAnswer struct {
	LobbyUID     uuid.UUID
	RoomSnapshot *lobby.Snapshot // after the transaction; shared with other answers: read only
	LogRow       *LobbyRow       // of the transaction; nil: nothing changed for members. Shared, read only
	ActionAnswer any             // of [lobby.Room]
	IsClosed     bool            // the room ended
	PreviousPos  int64           // the Pos before the transaction
	// rows with messages that a resumed session may not have been sent, by Pos, up to Previous
	MissedRows []LobbyRow
}

// LobbyRow is a row of a room's log: what one transaction tells its members.
type LobbyRow struct {
	LobbyUID  uuid.UUID
	LogPos    int64
	WrittenAt time.Time
	StateSeq  int64          // after Patch; 0 without Patch
	Patch     []lobby.Op     // sent first
	Entries   []lobby.Entry  // sent after it, in order
	Members   []lobby.Member // joined, after the row; nil where only the log is read
}

func lobbyUnknown() *fault.Error {
	return fault.New(fault.NotFound, "lobby_unknown", "there is no such room, or you are not a member")
}
