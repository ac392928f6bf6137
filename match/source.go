package match

// Source says who vouches for a value of a player. A stronger source is greater: it satisfies a rule that asks for a
// weaker one.
type Source uint8

// The sources of values.
const (
	FromClient  Source = iota // the player's own client, on its word; also every value that names no source
	FromClaim                 // a claim of the player's access token, which the identity provider has signed
	FromBackend               // the studio's backend, or a client of Open Match
)

// String returns the word of profiles, explanations and rosters: client, claim or backend.
func (s Source) String() string {
	switch s {
	case FromClaim:
		return "claim"
	case FromBackend:
		return "backend"
	default: // FromClient
		return "client"
	}
}
