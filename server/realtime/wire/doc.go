// Package wire is the form of what clients of the realtime lobby send and get: frames in two codecs, the envelope of a
// request, and the failures that answer it. It knows no connection and no store.
//
//   - value.go: what a payload may contain, and how much of it; codec.go, codec_json.go, codec_msgpack.go: the codecs;
//     negotiate.go: which of them a connection uses
//   - envelope.go: a frame of a client, and the fields that several messages have; outgoing.go: a
//     message of the director, and the answers to requests
//   - codes.go, errors.go, hints.go: why a message had no effect, and what the author of a client can do about it
//   - shared.go: a frame for several clients
package wire
