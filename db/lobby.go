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
	Session           SessionEpoch // the acting session, whose epoch is judged; zero: the director itself acts
	RoomID            string
	MakesRoom         bool // a missing room is made: Act gets a room with IsNew and its ids, and nothing else
	Act               lobby.Action
	RequestBytes      int // about how much memory the action takes while it waits
}

// LobbyAnswer is what a committed action did.
type LobbyAnswer struct {
	LobbyUID     uuid.UUID
	RoomSnapshot *lobby.Snapshot // after the transaction; shared with other answers: read only
	LogRow       *LobbyRow       // of the transaction; nil: nothing changed for members. Shared, read only
	ActionAnswer any             // the CallerAnswer of the [lobby.Room]
	IsClosed     bool            // the room ended
	PreviousPos  int64           // the position of the last row of the log before the transaction
	// MissedRows are the rows with messages that a resumed session may not have been sent, up to PreviousPos, in order.
	MissedRows []LobbyRow
}

// LobbyRow is a row of a room's log: what the members receive of one transaction.
type LobbyRow struct {
	LobbyUID  uuid.UUID
	LogPos    int64
	WrittenAt time.Time
	StateSeq  int64          // the number of the state after Patch; 0 without Patch
	Patch     []lobby.Op     // sent first
	Entries   []lobby.Entry  // sent after Patch, in order
	Members   []lobby.Member // who have joined, after the transaction; nil where only the log is read
}

func lobbyUnknown() *fault.Error {
	return fault.New(fault.NotFound, "lobby_unknown", "there is no such room, or you are not a member")
}
