package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// AsOf asks what was true at a time.
type AsOf struct {
	Moment time.Time
	Region string // "": all
	Limit  int    // of rows, from 1
}

// InstanceAt is a game server that had not ended at a time.
type InstanceAt struct {
	Region        string          `json:"region"`
	Instance      string          `json:"instance"`
	Endpoint      string          `json:"endpoint"`
	Status        string          `json:"status"` // starting, ready or draining
	Modes         []string        `json:"modes"`
	Labels        json.RawMessage `json:"labels"`  // an object
	Version       string          `json:"version"` // "": it said none
	Capacity      int32           `json:"capacity"`
	MaxSessions   int32           `json:"max_sessions"` // 0: no limit
	Sessions      int32           `json:"sessions"`
	Players       int32           `json:"players"`
	ReservedSeats int32           `json:"reserved_seats"`
	Incarnation   uuid.UUID       `json:"incarnation"`
	RegisteredAt  time.Time       `json:"registered_at"`
	Since         time.Time       `json:"since"` // when it entered this state
}

// SessionAt is a session that was open at a time.
type SessionAt struct {
	Region     string     `json:"region"`
	Session    string     `json:"session"` // region.uuid
	Mode       string     `json:"mode"`
	Instance   string     `json:"instance"`
	Players    int32      `json:"players"` // seats taken, reserved and connected
	Connected  int32      `json:"connected"`
	MaxPlayers int32      `json:"max_players"`
	OpenedAt   time.Time  `json:"opened_at"`
	ClosedAt   *time.Time `json:"closed_at"` // nil: it is still open
	Match      *uuid.UUID `json:"match"`     // nil: none
}

// SeatAt is a seat that was taken at a time.
type SeatAt struct {
	Region      string     `json:"region"`
	Session     string     `json:"session"` // region.uuid
	Instance    string     `json:"instance"`
	Mode        string     `json:"mode"`
	Player      string     `json:"player"`
	State       string     `json:"state"` // reserved or connected
	Party       uuid.UUID  `json:"party"`
	ReservedBy  string     `json:"reserved_by"`
	ReservedAt  time.Time  `json:"reserved_at"`
	ConnectedAt *time.Time `json:"connected_at"` // nil: the player had not connected
	LeftAt      *time.Time `json:"left_at"`      // nil: it is still taken
	Match       *uuid.UUID `json:"match"`        // nil: none
	Team        string     `json:"team"`
}

// KeyAt is a signing key as it was at a time.
type KeyAt struct {
	KID         string     `json:"kid"`
	Alg         string     `json:"alg"`
	State       string     `json:"state"` // next, signing, retiring, expired or tainted
	PublishAt   time.Time  `json:"publish_at"`
	SignFrom    time.Time  `json:"sign_from"`
	SignUntil   time.Time  `json:"sign_until"`
	VerifyUntil time.Time  `json:"verify_until"`
	TaintedAt   *time.Time `json:"tainted_at"` // nil: the key was not tainted
}

// FleetAt returns the game servers that had not ended at a time, by region and id. Errors, as those of SessionsAt,
// SeatsAt and KeysAt: Invalid, for a time in the future and for one before history begins, which the error names;
// Unavailable.
func (s *Store) FleetAt(ctx context.Context, a AsOf) ([]InstanceAt, error) {
	rows, err := s.pastQueries().FleetAt(ctx, query.FleetAtParams{At: a.Moment, Region: a.Region, Most: int32(a.Limit)})
	if err != nil {
		return nil, act.Refusal(err)
	}
	all := make([]InstanceAt, len(rows))
	for i, r := range rows {
		all[i] = InstanceAt{r.Region, r.Instance, r.Endpoint, r.Status, r.Modes, r.Labels, r.Version, r.Capacity,
			r.MaxSessions, r.Sessions, r.Players, r.ReservedSeats, r.Incarnation, r.RegisteredAt.UTC(), r.Since.UTC()}
	}
	return all, nil
}

// SessionsAt returns the sessions that were open at a time, by region and id.
func (s *Store) SessionsAt(ctx context.Context, a AsOf) ([]SessionAt, error) {
	rows, err := s.pastQueries().SessionsAt(ctx,
		query.SessionsAtParams{At: a.Moment, Region: a.Region, Most: int32(a.Limit)})
	if err != nil {
		return nil, act.Refusal(err)
	}
	all := make([]SessionAt, len(rows))
	for i, r := range rows {
		all[i] = SessionAt{r.Region, r.Session, r.Mode, r.Instance, r.Players, r.Connected, r.MaxPlayers,
			r.OpenedAt.UTC(), unlessEpoch(r.ClosedAt), unlessZero(r.Match)}
	}
	return all, nil
}

// SeatsAt returns the seats that were taken at a time, by region, session and player.
func (s *Store) SeatsAt(ctx context.Context, a AsOf) ([]SeatAt, error) {
	rows, err := s.pastQueries().SeatsAt(ctx, query.SeatsAtParams{At: a.Moment, Region: a.Region, Most: int32(a.Limit)})
	if err != nil {
		return nil, act.Refusal(err)
	}
	all := make([]SeatAt, len(rows))
	for i, r := range rows {
		all[i] = SeatAt{r.Region, r.Session, r.Instance, r.Mode, r.Player, r.State, r.Party, r.ReservedBy,
			r.ReservedAt.UTC(), unlessEpoch(r.ConnectedAt), unlessEpoch(r.LeftAt), unlessZero(r.Match), r.Team}
	}
	return all, nil
}

// KeysAt returns the signing keys as they were at a time, in the order in which they sign; keys have no region.
func (s *Store) KeysAt(ctx context.Context, a AsOf) ([]KeyAt, error) {
	rows, err := s.pastQueries().KeysAt(ctx, query.KeysAtParams{At: a.Moment, Most: int32(a.Limit)})
	if err != nil {
		return nil, act.Refusal(err)
	}
	all := make([]KeyAt, len(rows))
	for i, r := range rows {
		all[i] = KeyAt{r.Kid, r.Alg, r.State, r.PublishAt.UTC(), r.SignFrom.UTC(), r.SignUntil.UTC(),
			r.VerifyUntil.UTC(), unlessEpoch(r.TaintedAt)}
	}
	return all, nil
}

// pastQueries returns queries on the connections for large reads, since statements about the past read much history.
func (s *Store) pastQueries() *query.Queries { return query.New(s.readerPool) }

// unlessEpoch returns nil for the epoch, which the queries give in place of NULL.
func unlessEpoch(at time.Time) *time.Time {
	if at.Unix() == 0 {
		return nil
	}
	at = at.UTC()
	return &at
}

// unlessZero is unlessEpoch for ids: nil for the nil UUID.
func unlessZero(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// HistoryStarts returns the oldest times for which FleetAt, SessionsAt, SeatsAt and KeysAt have an answer, under the
// names "fleet", "sessions", "seats" and "keys". Errors: Unavailable.
func (s *Store) HistoryStarts(ctx context.Context) (map[string]time.Time, error) {
	rows, err := s.q.HistoryStarts(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	starts := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		starts[r.What] = r.Since.UTC()
	}
	return starts, nil
}

// PrunePast deletes the past states of game servers and keys that ended longer than keep ago: at most batch states of
// game servers, and all of keys, which are few. It returns the number of states of game servers. Errors: Unavailable.
func (s *Store) PrunePast(ctx context.Context, keep time.Duration, batch int) (int, error) {
	if _, err := s.q.PrunePastKeys(ctx, keep); err != nil {
		return 0, frame.Classify(err)
	}
	n, err := s.q.PrunePastInstances(ctx, query.PrunePastInstancesParams{Keep: keep, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
