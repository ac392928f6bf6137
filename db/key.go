package db

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// KeyMaterial is a signing key as it is stored: the private part sealed, so that the database alone signs nothing.
type KeyMaterial struct {
	KID       string
	Alg       string
	PublicJWK []byte
	Sealed    []byte
	SealedBy  string // names the key-encryption key
}

// SigningKey is a key and its turn.
type SigningKey struct {
	KeyMaterial
	PublishAt   time.Time // in the JWKS from here on
	SignFrom    time.Time
	SignUntil   time.Time
	VerifyUntil time.Time // in the JWKS until here
	Lead        time.Duration
	Overlap     time.Duration
}

// KeyPolicy is the schedule keys are made by.
type KeyPolicy struct {
	// Period is how long a key signs.
	Period time.Duration
	// Lead is how long a key is published before it signs: at least the JWKS max-age, the replicas' refresh and skew.
	Lead time.Duration
	// Overlap is how long a key is published after it signed: at least a token's life, the replicas' staleness and skew.
	Overlap time.Duration
}

// Keys gives the keys that verifiers may still need, in the order they sign, and the database's time. Errors:
// Unavailable.
func (s *Store) Keys(ctx context.Context) ([]SigningKey, time.Time, error) {
	rows, err := s.q.PublishedKeys(ctx)
	if err != nil {
		return nil, time.Time{}, classify(err)
	}
	now := s.Now()
	keys := make([]SigningKey, len(rows))
	for i, r := range rows {
		now = r.Now
		keys[i] = r.signingKey()
	}
	return keys, now, nil
}

func (r PublishedKeysRow) signingKey() SigningKey {
	return SigningKey{
		KeyMaterial: KeyMaterial{KID: r.Kid, Alg: r.Alg, PublicJWK: r.PublicJwk, Sealed: r.SealedPrivate, SealedBy: r.SealedBy},
		PublishAt:   r.PublishAt, SignFrom: r.SignFrom, SignUntil: r.SignUntil, VerifyUntil: r.VerifyUntil, Lead: r.Lead, Overlap: r.Overlap,
	}
}

// MintFunc makes a key beside those that are published. It fails where it cannot vouch for them: nothing is made then.
type MintFunc func(published []SigningKey) (KeyMaterial, error)

// RotateKeys makes the keys that are due: the first one, and always one that is published ahead to sign next. It looks
// without a lock, makes the key outside any transaction, and decides again under the lock, so that of any number of
// callers one makes it. force brings the next key's turn forward to as soon as verifiers may know it. It returns the
// keys made. Errors: what mint returns, Unavailable.
func (s *Store) RotateKeys(ctx context.Context, policy KeyPolicy, force bool, mint MintFunc) (made []SigningKey, err error) {
	if err := s.q.RaiseOverlap(ctx, policy.Overlap); err != nil {
		return nil, classify(err)
	}
	for {
		keys, now, err := s.Keys(ctx)
		if err != nil {
			return made, err
		}
		if _, due := dueTurn(keys, now, policy); !due && !force {
			return made, nil
		}
		material, err := mint(keys)
		if err != nil {
			return made, err
		}
		key, err := s.takeTurn(ctx, policy, force, material)
		if err != nil {
			return made, classify(err)
		}
		force = false
		if key != nil {
			made = append(made, *key)
		}
	}
}

// takeTurn inserts the material as the key that is due, if one still is.
func (s *Store) takeTurn(ctx context.Context, policy KeyPolicy, force bool, material KeyMaterial) (made *SigningKey, err error) {
	err = s.inTx(ctx, func(q *Queries) error {
		if err := q.LockKeys(ctx); err != nil {
			return err
		}
		rows, err := q.PublishedKeys(ctx)
		if err != nil {
			return err
		}
		keys, now := make([]SigningKey, len(rows)), time.Time{}
		for i, r := range rows {
			keys[i], now = r.signingKey(), r.Now
		}
		if len(rows) == 0 {
			if now, err = q.ClockReading(ctx); err != nil {
				return err
			}
		}
		if force {
			if keys, err = q.advanceNext(ctx, keys, now, policy); err != nil {
				return err
			}
		}
		turn, due := dueTurn(keys, now, policy)
		if !due {
			return nil
		}
		turn.KeyMaterial = material
		made = &turn
		return q.insertTurn(ctx, keys, turn)
	})
	return made, err
}

// dueTurn tells when the key that is missing would sign: now, where none signs, else after the last one, and never
// before verifiers could know it. It is pure.
func dueTurn(keys []SigningKey, now time.Time, policy KeyPolicy) (turn SigningKey, due bool) {
	signing, last := signingTurn(keys, now), lastTurn(keys)
	turn = SigningKey{PublishAt: now, Overlap: policy.Overlap, Lead: policy.Lead}
	switch {
	case signing == nil:
		// Waiting for the lead would leave no token at all; verifiers that look again at an unknown key get by.
		turn.Lead, turn.SignFrom, turn.SignUntil = 0, now, now.Add(policy.Period)
		if last != nil && now.Before(last.SignFrom) {
			turn.SignUntil = last.SignFrom // the next key is there, and only too young
		}
	case now.Before(last.SignFrom):
		return turn, false // the last one is the next one already
	default:
		turn.SignFrom = later(last.SignUntil, now.Add(policy.Lead))
		turn.SignUntil = turn.SignFrom.Add(policy.Period)
	}
	turn.VerifyUntil = turn.SignUntil.Add(policy.Overlap)
	return turn, true
}

func signingTurn(keys []SigningKey, now time.Time) *SigningKey {
	for i, k := range keys {
		if !now.Before(k.SignFrom) && now.Before(k.SignUntil) {
			return &keys[i]
		}
	}
	return nil
}

func lastTurn(keys []SigningKey) (last *SigningKey) {
	for i := range keys {
		if last == nil || keys[i].SignFrom.After(last.SignFrom) {
			last = &keys[i]
		}
	}
	return last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// insertTurn inserts a key; the one before it signs until then, where it would have ended earlier.
func (q *Queries) insertTurn(ctx context.Context, keys []SigningKey, turn SigningKey) error {
	if last := lastTurn(keys); last != nil && turn.Lead > 0 && last.SignUntil.Before(turn.SignFrom) {
		if err := q.setTurn(ctx, *last, last.SignFrom, turn.SignFrom, turn.Overlap); err != nil {
			return err
		}
	}
	if err := q.InsertKey(ctx, InsertKeyParams{
		Kid: turn.KID, Alg: turn.Alg, PublicJwk: turn.PublicJWK, SealedPrivate: turn.Sealed, SealedBy: turn.SealedBy,
		PublishAt: turn.PublishAt, SignFrom: turn.SignFrom, SignUntil: turn.SignUntil, VerifyUntil: turn.VerifyUntil,
		Lead: turn.Lead, Overlap: turn.Overlap,
	}); err != nil {
		return err
	}
	return q.logKey(ctx, "key.made", turn.KID)
}

// advanceNext ends the signing key's turn as soon as the next key may sign. Without a next key there is nothing to do:
// the key that is due now will be it.
func (q *Queries) advanceNext(ctx context.Context, keys []SigningKey, now time.Time, policy KeyPolicy) ([]SigningKey, error) {
	signing, next := signingTurn(keys, now), lastTurn(keys)
	if signing == nil || !now.Before(next.SignFrom) {
		return keys, nil
	}
	from := later(now, next.PublishAt.Add(next.Lead))
	if !from.Before(next.SignFrom) {
		return keys, nil // it comes as early as it can
	}
	if err := q.setTurn(ctx, *signing, signing.SignFrom, from, policy.Overlap); err != nil {
		return nil, err
	}
	if err := q.setTurn(ctx, *next, from, from.Add(policy.Period), policy.Overlap); err != nil {
		return nil, err
	}
	signing.SignUntil, next.SignFrom, next.SignUntil = from, from, from.Add(policy.Period)
	return keys, q.logKey(ctx, "key.advanced", next.KID)
}

func (q *Queries) setTurn(ctx context.Context, k SigningKey, from, until time.Time, overlap time.Duration) error {
	return q.SetSigningTimes(ctx, SetSigningTimesParams{Kid: k.KID, SignFrom: from, SignUntil: until, Overlap: overlap})
}

func (q *Queries) logKey(ctx context.Context, kind, kid string) error {
	detail, err := json.Marshal(map[string]string{"kid": kid})
	if err != nil {
		return err
	}
	return q.LogKey(ctx, LogKeyParams{Kind: kind, Detail: detail})
}

// TaintKey takes a key out of use at once: no replica signs with it and the JWKS lists it no more; the next key takes
// its turn as soon as verifiers may know it, and RotateKeys makes one for the time until then. A key that is unknown is
// an error, one that is tainted already is not. Errors: NotFound, Unavailable.
func (s *Store) TaintKey(ctx context.Context, kid string) error {
	err := s.q.TaintKey(ctx, kid)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "P0002" { // no_data_found
		return newError(NotFound, "key_unknown", "no key %q", kid)
	}
	return classify(err)
}

// ResealKey replaces a sealed private key by the same key sealed anew, unless somebody was first. Errors: Unavailable.
func (s *Store) ResealKey(ctx context.Context, kid string, old, sealed []byte, by string) (done bool, err error) {
	n, err := s.q.ResealKey(ctx, ResealKeyParams{Kid: kid, OldSealed: old, SealedPrivate: sealed, SealedBy: by})
	return n == 1, classify(err)
}

// PruneKeys removes signing keys that no token needed for longer than keep. Errors: Unavailable.
func (s *Store) PruneKeys(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneKeys(ctx, keep)
	return int(n), classify(err)
}
