package baseline

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Naive is placement as most people write it first: each call has a transaction of its own, and seats the party in the
// fullest open session that SKIP LOCKED finds, else in a new one on the least loaded instance that it finds, else it
// answers "no capacity". It keeps the rules, tables and invariants of package db, and is as fast as one call at a time
// can be: it uses the product's connections, prepared statements and indexes, one round trip for a seat in an open
// session and two for a new one. It omits duties of the product that would only cost it time: idempotency keys, giving
// up a seat for another request, the cap on reserved seats. All other calls are the store's. Safe for concurrent use.
type Naive struct{ *db.Store }

var (
	//go:embed fill.sql
	fill string
	//go:embed open.sql
	open string
)

// tries is the number of attempts for a player who gets a seat from another call at the same time: the second attempt
// finds that seat.
const tries = 2

// Place seats a party together in one session, or returns the seat that it already has. Errors: NoCapacity, Conflict
// when a member holds another seat, errors of Postgres.
func (n Naive) Place(ctx context.Context, r db.PlaceRequest) (p db.Placement, err error) {
	for range tries {
		if p, err = n.fill(ctx, r); errors.Is(err, pgx.ErrNoRows) {
			p, err = n.open(ctx, r)
		}
		if !isTaken(err) { // else the next attempt finds the seat that the other call has committed
			break
		}
	}
	switch {
	case isTaken(err):
		err = &fault.Error{Kind: fault.Conflict, Code: "party_conflict",
			Detail: "a player of the party holds a seat elsewhere in this mode"}
	case errors.Is(err, pgx.ErrNoRows):
		err = &fault.Error{Kind: fault.NoCapacity, Code: "no_capacity",
			Detail: "no instance was found that can host it now"}
	}
	return p, err
}

// isTaken reports whether a player already has a seat (unique_violation).
func isTaken(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505"
}

// fill seats a party in an open session. pgx.ErrNoRows: there is none that SKIP LOCKED finds.
func (n Naive) fill(ctx context.Context, r db.PlaceRequest) (db.Placement, error) {
	p := db.Placement{Region: r.Region, Mode: r.Mode, MaxPlayers: r.MaxPlayers}
	var id uuid.UUID
	err := n.Pool().QueryRow(ctx, fill, n.common(r)...).Scan(&id, &p.SessionHandle, &p.Endpoint, &p.PlayerCount)
	p.SessionID = sessionID(r.Region, id)
	return p, err
}

// open seats a party in a new session. pgx.ErrNoRows: there is no instance that SKIP LOCKED finds.
func (n Naive) open(ctx context.Context, r db.PlaceRequest) (db.Placement, error) {
	id, handle := uuid.Must(uuid.NewV7()), newHandle(r.Region)
	p := db.Placement{
		SessionID: sessionID(r.Region, id), SessionHandle: handle, Region: r.Region, Mode: r.Mode,
		PlayerCount: len(r.Party), MaxPlayers: r.MaxPlayers,
	}
	return p, n.Pool().QueryRow(ctx, open, append(n.common(r), id, handle)...).Scan(&p.Endpoint)
}

// common returns the first arguments of both statements, $1 to $7.
func (n Naive) common(r db.PlaceRequest) []any {
	return []any{r.Region, r.Mode, r.MaxPlayers, r.Caller, partyKey(r.Party), r.Party, n.Timing().SeatTTL}
}

// The formats below are those of db/session_id.go and db/placement_resume.go, which do not export them.

func sessionID(region string, id uuid.UUID) string { return region + "." + id.String() }

// newHandle has letters and digits only, as many as base64 of 18 bytes.
func newHandle(region string) string { return region + "." + rand.Text()[:24] }

func partyKey(subs []string) uuid.UUID {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(subs)), "\x00")))
	return uuid.UUID(sum[:16])
}
