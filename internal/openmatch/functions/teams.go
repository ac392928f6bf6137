package functions

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// teamsExtension is the extension of a match that names its teams: a google.protobuf.Struct with a list of ticket ids
// for each.
const teamsExtension = "director.teams"

// Bounds of the teams of a match, as for those of a profile.
const (
	maxTeams    = 64
	maxTeamName = 64 // bytes
)

// Teams returns the team of each ticket of a proposed match, by id; nil if the match names none. Errors: they cannot be
// read, are too many, or do not contain each ticket of the match once.
func Teams(p cycle.Proposal) (map[string]string, error) {
	var m pb.Match
	if err := proto.Unmarshal(p.Match, &m); err != nil {
		return nil, err
	}
	packed := m.GetExtensions()[teamsExtension]
	if packed == nil {
		return nil, nil //nolint:nilnil // a match need not have teams
	}
	var named structpb.Struct
	if err := packed.UnmarshalTo(&named); err != nil {
		return nil, fmt.Errorf("%s is no google.protobuf.Struct: %w", teamsExtension, err)
	}
	if len(named.GetFields()) > maxTeams {
		return nil, fmt.Errorf("%s has more than %d teams", teamsExtension, maxTeams)
	}
	teams := map[string]string{}
	for name, tickets := range named.GetFields() {
		if len(name) == 0 || len(name) > maxTeamName || strings.Contains(name, "\x00") {
			return nil, fmt.Errorf("a team's name has 1 to %d bytes, and no zero byte", maxTeamName)
		}
		for _, ticket := range tickets.GetListValue().GetValues() {
			id := ticket.GetStringValue()
			if _, twice := teams[id]; twice || !slices.Contains(p.Tickets, id) {
				return nil, fmt.Errorf("%s has a ticket that is not in the match, or twice", teamsExtension)
			}
			teams[id] = name
		}
	}
	if len(teams) < len(p.Tickets) {
		return nil, fmt.Errorf("%s leaves out a ticket of the match", teamsExtension)
	}
	return teams, nil
}
