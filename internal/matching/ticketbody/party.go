package ticketbody

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields on the way from an openmatch.Ticket to the names of its players.
const (
	ticketExtensions protowire.Number = 5
	mapKey, mapValue protowire.Number = 1, 2
	anyValue         protowire.Number = 2
	detailsPlayers   protowire.Number = 1
	playerSub        protowire.Number = 1
)

// Party returns the players of a ticket's extension, sorted; none without an extension, and of a malformed body those
// that precede the fault. Party decodes nothing else, so it costs a fraction of [Decode].
func Party(body []byte) (subs []string) {
	for entry := range fieldValues(body, ticketExtensions) {
		// A frontend of Open Match may store extensions of its own beside ours.
		if string(lastField(entry, mapKey)) != TicketExtension {
			continue
		}
		subs = nil // protobuf: of two map entries with the same key the last counts
		for player := range fieldValues(lastField(mergeFields(entry, mapValue), anyValue), detailsPlayers) {
			subs = append(subs, string(lastField(player, playerSub)))
		}
	}
	slices.Sort(subs)
	return subs
}

// fieldValues returns the values of a message's length-delimited fields with a number.
func fieldValues(message []byte, number protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(message) > 0 {
			num, kind, tagSize := protowire.ConsumeTag(message)
			// Less than 0: the message is malformed from here on. The values before count.
			if tagSize < 0 {
				return
			}
			message = message[tagSize:]
			size := protowire.ConsumeFieldValue(num, kind, message)
			if size < 0 {
				return
			}
			if num == number && kind == protowire.BytesType {
				value, _ := protowire.ConsumeBytes(message[:size]) // well-formed: ConsumeFieldValue has measured it
				if !yield(value) {
					return
				}
			}
			message = message[size:]
		}
	}
}

// lastField returns the value of the last field with a number, which is the one that counts in protobuf; nil: there is
// none.
func lastField(message []byte, number protowire.Number) (value []byte) {
	for v := range fieldValues(message, number) {
		value = v
	}
	return value
}

// mergeFields returns the message in all fields with a number: protobuf merges a message that comes in parts.
func mergeFields(message []byte, number protowire.Number) (whole []byte) {
	for part := range fieldValues(message, number) {
		whole = append(whole, part...)
	}
	return whole
}
