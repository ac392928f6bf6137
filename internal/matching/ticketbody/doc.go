// Package ticketbody owns the form in which tickets and assignments are stored: messages of Open Match with the
// director's extensions (api/ticket), so that our API, frontends and directors of Open Match and the director loop
// share one queue. It translates them to the plain types of package match. Only this package,
// internal/openmatch/functions and server/openmatch read or write protobuf.
//
// encode.go makes bodies, decode.go reads them, assignment.go does both for assignments, party.go reads only a party,
// request.go only which profiles a ticket asks for. facts.go makes the facts that history keeps, and tickets of them;
// privacy.go hashes or leaves out what history must not keep, and restore.go makes drafts of tickets that wait again.
// message.go encodes messages of other packages, and assembles messages without decoding them.
package ticketbody

import "github.com/lattice-director/director/match"

// The names of the director's extensions of a ticket and of an assignment.
const (
	TicketExtension     = "director.ticket"
	AssignmentExtension = "director.assignment"
)

// The bounds of a ticket's extension. Our API refuses what exceeds them, and so does [Decode].
const (
	MaxPlayers  = 64
	MaxRegions  = match.MaxRegions
	MaxLatency  = match.MaxLatency
	MaxProfiles = 8
)

// ProfileTag is the prefix of the tags that name the profiles a ticket asks for.
const ProfileTag = "profile:"
