package db

import (
	"maps"
	"sync"
	"time"
)

// pooledModeCache caches which modes pools serve. While it lacks a mode, for a second, demand for the mode is not
// removed when its players are seated, but lapses. Safe for concurrent use.
type pooledModeCache struct {
	mu           sync.Mutex
	byRegionMode map[regionMode]bool // replaced, never changed
	readAt       time.Time
}

type regionMode struct{ region, mode string }

// maxPooledModeAge is the age at which the cache is read anew.
const maxPooledModeAge = time.Second

func (p *pooledModeCache) current() (_ map[regionMode]bool, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byRegionMode, time.Since(p.readAt) < maxPooledModeAge
}

// replace stores what was read now.
func (p *pooledModeCache) replace(byRegionMode map[regionMode]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byRegionMode, p.readAt = byRegionMode, time.Now()
}

// learn adds a mode until the next reading.
func (p *pooledModeCache) learn(region, mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key := (regionMode{region, mode}); !p.byRegionMode[key] {
		// Cloned, since placements that are under way read the map without the lock.
		p.byRegionMode = maps.Clone(p.byRegionMode)
		if p.byRegionMode == nil {
			p.byRegionMode = map[regionMode]bool{}
		}
		p.byRegionMode[key] = true
	}
}
