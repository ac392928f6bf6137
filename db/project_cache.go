package db

import (
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// projectCaches holds those facts of projects and their keys that never change.
type projectCaches struct {
	regionsByProject foreverCache[string, string]
	secretsByKey     foreverCache[projectKeyName, []byte] // the secrets are sealed
}

const (
	// maxCached bounds the entries of a cache, about 2 MiB. A cache that is full is emptied.
	maxCached = 10_000
	// missingFor is how long a missing row is remembered, so that many clients that name it cost few queries.
	missingFor = time.Second
)

// foreverCache caches rows that never change once they exist. The zero value is empty. Safe for concurrent use.
type foreverCache[K comparable, V any] struct {
	mu          sync.Mutex
	knownValues map[K]V
	missingKeys map[K]missed
}

type missed struct {
	err      error
	missedAt time.Time
}

// get returns the cached value of a key, or the value that read returns, which it caches. Of the errors of read it
// caches only NotFound.
func (c *foreverCache[K, V]) get(key K, read func() (V, error)) (V, error) {
	if v, err, ok := c.lookup(key); ok {
		return v, err
	}
	// Not under mu: callers that miss at the same time all read, and get equal values.
	v, err := read()
	switch {
	case err == nil:
		c.put(key, v)
	case fault.Is(err, fault.NotFound):
		c.putMissing(key, err)
	}
	return v, err
}

func (c *foreverCache[K, V]) lookup(key K) (v V, err error, ok bool) { //nolint:revive // err is what was cached
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok = c.knownValues[key]
	if ok {
		return v, nil, true
	}
	last, ok := c.missingKeys[key]
	return v, last.err, ok && time.Since(last.missedAt) < missingFor
}

func (c *foreverCache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.knownValues == nil || len(c.knownValues) >= maxCached {
		c.knownValues = map[K]V{}
	}
	c.knownValues[key] = v
}

func (c *foreverCache[K, V]) putMissing(key K, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Clients can make up any number of keys: the bound holds for these as well.
	if c.missingKeys == nil || len(c.missingKeys) >= maxCached {
		c.missingKeys = map[K]missed{}
	}
	c.missingKeys[key] = missed{err, time.Now()}
}
