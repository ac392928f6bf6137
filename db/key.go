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
	if len(rows) == 0 {
		return []SigningKey{}, s.Now(), nil
	}
	// The time of the statement is more exact than this replica's clock.
	return signingKeysOf(rows), rows[0].Now, nil
}

func signingKeysOf(rows []query.PublishedKeysRow) []SigningKey {
	keys := make([]SigningKey, len(rows))
	for i, r := range rows {
		keys[i] = SigningKey{
			Material: KeyMaterial{KID: r.Kid, Alg: r.Alg, PublicJWK: r.PublicJwk, Sealed: r.SealedPrivate,
				SealedBy: r.SealedBy},
			PublishAt: r.PublishAt, SignFrom: r.SignFrom, SignUntil: r.SignUntil, VerifyUntil: r.VerifyUntil,
			Lead: r.Lead, Overlap: r.Overlap,
		}
	}
	return keys
}

// MintFunc makes a key. It gets the published keys, and fails when it cannot trust them, so that no key is made.
type MintFunc func(published []SigningKey) (KeyMaterial, error)

// SigningKeyRotation says how signing keys are made.
type SigningKeyRotation struct {
	Policy KeyPolicy
	Mint   MintFunc
	Force  bool // the next key signs as soon as verifiers know it
	// NextKID is the next key that the caller saw; "": it saw none. With Force, another next key is not brought forward.
	// nil: whichever is next.
	NextKID *string
}

// RotateKeys makes the keys that are due: one that signs now if none does, and one that is published and signs next. It
// checks without a lock, makes the key outside any transaction, and checks again under the lock, so that of any number
// of callers one stores its key. RotateKeys returns the keys that it made. Errors: those of Mint; Conflict, if the next
// key is not NextKID; Unavailable.
func (s *Store) RotateKeys(ctx context.Context, r SigningKeyRotation) (made []SigningKey, err error) {
	return s.rotateKeys(ctx, r, "director")
}

// rotateKeys is RotateKeys; actor is that of the events.
func (s *Store) rotateKeys(ctx context.Context, r SigningKeyRotation, actor string) (made []SigningKey, err error) {
	// Keys that sign already are published for as long as the tokens of a longer policy live.
	if err := s.q.RaiseOverlap(ctx, r.Policy.Overlap); err != nil {
		return nil, frame.Classify(err)
	}
	// Several keys may be due: one that signs now, and the next one.
	for {
		keys, now, err := s.Keys(ctx)
		if err != nil {
			return made, err
		}
		if _, due := dueTurn(keys, now, r.Policy); !due && !r.Force {
			return made, nil
		}
		material, err := r.Mint(keys)
		if err != nil {
			return made, err
		}
		key, err := s.storeDueKey(ctx, r, actor, material)
		if err != nil {
			return made, frame.Classify(err)
		}
		r.Force = false // the next key was brought forward
		// nil: another caller has stored the key meanwhile. The keys are read again, and are likely all there.
		if key != nil {
			made = append(made, *key)
		}
	}
}

// storeDueKey stores the material as the key that is due, and returns the key; nil: none is due any more. With
// Force, it first brings the next key forward.
func (s *Store) storeDueKey(ctx context.Context, r SigningKeyRotation, actor string,
	material KeyMaterial) (made *SigningKey, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		if err := q.LockKeys(ctx); err != nil {
			return err
		}
		rows, err := q.PublishedKeys(ctx)
		if err != nil {
			return err
		}
		keys, now, err := keysAndTime(ctx, q, rows)
		if err != nil {
			return err
		}
		if r.Force {
			// Under the lock: of two callers that saw the same next key, one brings it forward.
			if err := r.checkNextKey(keys, now); err != nil {
				return err
			}
			if err := advanceNextKey(ctx, q, keys, now, r.Policy, actor); err != nil {
				return err
			}
		}
		turn, due := dueTurn(keys, now, r.Policy)
		if !due {
			return nil
		}
		turn.Material = material
		made = &turn
		return insertKey(ctx, q, keys, turn, actor)
	})
	return made, err
}

// checkNextKey returns a Conflict if the next key is not the one that the caller saw.
func (r SigningKeyRotation) checkNextKey(keys []SigningKey, now time.Time) error {
	next := "" // there is none
	if last := lastKey(keys); last != nil && now.Before(last.SignFrom) {
		next = last.Material.KID
	}
	if r.NextKID != nil && *r.NextKID != next {
		return fault.New(fault.Conflict, "next_key_changed", "the next key is not %q any more", *r.NextKID)
	}
	return nil
}

// keysAndTime returns the keys of rows, and the database's time, which each row has.
func keysAndTime(ctx context.Context, q *query.Queries,
	rows []query.PublishedKeysRow) ([]SigningKey, time.Time, error) {
	if len(rows) == 0 {
		now, err := q.ClockReading(ctx)
		return nil, now, err
	}
	return signingKeysOf(rows), rows[0].Now, nil
}

// dueTurn returns a key without material, with the times of the key to make: from now on when no key signs, else after
// the last one, but not before verifiers know the key. due is false when no key is missing.
func dueTurn(keys []SigningKey, now time.Time, policy KeyPolicy) (turn SigningKey, due bool) {
	signing, last := signingKey(keys, now), lastKey(keys)
	turn = SigningKey{PublishAt: now, Overlap: policy.Overlap, Lead: policy.Lead}
	switch {
	case signing == nil:
		// Without a lead: until its end no token could be issued at all. Verifiers that do not know a key fetch the
		// JWKS again.
		turn.Lead, turn.SignFrom, turn.SignUntil = 0, now, now.Add(policy.Period)
		if last != nil && now.Before(last.SignFrom) {
			turn.SignUntil = last.SignFrom // there is a next key, whose lead is not over
		}
	case now.Before(last.SignFrom):
		return SigningKey{}, false // the last key is the next one
	default:
		turn.SignFrom = laterTime(last.SignUntil, now.Add(policy.Lead))
		turn.SignUntil = turn.SignFrom.Add(policy.Period)
	}
	turn.VerifyUntil = turn.SignUntil.Add(policy.Overlap)
	return turn, true
}

// signingKey returns the key that signs at a time; nil: none does.
func signingKey(keys []SigningKey, now time.Time) *SigningKey {
	for i, k := range keys {
		if !now.Before(k.SignFrom) && now.Before(k.SignUntil) {
			return &keys[i]
		}
	}
	return nil
}

// lastKey returns the key that signs last; nil without keys.
func lastKey(keys []SigningKey) (last *SigningKey) {
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

// insertKey inserts a key, and extends the turn of the key before if it would end before the new key signs.
func insertKey(ctx context.Context, q *query.Queries, keys []SigningKey, key SigningKey, actor string) error {
	// A key without a lead is made because none signs. A key with a lead follows another one, which signs until then.
	if last := lastKey(keys); last != nil && key.Lead > 0 && last.SignUntil.Before(key.SignFrom) {
		if err := setTurn(ctx, q, *last, last.SignFrom, key.SignFrom, key.Overlap); err != nil {
			return err
		}
	}
	m := key.Material
	if err := q.InsertKey(ctx, query.InsertKeyParams{
		Kid: m.KID, Alg: m.Alg, PublicJwk: m.PublicJWK, SealedPrivate: m.Sealed, SealedBy: m.SealedBy,
		PublishAt: key.PublishAt, SignFrom: key.SignFrom, SignUntil: key.SignUntil, VerifyUntil: key.VerifyUntil,
		Lead: key.Lead, Overlap: key.Overlap,
	}); err != nil {
		return err
	}
	return logKey(ctx, q, "key.made", m.KID, actor)
}

// advanceNextKey ends the signing key's turn as soon as the next key may sign, in the rows and in keys. Without a next
// key it does nothing: RotateKeys is about to make one.
func advanceNextKey(ctx context.Context, q *query.Queries, keys []SigningKey, now time.Time, policy KeyPolicy,
	actor string) error {
	signing, next := signingKey(keys, now), lastKey(keys)
	// The last key is the signing one: there is no next key.
	if signing == nil || !now.Before(next.SignFrom) {
		return nil
	}
	from := laterTime(now, next.PublishAt.Add(next.Lead))
	if !from.Before(next.SignFrom) {
		return nil // its turn cannot be any earlier
	}
	until := from.Add(policy.Period)
	if err := setTurn(ctx, q, *signing, signing.SignFrom, from, policy.Overlap); err != nil {
		return err
	}
	if err := setTurn(ctx, q, *next, from, until, policy.Overlap); err != nil {
		return err
	}
	// dueTurn decides on these keys next.
	signing.SignUntil, next.SignFrom, next.SignUntil = from, from, until
	return logKey(ctx, q, "key.advanced", next.Material.KID, actor)
}

// setTurn sets from when until when a key signs, and how long it is published afterwards.
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

// ResealKey replaces a sealed private key, old, by the same key sealed with the key-encryption key that sealedBy names.
// done is false when old is not the stored one any more. Errors: Unavailable.
func (s *Store) ResealKey(ctx context.Context, kid string, old, sealed []byte,
	sealedBy string) (done bool, err error) {
	n, err := s.q.ResealKey(ctx,
		query.ResealKeyParams{Kid: kid, OldSealed: old, SealedPrivate: sealed, SealedBy: sealedBy})
	return n == 1, frame.Classify(err)
}

// PruneKeys deletes signing keys for which no valid token has existed for keep. Errors: Unavailable.
func (s *Store) PruneKeys(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneKeys(ctx, keep)
	return int(n), frame.Classify(err)
}
