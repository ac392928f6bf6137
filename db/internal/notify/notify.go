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
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Channel is the channel of Postgres on which notices travel.
const Channel = "director"

// notice says that there is something new to read about a topic in a region.
type notice struct{ topic, region string }

// payload is a notice as it is sent, with the keys that it is about; none means all. sender lets a replica ignore its
// own notices.
func (n notice) payload(sender string, keys []string) string {
	text := n.topic + ":" + n.region + ":" + sender
	if len(keys) > 0 {
		text += ":" + strings.Join(keys, ",")
	}
	return text
}

// parseNotice reads a payload.
func parseNotice(payload string) (n notice, sender string, keys []string) {
	topic, rest, _ := strings.Cut(payload, ":")
	region, rest, _ := strings.Cut(rest, ":")
	sender, list, keyed := strings.Cut(rest, ":")
	if keyed {
		keys = strings.Split(list, ",")
	}
	return notice{topic, region}, sender, keys
}

// shorten returns a hash of a key, which is sent in its place. Two keys may have the same hash, which wakes a
// subscriber needlessly.
func shorten(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

func shortenAll(keys []string) []string {
	short := make([]string, len(keys))
	for i, k := range keys {
		short[i] = shorten(k)
	}
	return short
}

// Config says how a [Bus] reaches Postgres.
type Config struct {
	// SendPayload runs NOTIFY on [Channel] with a payload, in a transaction of its own: transactions that notify commit one
	// after the other.
	SendPayload func(ctx context.Context, payload string) error
	// Listen is the connection that listens. It must not lead through a transaction pooler, which passes no notices on.
	Listen *pgx.ConnConfig
	// PrepareConn sets up the listening connection.
	PrepareConn func(context.Context, *pgx.Conn) error
	// OnlyPooler means that only a pooler leads to the database: the bus does not listen, and logs that once.
	OnlyPooler bool
	// UrgentTopics lists the topics whose notices are sent 2 ms after the previous one instead of 10 ms.
	UrgentTopics []string
	Log          *slog.Logger
}

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
// wakes those to one of the keys, and those to the whole topic. It does not block.
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

// waitUntilDone returns after d, or when done is closed.
func waitUntilDone(d time.Duration, done <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-done:
	}
}
