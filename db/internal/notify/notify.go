// Package notify wakes subscribers on all replicas through LISTEN and NOTIFY. A notice names a topic and a region,
// perhaps with the keys of what changed, and has no content: a subscriber that wakes up reads what is new from the
// tables. A notice may arrive twice and may be lost, so subscribers also poll.
//
// The [listener] holds one connection, which receives the notices of other replicas. The [notifier] sends notices, and
// merges those that come in quick succession.
package notify

import (
	"context"
	"crypto/rand"
	"log/slog"
)

// Bus sends and receives notices. It is safe for concurrent use.
type Bus struct {
	listener *listener
	notifier *notifier
}

// New makes a bus. It connects when the first subscriber comes.
func New(cfg Config) *Bus {
	sender := rand.Text()
	b := &Bus{}
	b.notifier = newNotifier(func(ctx context.Context, n notice, keys []string) {
		if err := cfg.SendPayload(ctx, n.payload(sender, keys)); err != nil {
			cfg.Log.LogAttrs(ctx, slog.LevelDebug, "other replicas find out by polling: they could not be notified",
				slog.String("topic", n.topic), slog.String("region", n.region), slog.Any("error", err))
		}
	}, cfg.Log)
	b.notifier.urgentTopics = cfg.UrgentTopics
	b.listener = newListener(cfg, sender, func() { b.notifier.markNotice(notice{topic: topicEcho}, nil) })
	return b
}

// Notify wakes the subscribers to a topic in a region, on this replica at once and then on all others. With keys it
// wakes only the subscribers to one of the keys and those to the whole topic. It does not block.
func (b *Bus) Notify(topic, region string, keys ...string) {
	n, short := notice{topic, region}, shortenAll(keys)
	b.listener.wakeSubscribers(n, short)
	b.notifier.markNotice(n, short)
}

// Subscribe returns a wake-up channel that holds one signal: there may be something new about the topic in the region.
// It also wakes when notices may have been lost, which is each time the listening connection is made. Call stop when
// done.
func (b *Bus) Subscribe(topic, region string) (wake <-chan struct{}, stop func()) {
	return b.subscribe(notice{topic, region}, wholeTopic)
}

// SubscribeKey is Subscribe for the notices about one key.
func (b *Bus) SubscribeKey(topic, region, key string) (wake <-chan struct{}, stop func()) {
	return b.subscribe(notice{topic, region}, shorten(key))
}

func (b *Bus) subscribe(n notice, key string) (wake <-chan struct{}, stop func()) {
	sub := &subscription{notice: n, shortKey: key, wake: make(chan struct{}, 1)}
	b.listener.addSubscription(sub)
	return sub.wake, func() { b.listener.removeSubscription(sub) }
}

// Close closes the listening connection and returns when all notices have been sent.
func (b *Bus) Close() {
	b.listener.close()
	b.notifier.close()
}

// SubscribeKeys returns a feed of the notices of a topic in a region. It watches no keys yet. Like other subscriptions
// it wakes when notices may have been lost. Call Stop when done.
func (b *Bus) SubscribeKeys(topic, region string) *Feed {
	f := &Feed{
		listener: b.listener, notice: notice{topic, region}, wake: make(chan struct{}, 1),
		watchedKeys: map[string][]string{}, wokenKeys: map[string]struct{}{},
	}
	b.listener.addFeed(f)
	return f
}
