// Package verify says which rules of a profile hold for a match, and whether tickets allow a match at all. It is the
// second opinion on match/decide: it computes everything anew from the tickets, in the plainest way, however slow, and
// shares no code with what it judges. Tests run it after each decision; nothing of the product imports it.
//
// match.go holds the types, seats.go checks teams, parties and roles, candidate.go who may be in the match at all,
// values.go and steps.go read what a rule compares and its limits at the players' age, and the other files hold the
// kinds of rules. feasible.go enumerates matches.
package verify
