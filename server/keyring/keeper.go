// Package keyring keeps the unsealed signing keys in memory: play signs session tokens with them, and infra publishes
// their public halves.
//
// Which key signs? This package does not decide it:
//
//   - queries/key.sql stores when each key signs (sign_from, sign_until); db/key.go plans these times.
//   - token/ring.go picks the key by these times: Ring.Signer.
//   - worker/rotate.go makes the next key in time. [Keeper.Refresh] does so only when no key would be left.
//
// The package runs no loop: server calls [Keeper.Refresh].
package keyring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

// Store is the part of db.Store that a [Keeper] needs.
type Store interface {
	Keys(ctx context.Context) ([]db.SigningKey, time.Time, error)
	RotateKeys(ctx context.Context, r db.SigningKeyRotation) ([]db.SigningKey, error)
}

// Keeper holds the keys of the last good reading of the key table. Safe for concurrent use.
type Keeper struct {
	store           Store
	sealer          *token.Sealer
	mintKey         db.MintFunc
	schedule        Schedule
	refreshRequests chan struct{} // holds a request that nobody has received yet
	mu              sync.Mutex    // held by Refresh, so that one runs at a time
	lastSnapshot    atomic.Pointer[snapshot]
	openErr         atomic.Pointer[error] // why a key of the last reading could not be opened; nil: all could
}

// snapshot is one reading of the key table. It is immutable.
type snapshot struct {
	ring    *token.Ring
	keys    []token.Key
	readAt  time.Time // by the database's clock
	localAt time.Time // by this machine's monotonic clock, just before readAt, to measure the time since
}

// New makes a Keeper without keys. Refresh reads them, and makes the first ones for alg (token.AlgEdDSA or
// token.AlgEd25519) if the table has none.
func New(store Store, sealer *token.Sealer, alg string, schedule Schedule) *Keeper {
	return &Keeper{
		store: store, sealer: sealer, mintKey: keymint.With(sealer, alg), schedule: schedule.withDefaults(),
		refreshRequests: make(chan struct{}, 1),
	}
}

// Refresh reads the keys. If no key will be able to sign soon, it makes one: usually a worker does, but players cannot
// wait for one. After an error the keys of the last good reading stay in use. Errors: token.ErrSealed for a key that no
// configured key-encryption key opens, fault.Unavailable.
func (k *Keeper) Refresh(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.reloadKeys(ctx); err != nil {
		return err
	}
	if !k.willRunOut() {
		return nil
	}
	// Without Force, RotateKeys lets one of several replicas make the key.
	if _, err := k.store.RotateKeys(ctx,
		db.SigningKeyRotation{Policy: k.schedule.Policy(), Mint: k.mintKey}); err != nil {
		return err
	}
	return k.reloadKeys(ctx)
}

// reloadKeys reads the keys and replaces those in memory, unless one of them cannot be opened.
func (k *Keeper) reloadKeys(ctx context.Context) error {
	// The local time is taken before the call, so that databaseNow may be ahead by the time that the call takes, but not
	// behind: a key would sign for too long.
	localAt := time.Now()
	rows, readAt, err := k.store.Keys(ctx)
	if err != nil {
		return err
	}
	keys := make([]token.Key, len(rows))
	for i, row := range rows {
		keys[i] = inWholeSeconds(row)
	}
	ring, err := token.NewRing(keys, k.sealer, readAt, k.schedule.tokenMargins().MaxStale)
	// After an error the keys of the last good reading stay: this replica still signs while an operator corrects its
	// key-encryption key.
	if err != nil {
		k.openErr.Store(&err)
		return err
	}
	k.openErr.Store(nil)
	k.lastSnapshot.Store(&snapshot{ring: ring, keys: keys, readAt: readAt, localAt: localAt})
	return nil
}

// inWholeSeconds truncates the signing times of a row, because tokens hold whole seconds: the iat of a token that is
// issued in the second in which a key starts to sign is the start of that second.
func inWholeSeconds(row db.SigningKey) token.Key {
	return token.Key{
		Material:  token.Material(row.Material),
		PublishAt: row.PublishAt, VerifyUntil: row.VerifyUntil,
		SignFrom: row.SignFrom.Truncate(time.Second), SignUntil: row.SignUntil.Truncate(time.Second),
	}
}

// willRunOut reports whether no key can sign two refreshes from now, so that a missing successor is made before its
// turn.
func (k *Keeper) willRunOut() bool {
	s := k.lastSnapshot.Load()
	_, err := s.ring.Signer(s.databaseNow().Add(2 * k.schedule.RefreshEvery))
	return err != nil
}

// databaseNow returns the time by the database's clock.
func (s *snapshot) databaseNow() time.Time { return s.readAt.Add(time.Since(s.localAt)) }

// RefreshInterval returns the interval in which Refresh should be called.
func (k *Keeper) RefreshInterval() time.Duration { return k.schedule.RefreshEvery }

// RefreshRequests returns a channel that receives when a token could not be signed, so that Refresh should be called at
// once.
func (k *Keeper) RefreshRequests() <-chan struct{} { return k.refreshRequests }

// MaxAge returns how long verifiers may cache the key set.
func (k *Keeper) MaxAge() time.Duration { return k.schedule.MaxAge }

// Sign makes the session token of c. The database's time c.IssuedAt (see db.Resolved) decides which key signs and
// whether the keys were read too long ago; this machine's clock is not used. Errors: fault.Unavailable when no key can
// sign.
func (k *Keeper) Sign(c token.SessionClaims) (string, error) {
	s := k.lastSnapshot.Load()
	if s == nil {
		return "", k.requestRefresh(errNotRead)
	}
	raw, err := s.ring.Sign(c.IssuedAt, c)
	if errors.Is(err, token.ErrNoKey) || errors.Is(err, token.ErrStale) {
		return "", k.requestRefresh(err)
	}
	return raw, err
}

var errNotRead = errors.New("the signing keys could not be read yet")

// requestRefresh requests a refresh, because no key could be used, and returns the error for the caller.
func (k *Keeper) requestRefresh(err error) error {
	select {
	case k.refreshRequests <- struct{}{}:
	default: // a request is pending, which serves this call as well
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "no signing key can be used now",
		RetryAfter: time.Second, Err: err}
}

// Usable returns nil when a token could be signed now, else the reason why not.
func (k *Keeper) Usable() error {
	s := k.lastSnapshot.Load()
	if s == nil {
		if openErr := k.openErr.Load(); openErr != nil {
			return fmt.Errorf("%w: %w", errNotRead, *openErr)
		}
		return errNotRead
	}
	_, err := s.ring.Signer(s.databaseNow())
	return err
}

// JWKS returns the key set to publish now, and its entity tag, quoted for the ETag header. Once keys were read it needs
// no database. Errors: fault.Unavailable when there is no key to publish, because verifiers would cache an empty set.
func (k *Keeper) JWKS() (document []byte, etag string, err error) {
	s, now, err := k.publishableSnapshot()
	if err != nil {
		return nil, "", err
	}
	document, etag = s.ring.JWKS(now)
	return document, etag, nil
}

// WebhookKeySet returns the keys that verify webhooks now, and its entity tag, as [Keeper.JWKS] does.
func (k *Keeper) WebhookKeySet() (document []byte, etag string, err error) {
	s, now, err := k.publishableSnapshot()
	if err != nil {
		return nil, "", err
	}
	return s.ring.WebhookKeySet(now)
}

// publishableSnapshot returns the last reading, if it has a key to publish now. Errors: fault.Unavailable.
func (k *Keeper) publishableSnapshot() (s *snapshot, now time.Time, err error) {
	if s = k.lastSnapshot.Load(); s == nil {
		return nil, now, k.requestRefresh(errNotRead)
	}
	// The database's clock decides, so that all replicas publish the same keys at the same time.
	now = s.databaseNow()
	if s.countPublished(now) == 0 {
		return nil, now, k.requestRefresh(token.ErrNoKey)
	}
	return s, now, nil
}

// countPublished returns how many keys the key set has.
func (s *snapshot) countPublished(now time.Time) (n int) {
	for _, key := range s.keys {
		if !now.Before(key.PublishAt) && now.Before(key.VerifyUntil) {
			n++
		}
	}
	return n
}

// State is the state of a Keeper, for metrics.
type State struct {
	ReadingAge    time.Duration // since the keys were read
	PublishedKeys int           // keys in the key set
	TurnLeft      time.Duration // until another key must sign; 0 when none signs now
}

// CurrentState returns the state now; ok is false before the first keys were read.
func (k *Keeper) CurrentState() (state State, ok bool) {
	s := k.lastSnapshot.Load()
	if s == nil {
		return State{}, false
	}
	now := s.databaseNow()
	state = State{ReadingAge: now.Sub(s.readAt), PublishedKeys: s.countPublished(now)}
	kid, err := s.ring.Signer(now)
	if err != nil {
		return state, true // no key signs now
	}
	for _, key := range s.keys {
		if key.Material.KID == kid {
			state.TurnLeft = key.SignUntil.Sub(now)
		}
	}
	return state, true
}
