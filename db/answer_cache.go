package db

import (
	"sync"
	"time"
)

// answerCache caches answers of the database for a second, by region. Safe for concurrent use.
type answerCache struct {
	mu       sync.Mutex
	byRegion map[string]cachedAnswer // of the regions of this replica's tickets
}

type cachedAnswer struct {
	isYes  bool
	readAt time.Time
}

func (r *answerCache) get(region string, ask func() (bool, error)) (bool, error) {
	// The lock is released while it asks: a slow database must not delay other regions.
	r.mu.Lock()
	last, ok := r.byRegion[region]
	r.mu.Unlock()
	if ok && time.Since(last.readAt) < time.Second {
		return last.isYes, nil
	}
	yes, err := ask()
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRegion == nil {
		r.byRegion = map[string]cachedAnswer{}
	}
	r.byRegion[region] = cachedAnswer{yes, time.Now()}
	return yes, nil
}
