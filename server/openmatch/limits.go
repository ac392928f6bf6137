package openmatch

const (
	// maxMessage bounds, in bytes, a message that a caller sends. gRPC's clients have the same limit by default.
	maxMessage = 4 << 20
	// maxPage bounds, in bytes, a message of a query: gRPC's clients refuse more than 4 MiB by default.
	maxPage = 3_500 << 10
	// maxGatewayPage bounds, in bytes, a message of a query over REST, which the gateway decodes and encodes as JSON.
	maxGatewayPage = 128 << 10
	// maxStreams bounds the calls at a time on a connection; more wait in the client. Frontends watch the tickets of
	// thousands of players on one.
	maxStreams = 16_384
	// maxHeaders bounds, in bytes, the metadata of a call.
	maxHeaders = 32 << 10
	// maxPlayer bounds, in bytes, a player's name: an index of Postgres holds it.
	maxPlayer = 512
)
