package nats

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// What the buckets and the queue of the plugin mean.

// clientOf reads a client id: a number from 1 to 2^63 - 1 without leading zeros, so that each has one form.
func clientOf(text string) (uint64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return uint64(n), err == nil && n > 0 && decimalText(uint64(n)) == text
}

// connectionKey returns the key of a connection: the session, and the client's id, since several clients may be in a
// session. The plugin knows nothing else when it deletes the key.
func connectionKey(session string, client uint64) string { return session + "." + decimalText(client) }

// clientOfKey reads the client id behind the last dot: a session's id has one, too.
func clientOfKey(key string) (uint64, bool) { return clientOf(key[strings.LastIndexByte(key, '.')+1:]) }

// What stands for a session: without one, the plugin panics, with everybody on it.
const (
	unknownSession    = "unknown"    // the client has no connect token for this game server
	unverifiedSession = "unverified" // the database is unavailable
)

// readSessionKey reads sessions_ly2eg[client id], by which the plugin asks who a client is.
func (g *gameServer) readSessionKey(ctx context.Context, subject, key string) message {
	client, ok := clientOf(key)
	if !ok {
		return noEntry()
	}
	session, err := g.awaitSession(ctx, client)
	if err != nil {
		session = unverifiedSession
	} else if session == "" {
		session = unknownSession
	}
	return entryMessage(bucketSessions, subject, connectionKey(session, client), 1, time.Now())
}

// readKey reads a key of a bucket.
func (g *gameServer) readKey(ctx context.Context, stream, subject string) message {
	key, found := strings.CutPrefix(subject, strings.TrimSuffix(streamSubjects[stream], ">"))
	if !found {
		return noEntry()
	}
	switch stream {
	case bucketSessions:
		return g.readSessionKey(ctx, subject, key)
	case bucketConnections:
		if client, ok := clientOfKey(key); ok && g.isHere(client) {
			return entryMessage(stream, subject, decimalText(client), 1, time.Now())
		}
	case bucketDigests:
		if digest := g.currentDigest(); digest != "" {
			return entryMessage(stream, subject, digest, 1, time.Now())
		}
	}
	return noEntry()
}

// writeKey writes a key of a bucket, or deletes it. Errors: those of settlePending.
func (g *gameServer) writeKey(ctx context.Context, stream, key string, op operation) (answer message, err error) {
	isDeletion := op.headerValue("KV-Operation") != "" // DEL or PURGE
	switch stream {
	case bucketConnections:
		return g.recordClient(ctx, stream, key, !isDeletion)
	case bucketDigests:
		if isDeletion {
			return g.ackMessage(stream), nil
		}
		if !isDigest(string(op.payload)) {
			return errBadValue.message(), nil
		}
		g.reportDigest(string(op.payload))
		return g.ackMessage(stream), g.settlePending(ctx)
	}
	return errNotHere.message(), nil
}

// recordClient records that a client has joined or left, and answers the write to the stream.
func (g *gameServer) recordClient(ctx context.Context, stream, key string, isHere bool) (message, error) {
	client, ok := clientOfKey(key)
	if !ok {
		return errBadKey.message(), nil
	}
	isCounted := g.changeClient(client, isHere)
	if !isCounted {
		return errTooMany.message(), nil
	}
	return g.ackMessage(stream), g.settlePending(ctx)
}

// ackMessage answers a write, with a number that grows.
func (g *gameServer) ackMessage(stream string) message {
	return jsonMessage(publishAck{stream, uint64(g.lastSequence())})
}

// isDigest reports whether a text is a SHA-256 in hex, with or without colons.
func isDigest(text string) bool {
	hex := strings.ReplaceAll(text, ":", "")
	return len(hex) == 64 && strings.Trim(hex, "0123456789abcdefABCDEF") == "" && len(text) < 128
}
