package db

import (
	"maps"
	"sync"
	"time"
)

// pooledModes caches which modes pools serve. A mode that is missing for a second only costs demand that lapses instead
// of being removed at once. Safe for concurrent use.
type pooledModes struct {
	mu           sync.Mutex
	byRegionMode map[regionMode]bool // replaced, never changed
	readAt       time.Time
}

type regionMode struct{ region, mode string }

const pooledModesAge = time.Second

func (p *pooledModes) current() (_ map[regionMode]bool, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byRegionMode, time.Since(p.readAt) < pooledModesAge
}

// learn adds a mode to what is known until the next reading.
func (p *pooledModes) learn(region, mode string) {
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
