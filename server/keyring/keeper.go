// Package keyring keeps the signing keys of the key table in memory, opened: play signs session tokens with them, infra
// publishes them. It decides nothing about keys: which one signs when is said by their rows (queries/key.sql), how
// tokens are made by package token. It runs no loop of its own; server calls [Keeper.Refresh].
package keyring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

// Store is what of db.Store a [Keeper] needs.
type Store interface {
	Keys(ctx context.Context) ([]db.SigningKey, time.Time, error)
	RotateKeys(ctx context.Context, policy db.KeyPolicy, force bool, mint db.MintFunc) ([]db.SigningKey, error)
}

// Keeper holds the last keys that could be read, for as long as no newer ones can be. Safe for concurrent use.
type Keeper struct {
	store    Store
	sealer   *token.Sealer
	mint     db.MintFunc
	schedule Schedule
	wanted   chan struct{}
	mu       sync.Mutex // one Refresh at a time
	last     atomic.Pointer[reading]
	refused  atomic.Pointer[error] // why the last reading was, where a key could not be opened; nil: it was not
}

// reading is one look at the key table. It never changes.
type reading struct {
	ring *token.Ring
	keys []token.Key
	at   time.Time // by the database's clock
	seen time.Time // the same moment by ours, for what has passed since: this clock may be wrong, but it goes on
}

// New makes a Keeper without keys: Refresh reads them, and makes the first ones for alg (token.AlgEdDSA or
// token.AlgEd25519) where there are none.
func New(store Store, sealer *token.Sealer, alg string, schedule Schedule) *Keeper {
	return &Keeper{
		store: store, sealer: sealer, mint: keymint.With(sealer, alg), schedule: schedule.withDefaults(), wanted: make(chan struct{}, 1),
	}
}

// Refresh reads the keys and, where none will sign any moment, makes one itself: that is a worker's job, but tokens
// cannot wait for a worker. On an error the last good keys stay in use. Errors: token.ErrSealed for a key that no
// configured key-encryption key opens, db.Unavailable.
func (k *Keeper) Refresh(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.read(ctx)
	if err != nil || !k.runsOut() {
		return err
	}
	if _, err := k.store.RotateKeys(ctx, k.schedule.Policy(), false, k.mint); err != nil {
		return err
	}
	return k.read(ctx)
}

func (k *Keeper) read(ctx context.Context) error {
	seen := time.Now()
	rows, at, err := k.store.Keys(ctx)
	if err != nil {
		return err
	}
	keys := make([]token.Key, len(rows))
	for i, row := range rows {
		keys[i] = turn(row)
	}
	ring, err := token.NewRing(keys, k.sealer, at, k.schedule.margins().MaxStale)
	if err != nil {
		k.refused.Store(&err)
		return err
	}
	k.refused.Store(nil)
	k.last.Store(&reading{ring: ring, keys: keys, at: at, seen: seen})
	return nil
}

// turn takes a row's turn in whole seconds, as tokens count them: a token issued in the second in which a key's turn
// begins says that it was issued at the start of that second.
func turn(row db.SigningKey) token.Key {
	return token.Key{
		Material:  token.Material(row.KeyMaterial),
		PublishAt: row.PublishAt, VerifyUntil: row.VerifyUntil,
		SignFrom: row.SignFrom.Truncate(time.Second), SignUntil: row.SignUntil.Truncate(time.Second),
	}
}

// runsOut looks two readings ahead, so that a turn that nobody follows is continued before it ends.
func (k *Keeper) runsOut() bool {
	r := k.last.Load()
	_, err := r.ring.Signer(r.now().Add(2 * k.schedule.Refresh))
	return err != nil
}

// now is the database's time.
func (r *reading) now() time.Time { return r.at.Add(time.Since(r.seen)) }

// Every is how often Refresh wants to be called.
func (k *Keeper) Every() time.Duration { return k.schedule.Refresh }

// Wanted receives when a token could not be signed: do not wait any longer to call Refresh.
func (k *Keeper) Wanted() <-chan struct{} { return k.wanted }

// MaxAge is for how long verifiers may keep the key set.
func (k *Keeper) MaxAge() time.Duration { return k.schedule.MaxAge }

// Sign makes the session token of c. Only c.IssuedAt, which is the database's time (db.Resolved), decides which key
// signs and whether the keys were read too long ago: this machine's clock has no say. Errors: db.Unavailable when no
// key can be used.
func (k *Keeper) Sign(c token.SessionClaims) (string, error) {
	r := k.last.Load()
	if r == nil {
		return "", k.unusable(errNoReading)
	}
	raw, err := r.ring.Sign(c.IssuedAt, c)
	if errors.Is(err, token.ErrNoKey) || errors.Is(err, token.ErrStale) {
		return "", k.unusable(err)
	}
	return raw, err
}

var errNoReading = errors.New("the signing keys could not be read yet")

func (k *Keeper) unusable(err error) error {
	select {
	case k.wanted <- struct{}{}:
	default:
	}
	return &db.Error{Kind: db.Unavailable, Code: "unavailable", Detail: "no signing key can be used now", RetryAfter: time.Second, Err: err}
}

// Usable is nil when a token could be signed now, else it says why not.
func (k *Keeper) Usable() error {
	r := k.last.Load()
	if r == nil {
		if why := k.refused.Load(); why != nil {
			return fmt.Errorf("%w: %w", errNoReading, *why)
		}
		return errNoReading
	}
	_, err := r.ring.Signer(r.now())
	return err
}

// JWKS is the key set to publish now, and its entity tag as the ETag header wants it. It needs no database, once keys
// were read. Errors: db.Unavailable while there is no key to publish: verifiers would keep an empty set.
func (k *Keeper) JWKS() (document []byte, etag string, err error) {
	r := k.last.Load()
	if r == nil {
		return nil, "", k.unusable(errNoReading)
	}
	now := r.now()
	if r.published(now) == 0 {
		return nil, "", k.unusable(token.ErrNoKey)
	}
	document, etag = r.ring.JWKS(now)
	return document, etag, nil
}

func (r *reading) published(now time.Time) (n int) {
	for _, key := range r.keys {
		if !now.Before(key.PublishAt) && now.Before(key.VerifyUntil) {
			n++
		}
	}
	return n
}

// State is what is to be seen of a Keeper from outside.
type State struct {
	Age       time.Duration // since the keys were read
	Published int           // keys in the key set
	TurnLeft  time.Duration // until another key has to sign; 0 when none signs now
}

// State tells how things stand; ok is false before the first keys were read.
func (k *Keeper) State() (s State, ok bool) {
	r := k.last.Load()
	if r == nil {
		return State{}, false
	}
	now := r.now()
	s = State{Age: now.Sub(r.at), Published: r.published(now)}
	kid, err := r.ring.Signer(now)
	for _, key := range r.keys {
		if err == nil && key.KID == kid {
			s.TurnLeft = key.SignUntil.Sub(now)
		}
	}
	return s, true
}
