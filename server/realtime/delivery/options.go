package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
)

// hubTimeout bounds a call of the database. Calls that fail are repeated later.
const hubTimeout = 3 * time.Second

// storeReader is the part of db.Store from which a hub reads what its members are sent.
type storeReader interface {
	LobbyLog(ctx context.Context, region string, after []db.LobbyPos) (page []db.LobbyRow, more bool, err error)
	ReadLobbyPositions(ctx context.Context, region string, lobbies []uuid.UUID) (db.LobbyPositions, error)
	LobbySnapshots(ctx context.Context, region string, lobbies []uuid.UUID) ([]db.LobbySnapshot, error)
	ReadRealtimeNews(ctx context.Context, region string, replica uuid.UUID,
		sessions []db.SessionEpoch) ([]db.RealtimeNews, error)
	UnreadPlayerMessages(ctx context.Context, region, session string, after int64) ([]db.PlayerMessage, error)
}

// noticeFeed is a db.RealtimeFeed. One Unwatch ends any number of calls of Watch with the key.
type noticeFeed interface {
	Watch(key string)
	Unwatch(key string)
	Wake() <-chan struct{}
	Take() (keys []string, all bool)
	Stop()
}

// HubOptions configure a hub. Only Metrics may be absent.
type HubOptions struct {
	Store   storeReader
	Feed    noticeFeed // The hub stops it.
	Region  string
	Replica func() uuid.UUID // the current id of this replica in the region; uuid.Nil while it has none
	Log     *slog.Logger
	Guard   *panics.Guard
	Metrics *HubMetrics // nil: none
}
