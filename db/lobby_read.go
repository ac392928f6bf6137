package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// maxLobbyPositions bounds the rooms of one statement of LobbyPositions.
const maxLobbyPositions = 10_000

// LobbyPositions are the positions of the last rows of rooms' logs. A room that has ended is missing.
type LobbyPositions struct {
	// ServerStartedAt is when Postgres started; zero without rooms. A server that started at another time may be a
	// promoted standby, which may lack rows that were read before.
	ServerStartedAt time.Time
	ByRoom          map[uuid.UUID]int64
}

// ReadLobbyPositions reads the positions of rooms. Errors: Unavailable.
func (s *Store) ReadLobbyPositions(ctx context.Context, region string, lobbies []uuid.UUID) (LobbyPositions, error) {
	positions := LobbyPositions{ByRoom: make(map[uuid.UUID]int64, len(lobbies))}
	for part := range slices.Chunk(lobbies, maxLobbyPositions) {
		rows, err := s.q.LobbyPositions(ctx, query.LobbyPositionsParams{Region: region, Uids: part})
		if err != nil {
			return LobbyPositions{}, frame.Classify(err)
		}
		for _, r := range rows {
			positions.ByRoom[r.Uid], positions.ServerStartedAt = r.Pos, r.Server
		}
	}
	return positions, nil
}

// MaxLobbySnapshots bounds the rooms of a call of [Store.LobbySnapshots], which may return 64 KiB for each.
const MaxLobbySnapshots = 256

// LobbySnapshot is a room as its members see it.
type LobbySnapshot struct {
	LobbyUID uuid.UUID
	Snapshot lobby.Snapshot
}

// LobbySnapshots reads rooms, each as one transaction has left it. A room that has ended is missing. Errors: Invalid
// for more than MaxLobbySnapshots rooms; Unavailable.
func (s *Store) LobbySnapshots(ctx context.Context, region string, lobbies []uuid.UUID) ([]LobbySnapshot, error) {
	if len(lobbies) > MaxLobbySnapshots {
		return nil, &fault.Error{Kind: fault.Invalid, Code: CodeValidation, Field: "lobbies",
			Detail: "too many rooms at once"}
	}
	rows, err := s.q.LobbySnapshots(ctx, query.LobbySnapshotsParams{Region: region, Uids: lobbies})
	if err != nil {
		return nil, frame.Classify(err)
	}
	out := make([]LobbySnapshot, len(rows))
	for i, r := range rows {
		if out[i], err = lobbySnapshotOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func lobbySnapshotOf(r query.LobbySnapshotsRow) (LobbySnapshot, error) {
	state, err := lobby.ParseState(r.State)
	if err != nil {
		return LobbySnapshot{}, err
	}
	out := LobbySnapshot{r.Uid, lobby.Snapshot{Project: r.Project, ID: r.ID, Type: r.Type, LogPosition: r.Pos,
		StateSeq: r.Seq, State: state}}
	for i, session := range r.Sessions {
		out.Snapshot.Members = append(out.Snapshot.Members,
			lobby.Member{Session: session, Player: r.Players[i], JoinOrder: r.Orders[i], IsAway: r.Away[i]})
	}
	return out, nil
}
