package ops

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// PlayerStore is the part of db.Store that the calls about what is known of players need.
type PlayerStore interface {
	As(actor string) db.Act
	ExportPlayer(ctx context.Context, player string) (db.PlayerExport, error)
}

// playerFace lets an operator answer players who ask for what is known of them, or that it be erased.
type playerFace struct{ store PlayerStore }

// erasureRequest says why a player is erased.
type erasureRequest struct {
	Reason string `json:"reason"`
}

// Validate implements rest.Validator.
func (r *erasureRequest) Validate(c *rest.Check) {
	checkReason(c, r.Reason)
	// The reason is all that the log keeps of the player, and nobody can say it afterwards.
	c.That(strings.TrimSpace(r.Reason) != "", "reason", "must say why the player is erased")
}

// erasureAnswer is how far an erasure has come.
type erasureAnswer struct {
	Erasure  uuid.UUID `json:"erasure"`
	Rows     int64     `json:"rows"`
	Finished bool      `json:"finished"`
}

func (f playerFace) erasePlayer(ctx context.Context, in rest.In[erasureRequest]) (erasureAnswer, error) {
	sub, err := rest.CheckSub(in.Param("sub"))
	if err != nil {
		return erasureAnswer{}, err
	}
	e, err := f.store.As(rest.Caller(ctx)).ErasePlayer(ctx, sub, in.Body.Reason)
	return erasureAnswer{e.ID, e.ChangedRows, e.FinishedAt != nil}, err
}

func (f playerFace) exportPlayer(ctx context.Context, in rest.In[rest.None]) (db.PlayerExport, error) {
	sub, err := rest.CheckSub(in.Param("sub"))
	if err != nil {
		return db.PlayerExport{}, err
	}
	return f.store.ExportPlayer(ctx, sub)
}
