package match

// endings are the sentences for the reasons why tickets left the queue without a match.
var endings = map[string]string{
	"ttl": "no match was found in the longest time that the ticket may wait, the ttl of its profile",
	"client_gone": "no client read or followed the ticket for as long as its lease " +
		"(30 seconds, unless DIRECTOR_TICKET_LEASE says otherwise)",
	"cancelled_by_member":     "a player of the party cancelled it",
	"cancelled_by_operator":   "an operator took it out of the queue",
	"member_queued_elsewhere": "a player of the party queued with a ticket of its own",
	"not_accepted":            "a player of the party declined the match, or did not answer in time",
	"profile_retired":         "an operator retired the profiles that it waited for",
	"deleted":                 "a client of Open Match deleted it",
}

// EndingInWords returns the sentence for the reason of a ticket's final state, without a full stop; "" for an unknown
// reason, such as one of a later release.
func EndingInWords(reason string) string { return endings[reason] }
