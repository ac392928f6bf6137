package db

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// KeyMaterial is a signing key as it is stored: the private key is sealed, so that nobody can sign with the database
// alone.
type KeyMaterial struct {
	KID       string
	Alg       string
	PublicJWK []byte
	Sealed    []byte
	SealedBy  string // names the key-encryption key
}

// SigningKey is a key and its turn to sign.
type SigningKey struct {
	Material    KeyMaterial
	PublishAt   time.Time // the JWKS lists it from then on
	SignFrom    time.Time
	SignUntil   time.Time
	VerifyUntil time.Time // the JWKS lists it until then
	Lead        time.Duration
	Overlap     time.Duration
}

// KeyPolicy is the schedule by which keys are made.
type KeyPolicy struct {
	// Period is how long a key signs.
	Period time.Duration
	// Lead is how long a key is published before it signs: at least the max-age of the JWKS, the replicas' refresh and
	// clock skew.
	Lead time.Duration
	// Overlap is how long a key is published after it signed: at least the lifetime of tokens, the replicas' staleness
	// and clock skew.
	Overlap time.Duration
}

// Keys returns the keys that verifiers may need, in the order in which they sign, and the database's time. Errors:
// Unavailable.
func (s *Store) Keys(ctx context.Context) ([]SigningKey, time.Time, error) {
	rows, err := s.q.PublishedKeys(ctx)
	if err != nil {
		return nil, time.Time{}, frame.Classify(err)
	}
	now := s.Now()
	keys := make([]SigningKey, len(rows))
	for i, r := range rows {
		// The time of the statement is more exact than this replica's clock.
		now = r.Now
		keys[i] = signingKeyOf(r)
	}
	return keys, now, nil
}

func signingKeyOf(r query.PublishedKeysRow) SigningKey {
	return SigningKey{
		Material: KeyMaterial{KID: r.Kid, Alg: r.Alg, PublicJWK: r.PublicJwk, Sealed: r.SealedPrivate,
			SealedBy: r.SealedBy},
		PublishAt: r.PublishAt, SignFrom: r.SignFrom, SignUntil: r.SignUntil, VerifyUntil: r.VerifyUntil,
		Lead: r.Lead, Overlap: r.Overlap,
	}
}

// MintFunc makes a key. It gets the published keys, and fails when it cannot trust them, so that no key is made.
type MintFunc func(published []SigningKey) (KeyMaterial, error)

// RotateKeys makes the keys that are due: the first one, and always a published one that signs next. It checks without
// a lock, makes the key outside any transaction, and checks again under the lock, so that of any number of callers one
// stores its key. force brings the next key's turn forward to when verifiers know the key. RotateKeys returns the keys
// it made. Errors: mint's, Unavailable.
func (s *Store) RotateKeys(ctx context.Context, policy KeyPolicy, force bool,
	mint MintFunc) (made []SigningKey, err error) {
	return s.rotateKeys(ctx, rotation{policy, "director"}, force, mint)
}

// rotation says how keys are made, and who makes them, for their events.
type rotation struct {
	keyPolicy KeyPolicy

	actor string
}

func (s *Store) rotateKeys(ctx context.Context, r rotation, force bool, mint MintFunc) (made []SigningKey, err error) {
	if err := s.q.RaiseOverlap(ctx, r.keyPolicy.Overlap); err != nil {
		return nil, frame.Classify(err)
	}
	// Several keys may be due: one that signs now, and the next one.
	for {
		keys, now, err := s.Keys(ctx)
		if err != nil {
			return made, err
		}
		if _, due := dueTurn(keys, now, r.keyPolicy); !due && !force {
			return made, nil
		}
		material, err := mint(keys)
		if err != nil {
			return made, err
		}
		key, err := s.takeTurn(ctx, r, force, material)
		if err != nil {
			return made, frame.Classify(err)
		}
		force = false
		// nil: another caller has stored the key meanwhile. The keys are read again, and are likely all there.
		if key != nil {
			made = append(made, *key)
		}
	}
}

// takeTurn stores the material as the key that is due; it does nothing when none is due any more.
func (s *Store) takeTurn(ctx context.Context, by rotation, force bool,
	material KeyMaterial) (made *SigningKey, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		if err := q.LockKeys(ctx); err != nil {
			return err
		}
		rows, err := q.PublishedKeys(ctx)
		if err != nil {
			return err
		}
		keys, now := make([]SigningKey, len(rows)), time.Time{}
		for i, r := range rows {
			keys[i], now = signingKeyOf(r), r.Now
		}
		if len(rows) == 0 {
			// No row has brought the database's time.
			if now, err = q.ClockReading(ctx); err != nil {
				return err
			}
		}
		if force {
			if keys, err = advanceNextKey(ctx, q, keys, now, by); err != nil {
				return err
			}
		}
		turn, due := dueTurn(keys, now, by.keyPolicy)
		if !due {
			return nil
		}
		turn.Material = material
		made = &turn
		return insertTurn(ctx, q, keys, turn, by.actor)
	})
	return made, err
}

// dueTurn returns the turn of the key to make: from now on when no key signs, else after the last one, but not before
// verifiers know the key. due is false when no key is missing. It is pure.
func dueTurn(keys []SigningKey, now time.Time, policy KeyPolicy) (turn SigningKey, due bool) {
	signing, last := signingTurn(keys, now), lastTurn(keys)
	turn = SigningKey{PublishAt: now, Overlap: policy.Overlap, Lead: policy.Lead}
	switch {
	case signing == nil:
		// During the lead no token could be issued at all. Verifiers fetch the JWKS again when they do not know a key.
		turn.Lead, turn.SignFrom, turn.SignUntil = 0, now, now.Add(policy.Period)
		if last != nil && now.Before(last.SignFrom) {
			turn.SignUntil = last.SignFrom // there is a next key, whose lead is not over
		}
	case now.Before(last.SignFrom):
		return turn, false // the last one is the next one
	default:
		turn.SignFrom = laterTime(last.SignUntil, now.Add(policy.Lead))
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

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// insertTurn inserts a key. If the turn of the key before would end earlier, it is extended until the new key signs.
func insertTurn(ctx context.Context, q *query.Queries, keys []SigningKey, turn SigningKey, actor string) error {
	// A key without a lead is made because none signs. One with a lead follows another, which signs until then.
	if last := lastTurn(keys); last != nil && turn.Lead > 0 && last.SignUntil.Before(turn.SignFrom) {
		if err := setTurn(ctx, q, *last, last.SignFrom, turn.SignFrom, turn.Overlap); err != nil {
			return err
		}
	}
	if err := q.InsertKey(ctx, query.InsertKeyParams{
		Kid: turn.Material.KID, Alg: turn.Material.Alg, PublicJwk: turn.Material.PublicJWK, SealedPrivate: turn.Material.Sealed, SealedBy: turn.Material.SealedBy,
		PublishAt: turn.PublishAt, SignFrom: turn.SignFrom, SignUntil: turn.SignUntil, VerifyUntil: turn.VerifyUntil,
		Lead: turn.Lead, Overlap: turn.Overlap,
	}); err != nil {
		return err
	}
	return logKey(ctx, q, "key.made", turn.Material.KID, actor)
}

// advanceNextKey ends the signing key's turn as soon as the next key may sign. Without a next key it does nothing:
// RotateKeys is about to make one.
func advanceNextKey(ctx context.Context, q *query.Queries, keys []SigningKey, now time.Time,
	by rotation) ([]SigningKey, error) {
	signing, next := signingTurn(keys, now), lastTurn(keys)
	// The last key is the signing one: there is no next key.
	if signing == nil || !now.Before(next.SignFrom) {
		return keys, nil
	}
	from := laterTime(now, next.PublishAt.Add(next.Lead))
	if !from.Before(next.SignFrom) {
		return keys, nil // its turn cannot be any earlier
	}
	if err := setTurn(ctx, q, *signing, signing.SignFrom, from, by.keyPolicy.Overlap); err != nil {
		return nil, err
	}
	if err := setTurn(ctx, q, *next, from, from.Add(by.keyPolicy.Period), by.keyPolicy.Overlap); err != nil {
		return nil, err
	}
	// As the rows are now: dueTurn decides on these keys next.
	signing.SignUntil, next.SignFrom, next.SignUntil = from, from, from.Add(by.keyPolicy.Period)
	return keys, logKey(ctx, q, "key.advanced", next.Material.KID, by.actor)
}

func setTurn(ctx context.Context, q *query.Queries, k SigningKey, from, until time.Time, overlap time.Duration) error {
	return q.SetSigningTimes(ctx, query.SetSigningTimesParams{Kid: k.Material.KID, SignFrom: from, SignUntil: until,
		Overlap: overlap})
}

func logKey(ctx context.Context, q *query.Queries, kind, kid, actor string) error {
	detail, err := json.Marshal(map[string]string{"kid": kid})
	if err != nil {
		return err
	}
	return q.LogKey(ctx, query.LogKeyParams{Kind: kind, Actor: actor, Detail: detail})
}

// TaintKey takes a key out of use at once: no replica signs with it, and the JWKS does not list it. The next key signs
// as soon as verifiers know it, and RotateKeys makes one for the time until then. It is no error when the key is
// tainted already. Errors: NotFound, Unavailable.
func (s *Store) TaintKey(ctx context.Context, kid string) error {
	err := s.q.TaintKey(ctx, kid)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "P0002" { // no_data_found
		return fault.New(fault.NotFound, "key_unknown", "no key %q", kid)
	}
	return frame.Classify(err)
}

// ResealKey replaces a sealed private key, old, by the same key sealed with the key-encryption key that by names. done
// is false when old is not the stored one any more. Errors: Unavailable.
func (s *Store) ResealKey(ctx context.Context, kid string, old, sealed []byte, by string) (done bool, err error) {
	n, err := s.q.ResealKey(ctx, query.ResealKeyParams{Kid: kid, OldSealed: old, SealedPrivate: sealed, SealedBy: by})
	return n == 1, frame.Classify(err)
}

// PruneKeys deletes signing keys for which no valid token has existed for keep. Errors: Unavailable.
func (s *Store) PruneKeys(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneKeys(ctx, keep)
	return int(n), frame.Classify(err)
}
