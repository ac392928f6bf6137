package nats

import (
	"context"
	"strings"
	"time"
)

// The subjects of JetStream that are served.
const (
	apiAccount = "$JS.API.INFO"
	apiCreate  = "$JS.API.STREAM.CREATE."
	apiInfo    = "$JS.API.STREAM.INFO."
	apiDirect  = "$JS.API.DIRECT.GET."
	apiPrefix  = "$JS.API."
	kvPrefix   = "$KV."
)

// contextSubject is where the plugin publishes what Edgegap's API says of its server, which the director knows.
const contextSubject = "gameserver.contexts"

// answerRequest answers what was published. An error means that the game server may not stay.
func (g *gameServer) answerRequest(ctx context.Context, op operation, now time.Time) (message, error) {
	switch {
	case op.subject == apiAccount:
		return describeAccount(), nil
	case strings.HasPrefix(op.subject, apiCreate):
		return describeStream(strings.TrimPrefix(op.subject, apiCreate),
			"io.nats.jetstream.api.v1.stream_create_response", errNotHere, now), nil
	case strings.HasPrefix(op.subject, apiInfo):
		return describeStream(strings.TrimPrefix(op.subject, apiInfo), "io.nats.jetstream.api.v1.stream_info_response",
			errNoStream, now), nil
	case strings.HasPrefix(op.subject, apiDirect):
		return g.directGet(ctx, strings.TrimPrefix(op.subject, apiDirect)), nil
	case strings.HasPrefix(op.subject, kvPrefix):
		return g.answerWrite(ctx, op)
	case strings.HasPrefix(op.subject, deletionPrefix):
		return g.recordClient(ctx, queueDeletions, strings.TrimPrefix(op.subject, deletionPrefix), false)
	}
	return noResponders(), nil
}

// describeStream answers the plugin when it makes a stream or asks for one: all streams that it needs exist.
func describeStream(name, kind string, absent apiError, now time.Time) message {
	if _, ok := streamSubjects[name]; !ok {
		return absent.message()
	}
	return infoOf(name, kind, now)
}

// directGet answers "<stream>.<subject>". Other direct reads, which name a number of a message, have nothing to find.
func (g *gameServer) directGet(ctx context.Context, text string) message {
	stream, subject, named := strings.Cut(text, ".")
	if _, ok := streamSubjects[stream]; !ok {
		return noResponders()
	}
	if !named {
		return message{status: "408 Bad Request"}
	}
	return g.readKey(ctx, stream, subject)
}

// answerWrite answers a write of "$KV.<bucket>.<key>".
func (g *gameServer) answerWrite(ctx context.Context, op operation) (message, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(op.subject, kvPrefix), ".")
	stream := "KV_" + bucket
	if _, ok := streamSubjects[stream]; !ok {
		return noResponders(), nil
	}
	if key == "" {
		return errBadKey.message(), nil
	}
	// The writer wants to be the first or the only one, and without revisions every answer could be wrong.
	if op.headerValue("Nats-Expected-Last-Subject-Sequence") != "" {
		return errRevision.message(), nil
	}
	return g.writeKey(ctx, stream, key, op)
}

// callName is the name of a call in the metrics.
func callName(subject string) string {
	switch {
	case strings.HasPrefix(subject, apiDirect):
		return "get"
	case strings.HasPrefix(subject, apiPrefix):
		return "stream"
	case strings.HasPrefix(subject, kvPrefix), strings.HasPrefix(subject, deletionPrefix):
		return "put"
	case subject == contextSubject:
		return "context"
	}
	return "other"
}
