package db

import (
	"sync"
	"time"
)

// answerCache caches the answers of the database to a yes-or-no question about a region, for a second. It is safe for
// concurrent use.
type answerCache struct {
	mu       sync.Mutex
	byRegion map[string]cachedAnswer
}

type cachedAnswer struct {
	isYes  bool
	readAt time.Time
}

// get returns the answer for a region, and asks if the cached one is older than a second. Errors: those of ask.
func (c *answerCache) get(region string, ask func() (bool, error)) (bool, error) {
	// The lock is not held during ask: a slow database must not delay other regions.
	c.mu.Lock()
	last, ok := c.byRegion[region]
	c.mu.Unlock()
	if ok && time.Since(last.readAt) < time.Second {
		return last.isYes, nil
	}
	yes, err := ask()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRegion == nil {
		c.byRegion = map[string]cachedAnswer{}
	}
	c.byRegion[region] = cachedAnswer{yes, time.Now()}
	return yes, nil
}
