package db

import "github.com/lattice-director/director/db/internal/notify"

// RealtimeFeed is a subscription to notices about rooms and sessions of the realtime lobby that its owner watches. The
// keys are the uid of a room as text and the id of a session. It is safe for concurrent use.
type RealtimeFeed struct{ feed *notify.Feed }

// SubscribeRealtime subscribes to notices about rooms and sessions of a region, and watches none yet. Notices may be
// lost, so poll as well. Call Stop when done.
func (s *Store) SubscribeRealtime(region string) *RealtimeFeed {
	return &RealtimeFeed{s.noticeBus.SubscribeKeys(TopicRealtime, region)}
}

// Watch adds a key. Read what is new about it after this call: earlier notices are not repeated.
func (f *RealtimeFeed) Watch(key string) { f.feed.Watch(key) }

// Unwatch removes a key.
func (f *RealtimeFeed) Unwatch(key string) { f.feed.Unwatch(key) }

// Wake returns a channel that holds one signal: Take has something to return.
func (f *RealtimeFeed) Wake() <-chan struct{} { return f.feed.Wake() }

// Take returns the watched keys that had notices since the last call; some may have had none. all: there may be
// something new about each key, and keys is empty.
func (f *RealtimeFeed) Take() (keys []string, all bool) { return f.feed.TakeKeys() }

// Stop ends the subscription.
func (f *RealtimeFeed) Stop() { f.feed.Stop() }

// notifyRealtime wakes the subscribers to rooms and sessions of a region. Call it after the commit. Without keys it
// wakes nobody.
func (s *Store) notifyRealtime(region string, keys ...string) {
	if len(keys) > 0 {
		s.noticeBus.Notify(TopicRealtime, region, keys...)
	}
}
