package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// Bounds of what is read of a room's log for a session that is resumed.
const (
	maxMissedRows  = 256 // of the log, before those that are no messages are left out
	maxMissedBytes = 128 << 10
)

// sessionRoom names a room of a session.
type sessionRoom struct {
	sessionID string
	lobbyUID  uuid.UUID
}

// readMissed defers reading what was said in the rooms of resumed sessions since their clients were last heard of.
func (t *realtimeOpening) readMissed(sessions []string) {
	p := query.MissedMessagesParams{Region: t.tx.region, MostRows: maxMissedRows, MostBytes: maxMissedBytes}
	for _, id := range sessions {
		p.Sessions = append(p.Sessions, id)
		p.Since = append(p.Since, t.openFacts.sessionsByID[id].HeardAt)
	}
	query.Queue(t.tx.q.Deferred(), &t.missedMessages, (*query.Queries).MissedMessages, p)
}

// missedRows returns what was read, without the rows that this transaction has written and those that this release
// cannot decode.
func (t *realtimeOpening) missedRows() map[sessionRoom][]LobbyRow {
	lastBefore := map[uuid.UUID]int64{} // the position of the last row before this transaction, by room
	for _, r := range t.sessionRooms {
		lastBefore[r.result.answer.LobbyUID] = r.result.answer.PreviousPos
	}
	missed := map[sessionRoom][]LobbyRow{}
	for _, r := range t.missedMessages {
		// The effects of this transaction are in the answer already.
		if r.Pos > lastBefore[r.Lobby] {
			continue
		}
		row, err := decodeLobbyLog(query.LobbyLogRow{Lobby: r.Lobby, Pos: r.Pos, At: r.At, Body: r.Body})
		if err != nil {
			continue
		}
		room := sessionRoom{r.Session, r.Lobby}
		missed[room] = append(missed[room], row)
	}
	return missed
}
