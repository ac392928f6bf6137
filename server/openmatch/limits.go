package openmatch

import (
	"time"

	"github.com/lattice-director/director/db"
)

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

// window is the flow-control window, in bytes, of a call and of a connection. It is fixed, because gRPC's dynamic
// window costs a ping in both directions for nearly every call.
const window = 1 << 20

// sendTimeout is how long a client may leave unread what is sent to it.
const sendTimeout = 30 * time.Second

const (
	// readingBytes is the share of QueryMemory that a query holds while it reads: the rows, and the pages made from
	// them.
	readingBytes = 2 * db.QueryBytes
	// memoryWait bounds how long a query waits for that share.
	memoryWait = 2 * time.Second
)
