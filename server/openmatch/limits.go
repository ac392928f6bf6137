package openmatch

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

const (
	// maxMessage bounds, in bytes, what a caller may send at once. It is what gRPC's clients take by default, too.
	maxMessage = 4 << 20
	// maxPage bounds, in bytes, a message of a query: grpc's clients refuse more than 4 MiB unless told otherwise.
	maxPage = 3_500 << 10
	// maxHeaders bounds, in bytes, the metadata of a call.
	maxHeaders = 32 << 10
	// maxPlayer bounds, in bytes, what an index can hold of a player's name.
	maxPlayer = 512
)

// checkSize refuses what would fill the queue of everybody.
func (o Options) checkSize(what string, m proto.Message) error {
	if n := proto.Size(m); n > o.MaxTicket {
		return invalid(fmt.Sprintf("%s has %d bytes, more than the %d that are allowed", what, n, o.MaxTicket))
	}
	return nil
}
