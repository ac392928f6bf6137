// Package realtimetest is a strict client of the realtime lobby for tests. It behaves as the TypeScript SDK of Nexis
// does (acks, resyncs, states by patches, RPCs by rid) and records a violation where that SDK would lose a message, end
// its process, or wait for ever: a 64-bit integer, a path of two segments, a gap that no snapshot has healed, a
// checksum that differs, a frame right behind handshake.ok, a rid without an answer. Its codecs and checksums share no
// code with the server.
package realtimetest
