// Package explain makes documents for operators, also as text, that say why a ticket waits and why a match was made. It
// uses no database: internal/matching/explainer passes it the ticket, the profiles, the other tickets one by one, and
// the free seats of hosts.
//
// [Question] is the input of an explanation of a ticket, and [Ticket] the result. [Match] explains a match that was
// decided before, from the reasons that were stored with it, a [Why]. match/decide compares and searches.
package explain
