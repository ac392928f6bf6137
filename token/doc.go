// Package token signs and verifies the two kinds of token that the director uses, and handles their keys.
//
//   - Session tokens admit a player to a session on a game server. Ring signs them with Ed25519 keys and publishes the
//     public keys as a JWK Set. SessionVerifier verifies them on the game server.
//   - Access tokens identify a player. An identity provider signs them and AccessVerifier verifies them.
//
// Sealer makes signing keys and encrypts them with key-encryption keys. KeySource keeps a verifier's key set up to
// date, from text, a file or a URL. Margins computes how long keys must overlap.
//
// Package netcode below this one mints the connect tokens of another protocol.
//
// # Which key signs?
//
// Ring.signer in ring.go picks it: the newest untainted key whose signing time has come. The times are columns of the
// key table: queries/key.sql reads and writes them, and db/key.go plans them. server/keyring makes a Ring of these rows
// every few seconds, and server/infra serves its JWK Set. This package knows no database and serves no HTTP.
//
// # Rules for every token
//
// Tokens are compact JWS of at most MaxTokenBytes. The header's alg must be in the verifier's allow-list and be one
// that the key is for; both are checked before the signature. The key is looked up by kid in the configured set.
// Headers that carry a key (jwk, jku, x5c, x5u) or need an extension (crit, b64) are refused. exp is required, nbf and
// iat are checked. A member that occurs twice, or has the wrong JSON type, is refused. This follows RFC 8725.
//
// # Why the JWS is parsed here
//
// jwx reads, writes and thumbprints JWKs, and the standard library verifies signatures. jws.go and object.go parse what
// is between: two dots and two JSON objects. jwx v2 ignores the header's alg when it is given a key, so the header has
// to be parsed here anyway. Of two members with one name it silently takes the last. It also allocates many times as
// much. Tests check that jwx accepts our tokens and that we accept those of jwx.
package token
