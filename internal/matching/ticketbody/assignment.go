package ticketbody

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/api/ticket/pb"
)

// Seats are the facts of an assignment that the director made itself.
type Seats struct {
	MatchID       string
	SessionHandle string
	Endpoint      string
	Region        string
	Teams         map[string]string // by player
}

// EncodeAssignment returns an openmatch.Assignment: the connection, which any client of Open Match reads, and the facts
// in an extension.
func EncodeAssignment(connection string, s Seats) ([]byte, error) {
	details := &anypb.Any{}
	err := anypb.MarshalFrom(details, &pb.AssignmentDetails{
		MatchId: s.MatchID, SessionHandle: s.SessionHandle, Endpoint: s.Endpoint, Region: s.Region, Teams: s.Teams,
	}, deterministic)
	if err != nil {
		return nil, fmt.Errorf("an assignment's extension: %w", err)
	}
	return deterministic.Marshal(&openmatch.Assignment{
		Connection: connection, Extensions: map[string]*anypb.Any{AssignmentExtension: details},
	})
}

// Connection returns the connection of an openmatch.Assignment, whoever made it. Errors: the bytes are no assignment.
func Connection(assignment []byte) (string, error) {
	var m openmatch.Assignment
	if err := proto.Unmarshal(assignment, &m); err != nil {
		return "", fmt.Errorf("an assignment: %w", err)
	}
	return m.GetConnection(), nil
}
