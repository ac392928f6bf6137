package orchestrator

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// subprotocol is the WebSocket subprotocol that agents offer in addition to their key.
const subprotocol = "rivalis-fleet.v1"

// agentKey describes a key of agents, without the secret itself.
type agentKey struct {
	secretDigest [sha256.Size]byte
	fingerprint  string     // for logs and as the actor of events; set by findKey
	rowID        *uuid.UUID // nil: the key comes from the configuration
	boundName    *string    // the name that each snapshot must have; nil: any
	boundLabels  map[string]string
}

// checkSnapshot returns an error if an agent with this key may not report a snapshot. The error contains no value of
// the snapshot.
func (k agentKey) checkSnapshot(s *snapshot) error {
	if k.boundName != nil && s.name != *k.boundName {
		return refusalError("name is not the one that the key is bound to")
	}
	for label, value := range k.boundLabels {
		if got, has := s.labels[label]; !has || got != value {
			return refusalError("labels lacks one that the key is bound to")
		}
	}
	return nil
}

// ValidKey returns an error if agents cannot send a key. They send it as a subprotocol, which may only have the
// characters of an HTTP token.
func ValidKey(secret string) error {
	for _, c := range []byte(secret) {
		if !isTokenChar(c) {
			return errors.New("a key may only contain letters, digits and !#$%&'*+-.^_`|~")
		}
	}
	switch {
	case len(secret) < minKeyBytes:
		return fmt.Errorf("a key must have at least %d characters", minKeyBytes)
	// A client that offers the subprotocol alone would have this key: see offerOf.
	case strings.EqualFold(secret, subprotocol):
		return errors.New("a key must not be the name of the subprotocol")
	}
	return nil
}

const minKeyBytes = 16

// GoodKeyBytes is the recommended number of characters of a key. Shorter keys are accepted with a warning.
const GoodKeyBytes = 32

func isTokenChar(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// Keys is the part of db.Store that reads the keys of agents.
type Keys interface {
	AgentKeys(ctx context.Context, region string) ([]db.AgentKey, error)
}

// keyring holds the keys of agents: the keys of the configuration, and the rows as last read. Safe for concurrent use.
type keyring struct {
	configuredKeys []agentKey
	rowKeys        atomic.Pointer[[]agentKey] // nil before the first read
}

func newKeyring(secrets []string) *keyring {
	r := &keyring{}
	for _, secret := range secrets {
		r.configuredKeys = append(r.configuredKeys, agentKey{secretDigest: sha256.Sum256([]byte(secret))})
	}
	return r
}

func (r *keyring) setRows(rows []db.AgentKey) {
	keys := make([]agentKey, len(rows))
	for i, row := range rows {
		keys[i] = agentKey{secretDigest: row.Digest, rowID: &row.ID, boundName: row.BoundName,
			boundLabels: row.BoundLabels}
	}
	r.rowKeys.Store(&keys)
}

// isComplete reports whether the rows have been read. Until then, an unknown key may still be valid.
func (r *keyring) isComplete() bool { return r.rowKeys.Load() != nil }

// findKey returns the key with a secret. It takes the same time for each secret, whether and where it matches. Without
// a match, the key has a fingerprint only.
func (r *keyring) findKey(secret string) (found agentKey, ok bool) {
	digest := sha256.Sum256([]byte(secret))
	all := [][]agentKey{r.configuredKeys, nil}
	if rows := r.rowKeys.Load(); rows != nil {
		all[1] = *rows
	}
	for _, keys := range all {
		for i := range keys {
			if subtle.ConstantTimeCompare(keys[i].secretDigest[:], digest[:]) == 1 {
				// No break: the time must not tell where a key stands.
				found, ok = keys[i], true
			}
		}
	}
	found.fingerprint = rest.Fingerprint(secret)
	return found, ok
}

// isRevoked reports whether a key is no longer among the rows.
func (r *keyring) isRevoked(k agentKey) bool {
	rows := r.rowKeys.Load()
	// A key of the configuration is revoked by a restart.
	if k.rowID == nil || rows == nil {
		return false
	}
	for _, row := range *rows {
		if *row.rowID == *k.rowID {
			return false
		}
	}
	return true
}

// offer holds the subprotocols that a handshake offers.
type offer struct {
	secret         string // the first offered subprotocol
	hasSubprotocol bool   // whether rivalis-fleet.v1 is offered
}

func offerOf(h http.Header) offer {
	// HTTP allows a list to be split over several headers.
	entries := strings.Split(strings.Join(h.Values("Sec-WebSocket-Protocol"), ","), ",")
	o := offer{secret: strings.TrimSpace(entries[0])}
	for _, entry := range entries {
		o.hasSubprotocol = o.hasSubprotocol || strings.EqualFold(strings.TrimSpace(entry), subprotocol)
	}
	return o
}

// subprotocols are the subprotocols that the director may select, in order of preference. Node's client fails if none
// is selected.
func (o offer) subprotocols() []string {
	if o.secret == "" {
		return []string{subprotocol}
	}
	return []string{subprotocol, o.secret}
}
