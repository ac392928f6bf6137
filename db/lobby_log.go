package db

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// lobbyLogBody is the body of a row of lobby_log.
type lobbyLogBody struct {
	Seq     int64         `json:"q,omitempty"`
	Patch   []lobby.Op    `json:"p,omitempty"`
	Entries []lobby.Entry `json:"e,omitempty"`
}

// encodeLobbyRow returns the body of a row. It returns an error of the data, so that the action that made the row fails
// alone.
func encodeLobbyRow(r LobbyRow) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(lobbyLogBody{Seq: r.StateSeq, Patch: r.Patch, Entries: r.Entries}); err != nil {
		return "", fmt.Errorf("%w: %w", errBadJSON, err)
	}
	return b.String(), nil
}

// errBadJSON is what Postgres answers to text that is no JSON.
var errBadJSON = &pgconn.PgError{Code: "22P02", Message: "the patch or an entry of a room is no JSON"}

// Limits of one call of LobbyLog.
const (
	maxLogBytes = 4 << 20
	maxLogRows  = 256 // of a room
	maxLogRooms = 1000
)

// LobbyPos is a position in a room's log: that of the last row which the caller has read.
type LobbyPos struct {
	LobbyUID uuid.UUID
	LogPos   int64
}

// LobbyLog returns the rows of rooms' logs behind the given positions, by room and position. A page has up to about 4
// MiB and 256 rows of a room; more reports whether it is full: call LobbyLog again with the new positions. Rows leave
// the log after a minute, so that those of a room may begin behind a gap. Errors: Unavailable.
func (s *Store) LobbyLog(ctx context.Context, region string, after []LobbyPos) (page []LobbyRow, more bool, err error) {
	bytesLeft := maxLogBytes
	for part := range slices.Chunk(after, maxLogRooms) {
		if bytesLeft <= 0 {
			return page, true, nil
		}
		p := query.LobbyLogParams{Region: region, MostRows: maxLogRows, MostBytes: int64(bytesLeft)}
		for _, a := range part {
			p.Lobbies = append(p.Lobbies, a.LobbyUID)
			p.Positions = append(p.Positions, a.LogPos)
		}
		rows, err := s.q.LobbyLog(ctx, p)
		if err != nil {
			return nil, false, frame.Classify(err)
		}
		rowsOfRoom := map[uuid.UUID]int{}
		for _, r := range rows {
			row, err := decodeLobbyLog(r)
			if err != nil {
				return nil, false, err
			}
			bytesLeft -= len(r.Body)
			page = append(page, row)
			rowsOfRoom[r.Lobby]++
			// The log of a room with as many rows in the page may have more of them.
			more = more || rowsOfRoom[r.Lobby] == maxLogRows
		}
	}
	return page, more || bytesLeft <= 0, nil
}

func decodeLobbyLog(r query.LobbyLogRow) (LobbyRow, error) {
	var body lobbyLogBody
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		return LobbyRow{}, fmt.Errorf("row %d of the log of room %s: %w", r.Pos, r.Lobby, err)
	}
	return LobbyRow{LobbyUID: r.Lobby, LogPos: r.Pos, WrittenAt: r.At, StateSeq: body.Seq, Patch: body.Patch,
		Entries: body.Entries}, nil
}
