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
	// maxInsidePage bounds, in bytes, a message of a query over REST: the gateway makes objects of it, and JSON of those.
	maxInsidePage = 128 << 10
	// maxStreams bounds the calls at a time on a connection; more wait in the client. Frontends watch the tickets of thousands of
	// players on one.
	maxStreams = 16_384
	// maxHeaders bounds, in bytes, the metadata of a call.
	maxHeaders = 32 << 10
	// maxPlayer bounds, in bytes, what an index can hold of a player's name.
	maxPlayer = 512
)

// encode gives the bytes of what is to be stored, never nil, and refuses what would fill the queue of everybody.
func encode(what string, m proto.Message, most int) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, m)
	if err == nil && len(b) > most {
		return nil, invalid(fmt.Sprintf("%s has %d bytes, more than the %d that are allowed", what, len(b), most))
	}
	return b, err
}
