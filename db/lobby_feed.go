package db

// topicRealtime is the topic of notices about rooms of the realtime lobby, whose uids are keys, and about its sessions, whose ids are keys.
const topicRealtime = "realtime"

// RealtimeFeed is a subscription to the notices about rooms and sessions that its owner watches. It is safe for concurrent use.
type RealtimeFeed struct {
	wake chan struct{}
}

// SubscribeRealtime subscribes to notices about rooms and sessions of a region, by the uid of a room as text and the id of a session. Notices may
// be lost, so poll as well. Call Stop when done.
func (s *Store) SubscribeRealtime(_ string) *RealtimeFeed {
	return &RealtimeFeed{wake: make(chan struct{}, 1)}
}

// Watch adds a key.
func (f *RealtimeFeed) Watch(_ string) {}

// Unwatch removes a key.
func (f *RealtimeFeed) Unwatch(_ string) {}

// Wake returns a channel that holds one signal: Take has something to return.
func (f *RealtimeFeed) Wake() <-chan struct{} { return f.wake }

// Take returns the watched keys for which notices came since the last Take. all: notices may have been lost, or one came for all keys. A key may
// be returned without a notice about it.
func (f *RealtimeFeed) Take() (keys []string, all bool) { return nil, false }

// Stop ends the subscription.
func (f *RealtimeFeed) Stop() {}

// notifyRealtime wakes the subscribers to rooms and sessions. Call it after the commit. Without keys it wakes nobody.
func (s *Store) notifyRealtime(region string, keys ...string) {
	if len(keys) > 0 {
		s.bus.Notify(topicRealtime, region, keys...)
	}
}
