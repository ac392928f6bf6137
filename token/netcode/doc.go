// Package netcode mints the connect tokens of the netcode protocol, version 1.02, which game servers of Lightyear and
// of the reference library accept. It knows no database and no network.
//
// A token has 2,048 bytes. Its public part tells the client which addresses it dials, for how long the token is valid,
// and the two keys of the connection. Its private part tells the server the same, adds the client id and 256 bytes of
// user data, and is encrypted with the key that the minter shares with the server. Whoever holds a token can use it, so
// tokens and keys are not printed: [Key] and [Token] show a placeholder in every format of fmt, in slog and in JSON.
//
// # Dialects
//
// Implementations of the same version string disagree about byte order, so the dialect is a setting of the game version
// and is never guessed. A token in the wrong dialect is dropped silently by the server; see [Dialect].
//
// # Two lists of addresses
//
// The public list is what players dial, in turn. A server accepts a token only if its own address is in the private
// list. Behind NAT these differ: [PrivateList] makes the private list of such a server.
package netcode
