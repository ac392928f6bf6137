// Package token makes and judges the two kinds of token the director deals with, and keeps the keys for it.
//
//   - Session tokens admit a player to a session on a game server. Ring signs them with Ed25519 keys and publishes their
//     public halves as a JWK Set; SessionVerifier judges them on the game server.
//   - Access tokens say who a player is. An identity provider signs them; AccessVerifier judges them.
//
// Sealer makes signing keys and keeps them under key-encryption keys. KeySource keeps a verifier's key set up to date, from
// text, a file or a URL. Margins says how long keys must overlap.
//
// Nothing here knows a database or serves HTTP: the key table and its rotation are in db, refreshing the Ring from it in
// server/keyring, publishing the JWK Set in server/infra.
//
// # Rules every token is held to
//
// Compact JWS only, at most MaxTokenBytes. The header's alg must be in the verifier's allow-list and be one the key is
// for; both are compared before anything is verified. The key is found by kid in the configured set; headers that bring
// a key along (jwk, jku, x5c, x5u) or ask for something we do not know (crit, b64) are refused. exp is required, nbf
// and iat are honoured. A member that comes twice, or with the wrong JSON type, is refused. This follows RFC 8725.
//
// # Why the JWS is taken apart by hand
//
// JWKs are read, written and thumbprinted by jwx, and signatures are the standard library's. In between lie two dots and two
// JSON objects, which jws.go and object.go read themselves. Three reasons. jwx v2 ignores the header's alg when it is given
// a key, so the header has to be parsed first in any case. Of two members with one name it takes the last, without
// a word. And it costs many times the allocations.
// Tests hold both against each other in both directions.
package token
