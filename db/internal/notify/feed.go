package notify

import (
	"slices"
	"sync"
)

// Feed is a subscription to the notices about a set of keys that changes. It remembers which of its keys had notices,
// so its memory is bounded by the keys that it watches. It is safe for concurrent use.
type Feed struct {
	listener *listener
	notice   notice
	wake     chan struct{}

	mu          sync.Mutex
	watchedKeys map[string][]string // keys by their shortened form
	wokenKeys   map[string]struct{} // shortened keys that had notices since the last TakeKeys
	isForAll    bool                // there was a notice about all keys since then
}

// Watch adds a key. Notices that came before are not repeated: read what is new about the key after this call.
func (f *Feed) Watch(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	short := shorten(key)
	if !slices.Contains(f.watchedKeys[short], key) {
		f.watchedKeys[short] = append(f.watchedKeys[short], key)
	}
}

// Unwatch removes a key.
func (f *Feed) Unwatch(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	short := shorten(key)
	left := slices.DeleteFunc(f.watchedKeys[short], func(k string) bool { return k == key })
	if len(left) > 0 {
		f.watchedKeys[short] = left
		return
	}
	delete(f.watchedKeys, short)
	delete(f.wokenKeys, short)
}

// Wake returns a wake-up channel that holds one signal: there may be something to take.
func (f *Feed) Wake() <-chan struct{} { return f.wake }

// TakeKeys returns the keys that had notices since the last call. Keys with the same shortened form are returned
// together. all: there may be something new about each key, and keys is empty.
func (f *Feed) TakeKeys() (keys []string, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all = f.isForAll
	if !all {
		for short := range f.wokenKeys {
			keys = append(keys, f.watchedKeys[short]...)
		}
	}
	f.isForAll = false
	clear(f.wokenKeys)
	return keys, all
}

// Stop ends the subscription.
func (f *Feed) Stop() { f.listener.removeFeed(f) }

// addNotice adds a notice about shortened keys, and wakes the subscriber if the feed watches one of them; no keys mean
// all.
func (f *Feed) addNotice(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	isAboutAll := len(keys) == 0
	hasNews := isAboutAll
	f.isForAll = f.isForAll || isAboutAll
	for _, k := range keys {
		if _, watched := f.watchedKeys[k]; watched {
			f.wokenKeys[k] = struct{}{}
			hasNews = true
		}
	}
	if !hasNews {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default: // a signal is in the channel already
	}
}
