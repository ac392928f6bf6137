package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// Bounds of the messages of a room that are repeated to a session that is resumed.
const (
	maxMissedRows  = 256 // that are looked at
	maxMissedBytes = 128 << 10
)

// missedIn names a room of a session.
type missedIn struct {
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

// missedRows returns what was read, without the rows that this transaction has written.
func (t *realtimeOpening) missedRows() map[missedIn][]LobbyRow {
	last := map[uuid.UUID]int64{}
	for _, r := range t.sessionRooms {
		last[r.result.answer.LobbyUID] = r.result.answer.PreviousPos
	}
	missed := map[missedIn][]LobbyRow{}
	for _, r := range t.missedMessages {
		row, err := decodeLobbyLog(query.LobbyLogRow{Lobby: r.Lobby, Pos: r.Pos, At: r.At, Body: r.Body})
		// Later rows are of this transaction, whose effects are in the answer already.
		if in := (missedIn{r.Session, r.Lobby}); err == nil && r.Pos <= last[r.Lobby] {
			missed[in] = append(missed[in], row)
		}
	}
	return missed
}
