package notify

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Channel is the channel of Postgres on which notices travel.
const Channel = "director"

// notice says that there is something new to read about a topic in a region.
type notice struct{ topic, region string }

// payload returns the notice as it is sent, with the keys that it is about; no keys mean all. sender lets a replica
// ignore its own notices.
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

// shorten returns a hash of a key, which is sent in place of the key: the hash is short, and has none of the separators
// of a payload. Two keys may have the same hash, which only wakes a subscriber needlessly.
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
