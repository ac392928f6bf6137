package ticketbody

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields on the way from an openmatch.Ticket to the names of its profiles.
const (
	ticketSearchFields protowire.Number = 4
	searchStrings      protowire.Number = 2
	searchTags         protowire.Number = 3
	detailsProfiles    protowire.Number = 3
)

// Requested returns the names of the profiles that a ticket asks for, in any order and possibly twice, and whether it
// may have players, which only [Decode] decides. Requested decodes nothing else, so it costs a fraction of [Decode].
func Requested(body []byte, playerArg string) (profiles []string, mayHavePlayers bool) {
	for search := range fieldValues(body, ticketSearchFields) {
		for tag := range fieldValues(search, searchTags) {
			if name, ok := strings.CutPrefix(string(tag), ProfileTag); ok {
				profiles = append(profiles, name)
			}
		}
		for arg := range fieldValues(search, searchStrings) {
			mayHavePlayers = mayHavePlayers || playerArg != "" && string(lastField(arg, mapKey)) == playerArg
		}
	}
	for entry := range fieldValues(body, ticketExtensions) {
		if string(lastField(entry, mapKey)) != TicketExtension {
			continue
		}
		details := lastField(mergeFields(entry, mapValue), anyValue)
		for name := range fieldValues(details, detailsProfiles) {
			profiles = append(profiles, string(name))
		}
		mayHavePlayers = mayHavePlayers || lastField(details, detailsPlayers) != nil
	}
	return profiles, mayHavePlayers
}
