package nats

import (
	"maps"
	"slices"
	"strings"
)

// maxSubscriptions of a connection: the plugin needs one.
const maxSubscriptions = 16

// subscriptions are those of one connection, by sid. Not safe for concurrent use.
type subscriptions map[string]*subscription

type subscription struct {
	pattern        string
	deliveredCount int
	endsAfter      int // messages; 0: no limit
}

// addPattern adds a subscription. It returns false if there are too many.
func (s subscriptions) addPattern(sid, pattern string) bool {
	// A subscription with the same sid is replaced, since clients subscribe again with it.
	if s[sid] == nil && len(s) >= maxSubscriptions {
		return false
	}
	s[sid] = &subscription{pattern: pattern}
	return true
}

// endNow ends a subscription.
func (s subscriptions) endNow(sid string) { delete(s, sid) }

// endAfter ends a subscription after that many messages in all, at least one; at once if it has had as many.
func (s subscriptions) endAfter(sid string, messages int) {
	sub := s[sid]
	if sub == nil {
		return
	}
	sub.endsAfter = messages
	if sub.deliveredCount >= messages {
		delete(s, sid)
	}
}

// takeReceivers returns the sids that get a message at a subject, counts the message, and ends subscriptions that have
// had their last one.
func (s subscriptions) takeReceivers(subject string) (sids []string) {
	for _, sid := range slices.Sorted(maps.Keys(s)) {
		sub := s[sid]
		if !matchesPattern(sub.pattern, subject) {
			continue
		}
		sids = append(sids, sid)
		sub.deliveredCount++
		if sub.deliveredCount == sub.endsAfter {
			delete(s, sid)
		}
	}
	return sids
}

// matchesPattern reports whether a subject falls under a pattern: * stands for one token, > at the end for one or more.
func matchesPattern(pattern, subject string) bool {
	wanted, got := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range wanted {
		switch {
		case i >= len(got):
			return false
		case token == ">" && i == len(wanted)-1:
			return true
		case token != "*" && token != got[i]:
			return false
		}
	}
	return len(wanted) == len(got)
}
